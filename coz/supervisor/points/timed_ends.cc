#include "coz/supervisor/points/timed_ends.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "coz/base/unique_fd.h"
#include "coz/patch/function_ends.h"
#include "coz/patch/patch_builder.h"

namespace coz::supervisor {
namespace {

constexpr int kEasy = 1;
constexpr int kSharesBytes = patch::kJumpBytes - 1;
constexpr int kOnlyTrap = patch::kJumpBytes;
constexpr int kNotPossible = kOnlyTrap + 1;

// Of a jump: how many bytes of its distance are given. Few stub addresses have many.
int DifficultyOf(const patch::PlacePlan& plan) {
  if (plan.way == patch::Way::kNone) return kNotPossible;
  if (plan.way == patch::Way::kTrap) return kOnlyTrap;
  if (plan.shared_bytes != 0) return kSharesBytes;
  return __builtin_popcount(patch::GivenInDistance(plan).mask) / 8;
}

}  // namespace

bool EndsInJump(const std::vector<TimedEnd>& ends) {
  return std::any_of(ends.begin(), ends.end(), [](const TimedEnd& end) { return end.is_jump; });
}

std::string FindTimedEnds(const PlaceInFile& place, bool has_restartable_code,
                          std::vector<TimedEnd>* ends) {
  const points::CodePlace& code = place.code;
  const UniqueFd fd(open(place.file.c_str(), O_RDONLY | O_CLOEXEC));
  std::vector<uint8_t> bytes(code.function_bytes);
  const ssize_t read =
      pread(fd.get(), bytes.data(), bytes.size(), static_cast<off_t>(code.function_offset));
  if (read != static_cast<ssize_t>(bytes.size())) return "its code cannot be read";
  const patch::FunctionEnds found = patch::FindFunctionEnds(bytes.data(), bytes.size());
  if (!found.why_none.empty()) return found.why_none;
  for (const std::vector<patch::FunctionEnd>& candidates : found.ends) {
    std::optional<TimedEnd> chosen;
    int chosen_difficulty = kNotPossible;
    std::string why;
    for (const patch::FunctionEnd& candidate : candidates) {
      TimedEnd end = {place, {}, candidate.frame, candidate.is_jump};
      end.place.code.file_offset = code.function_offset + candidate.offset;
      end.plans = PlanInFile(place.file, end.place.code, has_restartable_code);
      if (why.empty()) why = end.plans.best.why_none;
      const int difficulty = DifficultyOf(end.plans.best);
      if (difficulty >= chosen_difficulty) continue;
      chosen_difficulty = difficulty;
      chosen = std::move(end);
      if (difficulty <= kEasy) break;
    }
    if (!chosen.has_value()) {
      return absl::StrCat("code where it returns is not to be changed: ", why);
    }
    ends->push_back(*std::move(chosen));
  }
  return "";
}

}  // namespace coz::supervisor
