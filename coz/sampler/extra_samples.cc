#include <algorithm>
#include <cstdint>

#include "coz/base/reserved_descriptors.h"
#include "coz/sampler/sampler.h"
#include "coz/sampler/sampler_state.h"

namespace coz::sampler {

namespace {

// Several times what a sample costs, so that the thread does work of its own too.
constexpr uint64_t kShortestExtraNs = 20'000;

}  // namespace

bool TakeExtraSampleAfter(uint64_t cpu_ns) {
  if (!MayTakeExtraSamples() || !InSampledProcess() || !MayKeepDescriptors()) return false;
  cpu_ns = std::max(cpu_ns, kShortestExtraNs);
  // Another thread may have left this number to the program.
  if (HasExtraEvent() && !IsReservedDescriptor(t_thread.source.fd_plus_1 - 1)) t_thread.source = {};
  if (!HasExtraEvent()) {
    // It comes again until it is told otherwise: one may be lost, as only one SIGTRAP can wait.
    if (OpenThreadSigtrap(cpu_ns, !sampled_process.kernel_included, &t_thread.source) != 0)
      return false;
  }
  if (ContinueThreadEvent(cpu_ns, t_thread.source) == 0) return true;
  StopThreadSource(&t_thread.source);
  return false;
}

bool TakesExtraSamples() { return HasExtraEvent(); }

void StopExtraSamples() {
  if (HasExtraEvent()) StopThreadSource(&t_thread.source);
}

}  // namespace coz::sampler
