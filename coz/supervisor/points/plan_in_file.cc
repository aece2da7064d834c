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
  std::vector<uint8_t> code(place.function_room);
  const ssize_t read =
      pread(fd.get(), code.data(), code.size(), static_cast<off_t>(place.function_offset));
  if (read != static_cast<ssize_t>(code.size())) return NoPlan("its code cannot be read");
  patch::PlanLimits limits;
  limits.allow_trap = !MayBlockSigtrap(file);
  limits.allow_entries = limits.allow_trap && place.semaphore != 0;
  const patch::PlaceInCode in_code = {code.data(), place.function_bytes, code.size(),
                                      place.file_offset - place.function_offset};
  PlacePlans plans;
  plans.best = patch::PlanPlace(in_code, limits);
  limits.allow_jump = false;
  if (plans.best.way != patch::Way::kJump || !limits.allow_trap) return plans;
  patch::PlacePlan by_trap = patch::PlanPlace(in_code, limits);
  if (by_trap.way == patch::Way::kTrap) plans.by_trap = std::move(by_trap);
  return plans;
}

}  // namespace coz::supervisor
