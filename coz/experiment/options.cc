#include "coz/experiment/options.h"

#include "absl/strings/str_format.h"

namespace coz::experiment {

absl::Status SchedulerOptions::Check() const {
  if (sampling_period_ns == 0) {
    return absl::InvalidArgumentError(
        "The sampling period was 0 ns; give one above 0, such as 1ms.");
  }
  for (const double speedup : fixed_speedups) {
    if (!(speedup >= 0 && speedup <= 1)) {
      return absl::InvalidArgumentError(absl::StrFormat(
          "The fixed speedup was %g %%; give one from 0 to 100 %%.", speedup * 100));
    }
  }
  if (!(baseline_probability >= 0 && baseline_probability <= 1)) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "The probability of a baseline was %g; give one from 0 to 1.", baseline_probability));
  }
  if (min_experiment_ns == 0 || min_experiment_ns > max_experiment_ns) {
    return absl::InvalidArgumentError(
        absl::StrFormat("The shortest experiment was %d ns and the longest %d ns; give a shortest "
                        "above 0 and not above the longest.",
                        min_experiment_ns, max_experiment_ns));
  }
  if (bare_intervals_per_experiment_length == 0) {
    return absl::InvalidArgumentError(
        "A bare interval was to be infinitely long; give at least one for the length of an "
        "experiment.");
  }
  if (!(delay_share_of_control > 0 && delay_share_of_control < 1)) {
    return absl::InvalidArgumentError(
        absl::StrFormat("Delays were to be %g of a control; give a share above 0 and below 1.",
                        delay_share_of_control));
  }
  if (latency_look_ns == 0 || look_ns == 0 || drain_look_ns == 0 || lease_ns <= look_ns * 2) {
    return absl::InvalidArgumentError(
        absl::StrFormat("Looks were %d, %d and %d ns apart with a lease of %d ns; give times above "
                        "0 and a lease of more than two looks.",
                        latency_look_ns, look_ns, drain_look_ns, lease_ns));
  }
  return absl::OkStatus();
}

}  // namespace coz::experiment
