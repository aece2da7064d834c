#include "coz/runtime/unit_search.h"

#include "coz/runtime/module_map.h"
#include "coz/runtime/runtime_state.h"
#include "coz/sampler/unwind/unwinder.h"
#include "coz/shared/call_paths.h"
#include "coz/shared/jit_code.h"

namespace coz::runtime::runtime_internal {

UnitLookup JitUnitAt(uint64_t lookup_address, uint32_t* unit) {
  if (g_process == nullptr) return UnitLookup::kUnmapped;
  const uint64_t offset = g_process->jit_code.load(std::memory_order_acquire);
  if (offset == 0 || offset > shared::kControlMappingBytes - sizeof(shared::JitCode)) {
    return UnitLookup::kUnmapped;
  }
  const auto& code =
      *reinterpret_cast<const shared::JitCode*>(reinterpret_cast<const char*>(g_control) + offset);
  const uint64_t owner = shared::JitOwner(g_pid, g_process->image.load(std::memory_order_relaxed));
  if (code.owner.load(std::memory_order_relaxed) != owner) return UnitLookup::kUnmapped;
  sampler::FollowFramePointers();
  if (!shared::FindJitUnit(code, owner, lookup_address, unit)) return UnitLookup::kUnmapped;
  return *unit == shared::kNoUnit ? UnitLookup::kOutOfScope : UnitLookup::kFound;
}

bool IsInScope(uint64_t lookup_address, void* opaque) {
  UnitSearch& search = *static_cast<UnitSearch*>(opaque);
  UnitLookup lookup = g_modules.UnitAt(lookup_address, &search.unit);
  if (lookup == UnitLookup::kUnmapped) lookup = JitUnitAt(lookup_address, &search.unit);
  switch (lookup) {
    case UnitLookup::kFound:
      return true;
    case UnitLookup::kUnmapped:
      search.unmapped = true;
      return false;
    case UnitLookup::kOutOfScope:
      return false;
  }
  return false;
}

bool CallerInScope(const ucontext_t& context, UnitSearch* search) {
  uint64_t lookup_address = 0;
  return sampler::FindFirstInScope(&context, IsInScope, search, &lookup_address);
}

bool SplitByThreadGroup(const shared::ThreadRole& thread, uint64_t weight, uint32_t* unit) {
  if (g_control->thread_groups.groups_used == 0) return true;
  *unit = shared::UnitInThreadGroup(g_control->paths, *unit, thread.group);
  if (*unit != shared::kNoUnit) return true;
  shared::Add(g_control->counters.paths_without_slot, weight);
  return false;
}

}  // namespace coz::runtime::runtime_internal
