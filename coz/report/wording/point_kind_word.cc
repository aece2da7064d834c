#include "coz/report/wording/point_kind_word.h"

namespace coz::report {

absl::string_view PointKindWord(profile::ProgressPointKind kind) {
  switch (kind) {
    case profile::PROGRESS_POINT_KIND_LATENCY:
      return "latency";
    case profile::PROGRESS_POINT_KIND_END_TO_END:
      return "end to end";
    case profile::PROGRESS_POINT_KIND_BREAKPOINT:
      return "place";
    case profile::PROGRESS_POINT_KIND_SAMPLED:
      return "sampled";
    default:
      return "throughput";
  }
}

}  // namespace coz::report
