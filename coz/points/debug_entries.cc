#include "coz/points/debug_entries.h"

namespace coz::points {

uint64_t NumberAttribute(Dwarf_Die* die, unsigned name) {
  Dwarf_Attribute attribute;
  Dwarf_Word value = 0;
  return dwarf_formudata(dwarf_attr(die, name, &attribute), &value) == 0 ? value : 0;
}

const char* TextAttribute(Dwarf_Die* die, unsigned name) {
  Dwarf_Attribute attribute;
  return dwarf_formstring(dwarf_attr_integrate(die, name, &attribute));
}

std::vector<FunctionExtent> RangesOf(Dwarf_Die* die, uint64_t bias) {
  std::vector<FunctionExtent> ranges;
  Dwarf_Addr base = 0;
  Dwarf_Addr begin = 0;
  Dwarf_Addr end = 0;
  for (ptrdiff_t at = 0; (at = dwarf_ranges(die, at, &base, &begin, &end)) > 0;) {
    ranges.push_back({begin + bias, end + bias});
  }
  return ranges;
}

bool HasCodeWithin(int tag) {
  switch (tag) {
    case DW_TAG_subprogram:
    case DW_TAG_namespace:
    case DW_TAG_lexical_block:
    case DW_TAG_inlined_subroutine:
    case DW_TAG_structure_type:
    case DW_TAG_class_type:
      return true;
    default:
      return false;
  }
}

}  // namespace coz::points
