// Maps an ELF address to the source line that an experiment can speed up: a view over an immutable
// image that the supervisor builds (LineTableBuilder) and the target maps read-only.
//
// Shape    at most 2^32 - 2 lines, each file:line once, ordered by file and line; an address has
//          one line or none (kNoLine). The view borrows the bytes: they must stay mapped and
//          unchanged.
// Units    ELF addresses, as in the file: the caller subtracts the load bias from a runtime address
// Errors   FromBytes and VerifyContents return false. After FromBytes, damaged bytes never lead a
//          function out of bounds, but may give wrong answers. VerifyContents finds them.
// Threads  safe: const functions over constant bytes
// Signals  all but VerifyContents and FindLines are meant for handlers; none uses the heap or errno
// Source   none
//
//   LineTable table;
//   if (!LineTable::FromBytes(mapped, size, &table)) ...;
//   uint32_t line = table.Lookup(ip - load_bias);   // for a caller's frame: return address - 1
//   if (line != kNoLine) Use(table.line(line).file, table.line(line).line);
#ifndef COZ_SOURCEMAP_LINE_TABLE_H_
#define COZ_SOURCEMAP_LINE_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "coz/sourcemap/line_table_format.h"

namespace coz::sourcemap {

// The address belongs to no line in scope.
inline constexpr uint32_t kNoLine = 0xffffffff;

struct Line {
  const char* file;      // absolute, without "." and ".." parts; "" when the index is no line
  uint32_t line;         // from 1; 0 when the index is no line
  const char* function;  // demangled; "" where unknown
};

class LineTable {
 public:
  // An empty table: no address has a line.
  LineTable() = default;

  // Makes `table` a view of the `size` bytes at `bytes`, which must be aligned to 8. Constant time:
  // checks the header, its checksum, and that every section lies within the bytes.
  static bool FromBytes(const void* bytes, size_t size, LineTable* table);

  // True if the contents are those that were written: checksum, order of intervals, range of every
  // index and string. Reads every page: for the supervisor, before it trusts a cached file.
  bool VerifyContents() const;

  // The index of the line that `elf_address` belongs to, or kNoLine.
  uint32_t Lookup(uint64_t elf_address) const;

  uint32_t line_count() const { return line_count_; }
  Line line(uint32_t index) const;

  // Finds lines by "file:line", as a user types them: `file` is a whole path or its last parts
  // ("main.cc:7" finds /src/main.cc:7, not /src/domain.cc:7). Returns how many lines match and
  // stores the first `capacity` indices. More than one match means that the name is ambiguous.
  uint32_t FindLines(std::string_view file_line, uint32_t* indices, uint32_t capacity) const;

  // Calls `visit(begin, end, line index)` for each interval with a line, in the order of addresses.
  template <typename Visit>
  void ForEachInterval(Visit visit) const {
    for (uint32_t i = 0; i + 1 < interval_count_; ++i) {
      if (interval_lines_[i] >= line_count_) continue;
      visit(base_address_ + starts_[i], base_address_ + starts_[i + 1], interval_lines_[i]);
    }
  }

  uint32_t interval_count() const { return interval_count_; }
  uint64_t base_address() const { return base_address_; }
  // First address after the last one with a line.
  uint64_t end_address() const;
  // Bytes of the binary's GNU build-id, or empty.
  std::string_view build_id() const { return {build_id_, build_id_bytes_}; }
  uint64_t scope_fingerprint() const { return scope_fingerprint_; }

 private:
  const char* String(uint32_t offset) const;

  const char* image_ = nullptr;
  size_t image_bytes_ = 0;
  const uint32_t* starts_ = nullptr;
  const uint32_t* interval_lines_ = nullptr;
  const LineRecord* lines_ = nullptr;
  const char* strings_ = "";
  uint64_t strings_bytes_ = 1;
  uint64_t base_address_ = 0;
  uint64_t scope_fingerprint_ = 0;
  const char* build_id_ = "";
  uint32_t build_id_bytes_ = 0;
  uint32_t interval_count_ = 0;
  uint32_t line_count_ = 0;
};

}  // namespace coz::sourcemap

#endif  // COZ_SOURCEMAP_LINE_TABLE_H_
