#include "bench/patch/relocation_survey.h"

#include <optional>

#include "coz/patch/place_plan.h"
#include "coz/patch/relocation.h"

namespace coz::bench {
namespace {

constexpr uint64_t kAway = uint64_t{64} << 20;  // of a copy

void WalkInstructions(const FunctionCode& function, RelocationSurvey* survey) {
  for (uint64_t at = 0; at < function.bytes;) {
    const std::optional<patch::Instruction> found =
        patch::Decode(function.code() + at, function.bytes - at);
    if (!found.has_value()) {
      ++survey->undecoded;
      return;
    }
    ++survey->instructions;
    const uint64_t from = function.address + at;
    if (!found->why_not.empty()) {
      ++survey->not_copied[found->why_not];
    } else if (patch::Relocate(function.code() + at, found->bytes, from, from - kAway)) {
      ++survey->copied;
    } else {
      ++survey->failed;
    }
    at += found->bytes;
  }
}

void PlanEntry(const FunctionCode& function, RelocationSurvey* survey) {
  const patch::PlacePlan plan =
      patch::PlanPlace({function.code(), function.bytes, function.room, 0, function.behind}, {});
  if (plan.way == patch::Way::kJump) ++(plan.shared_bytes == 0 ? survey->jumps : survey->shared);
  if (plan.way == patch::Way::kTrap) ++survey->traps;
  if (plan.way == patch::Way::kNone) ++survey->refused[plan.why_none];
}

}  // namespace

RelocationSurvey SurveyLibrary(const LibraryCode& library) {
  RelocationSurvey survey;
  for (const FunctionCode& function : library.functions) {
    ++survey.functions;
    WalkInstructions(function, &survey);
    PlanEntry(function, &survey);
  }
  return survey;
}

}  // namespace coz::bench
