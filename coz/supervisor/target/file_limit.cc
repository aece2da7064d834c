#include "coz/supervisor/target/file_limit.h"

#include <fcntl.h>
#include <sys/resource.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/str_format.h"

namespace coz::supervisor {
namespace {

// For a process of few threads, with room to spare.
constexpr int kLeastFree = 40;

bool HasFree(int wanted) {
  rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return true;
  for (rlim_t fd = 0; fd < limit.rlim_cur && wanted > 0; ++fd) {
    if (fcntl(static_cast<int>(fd), F_GETFD) < 0) --wanted;
  }
  return wanted == 0;
}

}  // namespace

void RaiseFileLimit() {
  rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

absl::Status MakeRoomToAttach(pid_t pid) {
  RaiseFileLimit();
  if (HasFree(kLeastFree)) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrFormat("cannot attach to process %d: %s; coz needs some descriptors, run: ulimit -n "
                      "64",
                      pid, strerror(EMFILE)));
}

}  // namespace coz::supervisor
