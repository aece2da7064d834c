#include "coz/sampler/sampler_state.h"

#include <sys/syscall.h>

#include "coz/base/raw_syscall.h"
#include "coz/sampler/perf_event.h"

namespace coz::sampler {

SampledProcess sampled_process;

__attribute__((tls_model("initial-exec"), visibility("hidden"))) __thread SampledThread t_thread;

bool InSampledProcess() { return RawSyscall(SYS_getpid) == sampled_process.pid; }

void ShareEvent(int fd) {
  if (sampled_process.shared_event == nullptr) return;
  sampled_process.shared_event->event.store(fd < 0 ? 0 : PerfEventId(fd));
  sampled_process.shared_event->fd_plus_1.store(fd + 1);
}

int ShareAndEnableEvent(int fd) {
  if (sampled_process.shared_event == nullptr) return EnablePerfEvent(fd);
  const SharedEventHold hold(sampled_process.shared_event);
  ShareEvent(fd);
  return IsSuspended(Suspensions()) ? 0 : EnablePerfEvent(fd);
}

int TakeInheritedEvent() {
  ShareEvent(-1);
  return sampled_process.inherited_fd.exchange(-1);
}

bool MayTakeExtraSamples() {
  return sampled_process.source.load(std::memory_order_relaxed) == SamplingSource::kPerfSigtrap &&
         t_thread.state.is_long();
}

bool HasExtraEvent() { return MayTakeExtraSamples() && t_thread.source.fd_plus_1 != 0; }

}  // namespace coz::sampler
