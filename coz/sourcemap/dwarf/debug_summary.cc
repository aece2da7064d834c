#include "coz/sourcemap/dwarf/debug_summary.h"

#include <dwarf.h>
#include <elfutils/libdw.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "coz/sourcemap/dwarf/debug_file.h"

namespace coz::sourcemap {
namespace {

using Ranges = std::vector<AddressRange>;

uint64_t BytesInBoth(const Ranges& a, const Ranges& b) {
  uint64_t bytes = 0;
  for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const uint64_t begin = std::max(a[i].begin, b[j].begin);
    const uint64_t end = std::min(a[i].end, b[j].end);
    if (begin < end) bytes += end - begin;
    a[i].end < b[j].end ? ++i : ++j;
  }
  return bytes;
}

bool HasCode(Dwarf_Die* unit) {
  Dwarf_Addr base = 0;
  Dwarf_Addr begin = 0;
  Dwarf_Addr end = 0;
  ptrdiff_t offset = 0;
  while ((offset = dwarf_ranges(unit, offset, &base, &begin, &end)) > 0) {
    if (end > begin) return true;
  }
  return false;
}

void AddUnit(Dwarf_Die* unit, int version, DebugSummary* summary) {
  if (!HasCode(unit)) return;
  ++summary->units_by_version[version];
  Dwarf_Attribute attribute;
  const char* producer = dwarf_formstring(dwarf_attr_integrate(unit, DW_AT_producer, &attribute));
  if (producer == nullptr) return;
  const Optimization optimization = OptimizationOf(producer);
  if (optimization == Optimization::kNone) ++summary->units_unoptimized;
  if (optimization == Optimization::kSome) ++summary->units_optimized;
}

void NoteMissingSplit(const DebugFile& file, Dwarf_Die* skeleton, DebugSummary* summary) {
  if (++summary->splits_missing > 1) return;
  const char* const dwo = SplitFileOf(skeleton);
  summary->split_missing = dwo == nullptr ? "" : dwo;
  summary->split_package = file.split_package();
}

}  // namespace

Optimization OptimizationOf(const std::string& producer) {
  if (!absl::StartsWith(producer, "GNU C")) return Optimization::kUnknown;
  Optimization found = Optimization::kNone;
  for (const absl::string_view word : absl::StrSplit(producer, ' ')) {
    if (!absl::StartsWith(word, "-O")) continue;
    found = word == "-O0" ? Optimization::kNone : Optimization::kSome;
  }
  return found;
}

absl::StatusOr<DebugSummary> SummarizeDebugInfo(const std::string& path) {
  const auto file = DebugFile::Open(path, "");
  if (!file.ok()) return file.status();
  DebugSummary summary;
  summary.path = (*file)->debug_path();
  Dwarf_CU* unit = nullptr;
  Dwarf_Half version = 0;
  uint8_t type = 0;
  Dwarf_Die die;
  Dwarf_Die split;  // what a skeleton's .dwo file has
  while (dwarf_get_units((*file)->dwarf(), unit, &unit, &version, &type, &die, &split) == 0) {
    if (type == DW_UT_skeleton && split.addr == nullptr) NoteMissingSplit(**file, &die, &summary);
    if (type == DW_UT_compile || type == DW_UT_skeleton) {
      AddUnit(&die, version, &summary);
    }
  }
  Ranges code = (*file)->code();
  MergeRanges(&code);
  for (const AddressRange& range : code) summary.code_bytes += range.end - range.begin;
  summary.covered_bytes = BytesInBoth(code, (*file)->CodeOfUnits());
  return summary;
}

}  // namespace coz::sourcemap
