#include "coz/runtime/unit_search.h"

#include "coz/runtime/module_map.h"
#include "coz/runtime/runtime_state.h"
#include "coz/sampler/unwind/unwinder.h"

namespace coz::runtime::runtime_internal {

bool IsInScope(uint64_t lookup_address, void* opaque) {
  UnitSearch& search = *static_cast<UnitSearch*>(opaque);
  switch (g_modules.UnitAt(lookup_address, &search.unit)) {
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

}  // namespace coz::runtime::runtime_internal
