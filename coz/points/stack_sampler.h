// Samples another process from outside: the interrupted address and the top of the stack, where the
// callers' return addresses are.
//
// Nothing is loaded into the process. The stack is not unwound: words in it that look like return
// addresses may be stale, so what is found is a guess where callers are.
//
// Shape    one event for each CPU and each thread that the process has now, and one ring for each
//          CPU; inherited by threads and children to come. Any number of processes
// Units    runtime addresses; ns of CPU time
// Errors   PERMISSION_DENIED, UNAVAILABLE, NOT_FOUND (the process is gone), one sentence each;
//          samples that find a ring full are lost
// Threads  compatible
// Signals  not safe
// Source   perf_event_open(2), "MMAP layout"
#ifndef COZ_POINTS_STACK_SAMPLER_H_
#define COZ_POINTS_STACK_SAMPLER_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "coz/base/unique_fd.h"

namespace coz::points {

class StackSampler {
 public:
  // The words lie from the stack pointer upwards.
  using Callback = std::function<void(uint64_t ip, const std::vector<uint64_t>& stack)>;

  static absl::StatusOr<StackSampler> Start(pid_t process, uint64_t sampling_period_ns);
  // Samples another one, too. Where it cannot, nothing has changed.
  absl::Status Add(pid_t process);

  // Hands out what has come since the last call.
  void Drain(const Callback& callback);

 private:
  struct Unmap {
    void operator()(void* ring) const;
  };
  // Of a CPU, on which one thread runs at a time.
  struct Ring {
    std::vector<UniqueFd> events;  // the first one's memory
    std::unique_ptr<void, Unmap> memory;
  };

  explicit StackSampler(uint64_t sampling_period_ns) : sampling_period_ns_(sampling_period_ns) {}
  // An error number, or 0.
  static int AddTo(Ring* ring, UniqueFd event);

  uint64_t sampling_period_ns_;
  std::map<int, Ring> rings_;  // by CPU
};

}  // namespace coz::points

#endif  // COZ_POINTS_STACK_SAMPLER_H_
