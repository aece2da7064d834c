// Helpers to read entries of debug information.
//
// Shape    functions over libdw's entries
// Units    ELF addresses where a bias is given: address in the debug information + bias
// Errors   0, nullptr or an empty list where an entry lacks what is asked for
// Threads  compatible
// Signals  not safe
// Source   DWARF 5, sections 2.17 and 3.3; elfutils/libdw.h
#ifndef COZ_POINTS_DEBUG_ENTRIES_H_
#define COZ_POINTS_DEBUG_ENTRIES_H_

#include <dwarf.h>
#include <elfutils/libdw.h>

#include <cstdint>
#include <vector>

#include "coz/points/function_extents.h"

namespace coz::points {

// Of the entry itself.
uint64_t NumberAttribute(Dwarf_Die* die, unsigned name);
// Of the entry, or of the one that it stems from.
const char* TextAttribute(Dwarf_Die* die, unsigned name);
std::vector<FunctionExtent> RangesOf(Dwarf_Die* die, uint64_t bias);
// Code may be in entries within such a one.
bool HasCodeWithin(int tag);

// `visit` takes the unit and the one that holds its line table: another one where debug information
// is split.
template <typename Visit>
void ForEachUnit(Dwarf* dwarf, Visit visit) {
  Dwarf_CU* unit = nullptr;
  Dwarf_Die die;
  Dwarf_Die split;
  uint8_t type = 0;
  while (dwarf_get_units(dwarf, unit, &unit, nullptr, &type, &die, &split) == 0) {
    visit(split.addr != nullptr ? &split : &die, &die);
  }
}

// Every entry below `parent` that may belong to code.
template <typename Visit>
void WalkEntries(Dwarf_Die* parent, const Visit& visit) {
  Dwarf_Die child;
  if (dwarf_child(parent, &child) != 0) return;
  do {
    visit(&child);
    if (HasCodeWithin(dwarf_tag(&child))) WalkEntries(&child, visit);
  } while (dwarf_siblingof(&child, &child) == 0);
}

// Every inlined copy of a function below `parent`.
template <typename Visit>
void WalkCopies(Dwarf_Die* parent, const Visit& visit) {
  WalkEntries(parent, [&visit](Dwarf_Die* die) {
    if (dwarf_tag(die) == DW_TAG_inlined_subroutine) visit(die);
  });
}

}  // namespace coz::points

#endif  // COZ_POINTS_DEBUG_ENTRIES_H_
