// What the sampler could get from the system, as plain data for shared memory, and its explanation.
//
// Shape    trivially copyable; zeros mean "not started"
// Units    errno values; 0 means "not refused" (it worked, or was never tried)
// Errors   none
// Threads  compatible
// Signals  the data is safe; ExplainSamplerStatus is for the supervisor only (it allocates)
// Source   perf_event_open(2), timer_create(2), admin-guide/sysctl/kernel.rst (perf_event_paranoid)
#ifndef COZ_SAMPLER_SAMPLER_STATUS_H_
#define COZ_SAMPLER_SAMPLER_STATUS_H_

#include <cstdint>
#include <string>
#include <type_traits>

namespace coz::sampler {

enum class SamplingSource : uint8_t {
  kNone = 0,  // as a wish: the best that works
  kPerfSigtrap =
      1,            // one perf event, inherited by every thread, SIGTRAP at the sampled instruction
  kPerfSetsig = 2,  // a perf event and a descriptor per thread, signal by F_SETSIG
  kCpuTimer = 3,    // a POSIX timer per thread on its CPU clock; fires at kernel ticks only
  kCpuClock = 4,    // a clock per CPU that the supervisor keeps; SIGTRAP in whoever runs there
};

struct SamplerStatus {
  SamplingSource source = SamplingSource::kNone;
  // Nothing is tried until the program has set its handler by a call of libc.
  bool awaits_handler = false;
  bool kernel_included = false;  // samples are also taken while a thread executes in the kernel
  int32_t perf_sigtrap_errno = 0;
  int32_t perf_setsig_errno = 0;
  int32_t cpu_timer_errno = 0;
  int32_t cpu_clock_errno = 0;
  int32_t kernel_errno = 0;   // why kernel_included is false though perf works
  int32_t handler_errno = 0;  // of the signal's handler; without it no source is tried
  // Of StartSampler itself, which then tries nothing: EINVAL, no callback is set, the period is too
  // short or the source unknown; EBUSY, the process is sampled already, and goes on to be.
  int32_t options_errno = 0;
};
static_assert(std::is_trivially_copyable_v<SamplerStatus>);

// "perf-sigtrap", "perf-setsig", "cpu-timer", "cpu-clock", "none": for options, the profile and
// messages.
const char* SamplingSourceName(SamplingSource source);

// The source named by `name`; false, and *source unchanged, for any other text. "auto" gives kNone.
bool ParseSamplingSource(const char* name, SamplingSource* source);

// One sentence: what is used, what was refused and why, and the command that lifts it. Empty when
// the best source works, kernel included: then there is nothing to say.
std::string ExplainSamplerStatus(const SamplerStatus& status);

}  // namespace coz::sampler

#endif  // COZ_SAMPLER_SAMPLER_STATUS_H_
