// Decodes one line-number program of .debug_line, versions 2 to 5.
//
// Shape    rows in the order of the program; a row holds from its address to that of the next one;
//          a sequence ends with a row whose `end_sequence` is set
// Units    addresses as in the debug file; files by the index that DWARF's attributes use (from 0
//          in version 5, from 1 before, where 0 is the empty path)
// Errors   false when the program is damaged or uses a form that no compiler emits; rows decoded up
//          to there are kept
// Threads  safe: no shared state
// Signals  not safe
// Source   DWARF 5, section 6.2; DWARF 2, section 6.2
#ifndef COZ_SOURCEMAP_DWARF_LINE_PROGRAM_H_
#define COZ_SOURCEMAP_DWARF_LINE_PROGRAM_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "coz/base/byte_reader.h"

namespace coz::sourcemap {

// The sections that a line-number program refers to.
struct LineSections {
  std::string_view line;      // .debug_line
  std::string_view line_str;  // .debug_line_str
  std::string_view str;       // .debug_str
};

struct LineRow {
  uint64_t address;
  uint32_t file;
  uint32_t line;  // 0: the compiler knows no line
  bool end_sequence;
};

class LineProgram {
 public:
  // Reads the header at `offset` of the section. Paths are cleaned and, where relative, joined to
  // `compilation_folder`.
  bool ReadHeader(const LineSections& sections, uint64_t offset,
                  std::string_view compilation_folder);

  // Appends the rows. Call after ReadHeader, once.
  bool ReadRows(std::vector<LineRow>* rows);

  const std::vector<std::string>& files() const { return files_; }

 private:
  struct Registers;
  struct FormatEntry {
    uint64_t content;
    uint64_t form;
  };

  void ReadNamesBefore5(std::string_view compilation_folder);
  bool ReadNames5(const LineSections& sections, std::string_view compilation_folder);
  bool ReadEntry5(const LineSections& sections, const std::vector<FormatEntry>& format,
                  std::string_view* path, uint64_t* folder_index);
  void ReadExtended(Registers* registers, std::vector<LineRow>* rows);
  void ReadStandard(uint8_t opcode, Registers* registers, std::vector<LineRow>* rows);

  ByteReader reader_;  // header, then opcodes
  uint16_t version_ = 0;
  uint8_t offset_bytes_ = 4;
  uint8_t min_instruction_bytes_ = 1;
  int8_t line_base_ = 0;
  uint8_t line_range_ = 1;
  uint8_t opcode_base_ = 1;
  std::string_view operand_counts_;
  std::vector<std::string> files_;
};

// Joins `path` to `folder` unless it is absolute, and resolves "." and ".." by the text alone.
std::string CleanPath(std::string_view folder, std::string_view path);

}  // namespace coz::sourcemap

#endif  // COZ_SOURCEMAP_DWARF_LINE_PROGRAM_H_
