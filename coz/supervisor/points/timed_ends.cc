#include "coz/supervisor/points/timed_ends.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "coz/base/unique_fd.h"
#include "coz/patch/function_ends.h"

namespace coz::supervisor {

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
    std::string why;
    for (const patch::FunctionEnd& candidate : candidates) {
      TimedEnd end = {place, {}, candidate.frame};
      end.place.code.file_offset = code.function_offset + candidate.offset;
      end.plans = PlanInFile(place.file, end.place.code, has_restartable_code);
      const patch::Way way = end.plans.best.way;
      if (why.empty()) why = end.plans.best.why_none;
      const bool is_better = way == patch::Way::kJump || !chosen.has_value();
      if (way != patch::Way::kNone && is_better) chosen = std::move(end);
      if (way == patch::Way::kJump) break;
    }
    if (!chosen.has_value()) {
      return absl::StrCat("code where it returns is not to be changed: ", why);
    }
    ends->push_back(*std::move(chosen));
  }
  return "";
}

}  // namespace coz::supervisor
