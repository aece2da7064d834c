// What the CPUs do that the target may use: work, of whatever program; nothing; or what the host
// does with them.
//
// Shape    figures of the last look, cumulative
// Units    ns, summed over CPUs; to a clock tick, mostly 10 ms
// Errors   0 where /proc/stat cannot be read
// Threads  compatible
// Signals  none
// Source   proc(5), /proc/stat
#ifndef COZ_SUPERVISOR_TARGET_CPU_USE_H_
#define COZ_SUPERVISOR_TARGET_CPU_USE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "coz/experiment/target.h"

namespace coz::supervisor {

// CPU time of this process.
uint64_t OwnCpuNs();

// By number, those that this process may use, and so the target, which inherits them.
std::vector<bool> UsableCpus();

// By the text of /proc/stat. A CPU counts where `counts[number]` is true.
experiment::CpuUse CpuUseOf(absl::string_view stat, const std::vector<bool>& counts,
                            uint64_t ticks_per_second);

class CpuUseWatch {
 public:
  // `root`: what stands for "/", in tests.
  explicit CpuUseWatch(const std::string& root = "")
      : path_(root + "/proc/stat"), counts_(UsableCpus()) {}

  // Looks again where the last look is some time ago. What this process used itself is left out.
  void Poll(uint64_t now_ns);
  const experiment::CpuUse& use() const { return use_; }
  uint64_t read_ns() const { return read_ns_; }  // when it looked last

 private:
  std::string path_;
  std::vector<bool> counts_;
  uint64_t read_ns_ = 0;
  experiment::CpuUse use_;
};

}  // namespace coz::supervisor

#endif  // COZ_SUPERVISOR_TARGET_CPU_USE_H_
