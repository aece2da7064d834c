// Turns compilation units into lines of code: decodes the line table, finds functions and inlined
// calls, and attributes every address (attribution.h).
//
// Shape    units in, line intervals out; intervals of different units may overlap
// Units    ELF addresses of the binary
// Errors   what cannot be read is counted and named in the statistics; the rest is read
// Threads  compatible
// Signals  not safe
// Source   DWARF 5, chapters 3 and 6.2
#ifndef COZ_SOURCEMAP_UNIT_READER_H_
#define COZ_SOURCEMAP_UNIT_READER_H_

#include <elfutils/libdw.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/node_hash_map.h"
#include "coz/sourcemap/attribution.h"
#include "coz/sourcemap/code_tree.h"
#include "coz/sourcemap/dwarf/debug_file.h"
#include "coz/sourcemap/dwarf/die_scanner.h"
#include "coz/sourcemap/dwarf/line_program.h"
#include "coz/sourcemap/dwarf_reader.h"
#include "coz/sourcemap/name_scopes.h"
#include "coz/sourcemap/source_files.h"

namespace coz::sourcemap {

class UnitReader {
 public:
  // All must outlive the reader, and `file` the intervals' names. `callers`: see Attribution.
  UnitReader(const DebugFile& file, SourceFiles* sources, ReadStatistics* statistics,
             InlinedCallers* callers = nullptr)
      : file_(file), sources_(*sources), statistics_(*statistics), callers_(callers) {}

  // `split` is the unit in the .dwo file that `unit` stands for, or has no address.
  void Read(Dwarf_Die unit, Dwarf_Die split, uint8_t unit_type);

  // The files that the unit's line table names; none where it cannot be read.
  std::vector<std::string> PathsOf(Dwarf_Die unit);

  // The name of a function of `lines()`, demangled and with the scopes around it. Call after the
  // last Read: in a program optimized at link time, a function's declaration may be in another
  // unit.
  std::string NameOf(const SourceFunction& function);

  // Of all units read so far, in the order of units.
  std::vector<LineInterval>& lines() { return lines_; }

 private:
  using FileIds = std::vector<uint32_t>;
  struct Sections {
    LineSections line;
    std::string_view abbreviations;
    std::string_view info;
  };

  void Skip(const std::string& reason, std::string_view example, bool may_appear = false);
  void SkipSplit(Dwarf_Die* skeleton);
  const Sections& SectionsOf(Dwarf* dwarf);
  FileIds Intern(const std::vector<std::string>& paths);
  // The files that attributes of the unit's DIEs refer to.
  const FileIds& FilesOf(Dwarf_CU* unit);
  bool AnyInScope(const FileIds& files) const;
  bool IsCode(uint64_t elf_address) const;
  std::vector<RowInterval> ReadRows(LineProgram* program, const FileIds& files,
                                    std::string_view unit_name);
  std::string_view BytesOf(Dwarf_Die unit);
  bool ReadTree(Dwarf_Die unit);
  uint32_t AddInstance(bool is_inlined_call, Dwarf_Die* die, uint32_t parent, const FileIds& files);
  SourceFunction* FunctionOf(Dwarf_Die* die);
  void Describe(Dwarf_Die die, SourceFunction* function);

  const DebugFile& file_;
  SourceFiles& sources_;
  ReadStatistics& statistics_;
  InlinedCallers* callers_;
  absl::node_hash_map<Dwarf*, Sections> sections_;
  absl::node_hash_map<Dwarf_CU*, FileIds> files_of_unit_;
  absl::node_hash_map<const void*, SourceFunction> functions_;  // by the abstract DIE's address
  NameScopes scopes_;
  std::vector<LineRow> rows_;
  CodeTree tree_;
  std::vector<LineInterval> lines_;
};

// `linkage_name` demangled, or itself where it is none, or `name`; either may be null.
std::string ReadableName(const char* linkage_name, const char* name);

}  // namespace coz::sourcemap

#endif  // COZ_SOURCEMAP_UNIT_READER_H_
