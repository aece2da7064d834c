#include "coz/supervisor/points/plan_in_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "coz/base/unique_fd.h"

namespace coz::supervisor {
namespace {

PlacePlans NoPlan(const std::string& why) {
  PlacePlans plans;
  plans.best.why_none = why;
  return plans;
}

std::optional<patch::PlacePlan> Planned(const patch::PlaceInCode& place,
                                        const patch::PlanLimits& limits, patch::Way wanted) {
  patch::PlacePlan plan = patch::PlanPlace(place, limits);
  if (plan.way != wanted) return std::nullopt;
  return plan;
}

std::optional<patch::PlacePlan> SharedJump(const patch::PlaceInCode& place) {
  patch::PlanLimits limits;
  limits.allow_five_bytes = false;
  return Planned(place, limits, patch::Way::kJump);
}

std::optional<patch::PlacePlan> Trap(const patch::PlaceInCode& place) {
  patch::PlanLimits limits;
  limits.allow_jump = false;
  return Planned(place, limits, patch::Way::kTrap);
}

}  // namespace

bool MayBlockSigtrap(const std::string& file) {
  const std::string name = std::filesystem::path(file).filename().string();
  for (const char* prefix : {"libc.so", "libc-", "ld-linux", "ld-2", "libpthread", "librt", "libdl",
                             "libgcc_s", "libunwind", "libasan", "libtsan", "libubsan"}) {
    if (absl::StartsWith(name, prefix)) return true;
  }
  return false;
}

PlacePlans PlanInFile(const std::string& file, const points::CodePlace& place,
                      bool has_restartable_code) {
  if (has_restartable_code) return NoPlan("its binary has code that the kernel restarts (rseq)");
  if (place.function_bytes == 0) return NoPlan("it is not known where its function ends");
  const UniqueFd fd(open(file.c_str(), O_RDONLY | O_CLOEXEC));
  std::vector<uint8_t> code(place.function_room + place.function_behind);
  const ssize_t read =
      pread(fd.get(), code.data(), code.size(), static_cast<off_t>(place.function_offset));
  if (read != static_cast<ssize_t>(code.size())) return NoPlan("its code cannot be read");
  patch::PlanLimits limits;
  limits.allow_trap = !MayBlockSigtrap(file);
  limits.allow_entries = limits.allow_trap && place.semaphore != 0;
  const patch::PlaceInCode in_code = {code.data(), place.function_bytes, place.function_room,
                                      place.file_offset - place.function_offset,
                                      place.function_behind};
  PlacePlans plans;
  plans.best = patch::PlanPlace(in_code, limits);
  if (plans.best.way != patch::Way::kJump) return plans;
  if (plans.best.shared_bytes == 0) plans.by_shared_jump = SharedJump(in_code);
  if (limits.allow_trap) plans.by_trap = Trap(in_code);
  return plans;
}

}  // namespace coz::supervisor
