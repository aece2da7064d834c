// getrlimit, setrlimit and prlimit. Process: target. Context: the program's threads, and children
// of fork and vfork before they start other programs. Programs that come by exec are told the limit
// that they have.
#include "coz/sync/interpose/memory_limit.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>

#include "coz/base/errno_saver.h"
#include "coz/base/readable.h"
#include "coz/sync/interpose/wrapped_calls.h"

namespace coz::interpose {
namespace {

// Beside the control block: the library, and what threads have for it.
constexpr rlim_t kRoomBytes = rlim_t{64} << 20;

std::atomic<rlim_t> g_profilers_bytes{0};
// What is in the limits beyond what the program has asked for.
std::atomic<rlim_t> g_added_soft{0};
std::atomic<rlim_t> g_added_hard{0};

rlim_t Less(rlim_t limit, rlim_t added) {
  return limit == RLIM_INFINITY ? limit : limit - std::min(limit, added);
}

rlim_t More(rlim_t limit, rlim_t added, rlim_t most) {
  if (limit >= most) return limit;
  return added < most - limit ? limit + added : most;
}

rlimit AsAskedFor(const rlimit& limit) {
  return {Less(limit.rlim_cur, g_added_soft), Less(limit.rlim_max, g_added_hard)};
}

int SetMemoryLimit(const rlimit& asked) {
  rlimit now;
  if (g_real.prlimit(0, RLIMIT_AS, nullptr, &now) != 0) return -1;
  const rlimit told = AsAskedFor(now);
  rlimit wanted = asked;
  // What is wrong with others is libc's to say.
  if (asked.rlim_cur <= asked.rlim_max) {
    const bool raises = asked.rlim_max > told.rlim_max;  // for which it needs the right
    wanted.rlim_max =
        More(asked.rlim_max, g_profilers_bytes, raises ? RLIM_INFINITY - 1 : now.rlim_max);
    wanted.rlim_cur = More(asked.rlim_cur, g_profilers_bytes, wanted.rlim_max);
  }
  if (g_real.prlimit(0, RLIMIT_AS, &wanted, nullptr) != 0) return -1;
  g_added_soft = wanted.rlim_cur - asked.rlim_cur;
  g_added_hard = wanted.rlim_max - asked.rlim_max;
  return 0;
}

int GetMemoryLimit(rlimit* limit) {
  const int result = g_real.prlimit(0, RLIMIT_AS, nullptr, limit);
  if (result == 0 && limit != nullptr) *limit = AsAskedFor(*limit);
  return result;
}

// `before` is written first, where libc's own call writes it last.
int ChangeMemoryLimit(const rlimit* asked, rlimit* before) {
  if (asked != nullptr && !IsReadable(asked, sizeof(*asked))) {
    return g_real.prlimit(0, RLIMIT_AS, asked, before);
  }
  const rlimit wanted = asked == nullptr ? rlimit() : *asked;  // may lie where `before` does
  if (before != nullptr && GetMemoryLimit(before) != 0) return -1;
  return asked == nullptr ? 0 : SetMemoryLimit(wanted);
}

bool IsOwnMemory(int resource, pid_t pid) {
  const bool is_shifted = g_profilers_bytes != 0 || g_added_soft != 0 || g_added_hard != 0;
  return resource == RLIMIT_AS && is_shifted && (pid == 0 || pid == getpid());
}

}  // namespace

void SetProfilersMemory(uint64_t bytes) {
  const ErrnoSaver errno_saver;
  rlimit asked;
  const bool is_added = (g_added_soft != 0 || g_added_hard != 0) && GetMemoryLimit(&asked) == 0;
  g_profilers_bytes = bytes == 0 ? 0 : bytes + kRoomBytes;
  if (is_added) SetMemoryLimit(asked);
}

}  // namespace coz::interpose

using coz::interpose::ChangeMemoryLimit;
using coz::interpose::g_real;
using coz::interpose::IsOwnMemory;

extern "C" {

int getrlimit(__rlimit_resource_t resource, rlimit* limit) noexcept {
  if (!IsOwnMemory(resource, 0)) return g_real.getrlimit(resource, limit);
  return coz::interpose::GetMemoryLimit(limit);
}
COZ_SECOND_NAME(getrlimit64, getrlimit);

int setrlimit(__rlimit_resource_t resource, const rlimit* limit) noexcept {
  if (!IsOwnMemory(resource, 0)) return g_real.setrlimit(resource, limit);
  return ChangeMemoryLimit(limit, nullptr);
}
COZ_SECOND_NAME(setrlimit64, setrlimit);

int prlimit(pid_t pid, __rlimit_resource resource, const rlimit* limit, rlimit* before) noexcept {
  if (!IsOwnMemory(resource, pid)) return g_real.prlimit(pid, resource, limit, before);
  return ChangeMemoryLimit(limit, before);
}
COZ_SECOND_NAME(prlimit64, prlimit);

}  // extern "C"
