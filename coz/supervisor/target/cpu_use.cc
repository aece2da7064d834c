#include "coz/supervisor/target/cpu_use.h"

#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "coz/base/clock.h"
#include "coz/base/file_text.h"

namespace coz::supervisor {
namespace {

// To make /proc/stat takes the kernel up to a millisecond on large machines.
constexpr uint64_t kLookNs = 100 * kNsPerMs;

// Columns of a CPU's line behind its name.
enum Column { kUser, kNice, kSystem, kIdle, kIowait, kIrq, kSoftirq, kSteal, kColumns };

uint64_t Ns(const timeval& time) {
  return static_cast<uint64_t>(time.tv_sec) * kNsPerSecond +
         static_cast<uint64_t>(time.tv_usec) * kNsPerUs;
}

}  // namespace

uint64_t OwnCpuNs() {
  rusage usage;
  if (getrusage(RUSAGE_SELF, &usage) != 0) return 0;
  return Ns(usage.ru_utime) + Ns(usage.ru_stime);
}

std::vector<bool> UsableCpus() {
  std::vector<bool> usable;
  cpu_set_t cpus;
  if (sched_getaffinity(0, sizeof(cpus), &cpus) != 0) return usable;
  for (int i = 0; i < CPU_SETSIZE; ++i) usable.push_back(CPU_ISSET(i, &cpus));
  return usable;
}

experiment::CpuUse CpuUseOf(absl::string_view stat, const std::vector<bool>& counts,
                            uint64_t ticks_per_second) {
  experiment::CpuUse use;
  if (ticks_per_second == 0) return use;
  const uint64_t tick_ns = kNsPerSecond / ticks_per_second;
  for (absl::string_view line : absl::StrSplit(stat, '\n')) {
    // The first line, "cpu  …", is the sum of the others.
    const std::vector<absl::string_view> words = absl::StrSplit(line, ' ', absl::SkipEmpty());
    if (words.empty() || !absl::ConsumePrefix(&line, "cpu")) continue;
    uint32_t number = 0;
    if (!absl::SimpleAtoi(words[0].substr(3), &number)) continue;
    if (number >= counts.size() || !counts[number]) continue;
    uint64_t ticks[kColumns] = {};
    for (size_t i = 0; i < kColumns && i + 1 < words.size(); ++i) {
      if (!absl::SimpleAtoi(words[i + 1], &ticks[i])) ticks[i] = 0;
    }
    // Interrupts are left out: most of them work for the program that sends or receives, and many
    // kernels count them within its CPU time, too.
    use.busy_ns += tick_ns * (ticks[kUser] + ticks[kNice] + ticks[kSystem]);
    use.idle_ns += tick_ns * (ticks[kIdle] + ticks[kIowait]);
    use.stolen_ns += tick_ns * ticks[kSteal];
  }
  return use;
}

void CpuUseWatch::Poll(uint64_t now_ns) {
  if (read_ns_ != 0 && now_ns < read_ns_ + kLookNs) return;
  read_ns_ = now_ns;
  use_ = CpuUseOf(FileText(path_), counts_, static_cast<uint64_t>(sysconf(_SC_CLK_TCK)));
  use_.busy_ns -= std::min(use_.busy_ns, OwnCpuNs());
}

}  // namespace coz::supervisor
