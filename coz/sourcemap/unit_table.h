// Turns a table of lines into a table of what experiments speed up: lines, functions, files, a
// binary, or groups of them; or into the functions that make up call paths.
//
// Shape    interval table in, interval table and descriptions out: line `i` of the image is unit
//          `i` of the list. Groups come first, in the order of the rules, in every table alike; the
//          others follow in the order of their names. With kPath, further lines of the image are
//          `paths`
// Units    ELF addresses
// Errors   DeriveUnits: those of LineTableBuilder. Code that two groups claim goes to the first,
//          and is named in `overlaps`
// Threads  safe: no shared state
// Signals  not safe
// Source   docs/units.md
#ifndef COZ_SOURCEMAP_UNIT_TABLE_H_
#define COZ_SOURCEMAP_UNIT_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "coz/sourcemap/dwarf_reader.h"
#include "coz/sourcemap/line_table.h"

namespace coz::sourcemap {

// kWait: waits, by the line of their call; where no line in scope has made it, by their kind.
enum class UnitKind { kLine, kFunction, kFile, kLibrary, kPath, kWait, kGroup };

// Of a call path: a function and its callers.
inline constexpr uint32_t kMaxPathFunctions = 5;

// "line", "function", ... as users type it.
std::string_view NameOf(UnitKind kind);
bool ParseUnitKind(std::string_view text, UnitKind* kind);

// Lines "a.cc:12" or "a.cc:10-20", source files, or functions. `*` (or `%`) stands for any
// characters. A pattern that begins with neither "/" nor a wildcard may begin at any part of a path
// or of a qualified name; functions match with and without their parameters.
class UnitPattern {
 public:
  explicit UnitPattern(std::string_view text);

  bool MatchesCode(std::string_view file, uint32_t line, std::string_view function) const;
  bool MatchesBinary(std::string_view path) const;
  const std::string& text() const { return text_; }

 private:
  std::string text_;
  std::string file_;  // of a range of lines
  uint32_t first_line_ = 0;
  uint32_t last_line_ = 0;  // 0: no range
};

struct UnitGroup {
  std::string name;
  std::vector<UnitPattern> patterns;
};

struct UnitRules {
  UnitKind kind = UnitKind::kLine;
  bool inlined_copies = true;  // FUNCTION: inlined code is its own function's, not the caller's
  uint32_t callers = 1;        // PATH: functions behind the innermost, below kMaxPathFunctions
  std::vector<UnitGroup> groups;
  std::vector<UnitPattern> exclude;

  // A unit of its own for each line that is in no group.
  bool IsByLine() const { return kind == UnitKind::kLine || kind == UnitKind::kWait; }
  // The tables of lines serve as they are.
  bool AreLines() const { return IsByLine() && groups.empty() && exclude.empty(); }
  TableDetail Detail() const;
};

struct UnitDescription {
  UnitKind kind = UnitKind::kLine;
  std::string file;   // of a function its declaration's; of a library the binary
  uint32_t line = 0;  // 0 where it has none
  // Of a line the one around it; a function's, path's or group's name; the kind of a wait without a
  // line.
  std::string function;

  // The group of threads that it is confined to; empty: it is in all threads.
  std::string thread_group = {};

  // "file:line", or the name; "@" and the group of threads may follow.
  std::string Name() const;
  // The same without the group.
  std::string CodeName() const;
};

struct DerivedUnits {
  std::string image;
  std::vector<UnitDescription> units;
  // Of a line behind those of `units`: the units that code was inlined into, innermost first, each
  // once. kPath alone.
  std::vector<std::vector<uint32_t>> paths;
  std::vector<bool> group_has_code;    // by group
  std::vector<bool> exclude_has_code;  // by pattern
  std::vector<std::string> overlaps;   // "GROUP and GROUP both hold UNIT", the first few
  uint64_t excluded_bytes = 0;
};

// `base` is of the rules' Detail(), of `binary_path`.
absl::StatusOr<DerivedUnits> DeriveUnits(const LineTable& base, const std::string& binary_path,
                                         const UnitRules& rules);

// The function's name without parameters: "ns::f<int>(long)" gives "ns::f<int>".
std::string_view WithoutParameters(std::string_view function);

}  // namespace coz::sourcemap

#endif  // COZ_SOURCEMAP_UNIT_TABLE_H_
