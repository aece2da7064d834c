#include "bench/patch/line_survey.h"

#include <algorithm>

#include "coz/patch/patch_builder.h"
#include "coz/patch/place_plan.h"

namespace coz::bench {
namespace {

using patch::Way;

const FunctionCode* FunctionAt(const LibraryCode& library, uint64_t address) {
  const auto after = std::upper_bound(
      library.functions.begin(), library.functions.end(), address,
      [](uint64_t at, const FunctionCode& function) { return at < function.address; });
  if (after == library.functions.begin()) return nullptr;
  const FunctionCode& function = *(after - 1);
  return address < function.address + function.bytes ? &function : nullptr;
}

bool HasStub(const patch::PlacePlan& plan, uint64_t address, const LoadedAt& process) {
  patch::StubSpace space;
  space.SetMapped(process.mapped);
  const auto stub = patch::TakeStub(plan, address, &space);
  return stub.has_value() &&
         patch::BuildPatch(plan, address, *stub, {0, 0, 0, 0, {}, 0}).has_value();
}

// As the supervisor tries them (PatchedPlaces::PatchFor).
void Count(const FunctionCode& function, uint64_t address, uint64_t moved, const LoadedAt& process,
           LineSurvey* survey) {
  ++survey->lines;
  for (const int kind : {0, 1, 2}) {
    patch::PlanLimits limits;
    limits.allow_five_bytes = kind == 0;
    limits.allow_jump = kind < 2;
    const patch::PlacePlan plan = patch::PlanPlace({function.code(), function.bytes, function.room,
                                                    address - function.address, function.behind},
                                                   limits);
    if (plan.way == Way::kNone) break;
    if (!HasStub(plan, function.address + plan.offset + moved, process)) continue;
    const bool shares = plan.shared_bytes != 0;
    ++(plan.way == Way::kTrap ? survey->traps : shares ? survey->shared : survey->jumps);
    return;
  }
  ++survey->refused;
}

}  // namespace

LineSurvey SurveyLines(const LibraryCode& library, const std::vector<uint64_t>& addresses,
                       const LoadedAt& process) {
  LineSurvey survey;
  for (const uint64_t elf_address : addresses) {
    const uint64_t address = library.bias + elf_address;
    const FunctionCode* function = FunctionAt(library, address);
    if (function == nullptr) continue;
    Count(*function, address, process.bias - library.bias, process, &survey);
  }
  return survey;
}

}  // namespace coz::bench
