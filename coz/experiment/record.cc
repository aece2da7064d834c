#include "coz/experiment/record.h"

#include <algorithm>

namespace coz::experiment {

std::string_view TaintName(TaintKind kind) {
  switch (kind) {
    case TaintKind::kOversubscribed:
      return "oversubscribed";
    case TaintKind::kDelayOwed:
      return "delay-owed";
    case TaintKind::kSamplesLost:
      return "samples-lost";
    case TaintKind::kUnitInactive:
      return "unit-inactive";
    case TaintKind::kTooFewVisits:
      return "too-few-visits";
    case TaintKind::kTargetEnded:
      return "target-ended";
    case TaintKind::kInterrupted:
      return "interrupted";
    case TaintKind::kCpuQuota:
      return "cpu-quota";
    case TaintKind::kSupervisorLate:
      return "supervisor-late";
  }
  return "unknown";
}

bool Invalidates(TaintKind kind) {
  // Lost samples insert no delay, so the speedup was smaller than recorded. Time in which a quota
  // stops the target is neither work nor wait: docs/design/experiments.md. The other taints leave
  // figures usable: phase correction needs inactive units, few visits are pooled with others, and
  // the rest shifts a prediction by less than its interval or in a way that the reader can judge.
  return kind == TaintKind::kInterrupted || kind == TaintKind::kSupervisorLate ||
         kind == TaintKind::kSamplesLost || kind == TaintKind::kCpuQuota;
}

bool IsValid(const ExperimentRecord& record) {
  return std::none_of(record.taints.begin(), record.taints.end(),
                      [](const Taint& taint) { return Invalidates(taint.kind); });
}

}  // namespace coz::experiment
