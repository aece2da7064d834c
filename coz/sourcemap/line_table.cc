#include "coz/sourcemap/line_table.h"

namespace coz::sourcemap {
namespace {

// True if `count` elements of `element_bytes` at `offset` lie within `image_bytes`, behind the
// header and aligned.
bool SectionFits(uint64_t offset, uint64_t count, uint64_t element_bytes, uint64_t image_bytes) {
  if (offset % 8 != 0 || offset < sizeof(LineTableHeader) || offset > image_bytes) return false;
  return count <= (image_bytes - offset) / element_bytes;
}

bool HeaderIsSound(const LineTableHeader& header, size_t size) {
  return header.magic == kLineTableMagic && header.format_version == kLineTableFormatVersion &&
         header.header_checksum == LineTableHeaderChecksum(header) && header.total_bytes == size &&
         header.build_id_size <= kMaxBuildIdBytes && header.line_count < kNoLine &&
         SectionFits(header.starts_offset, header.interval_count, sizeof(uint32_t), size) &&
         SectionFits(header.interval_lines_offset, header.interval_count, sizeof(uint32_t), size) &&
         SectionFits(header.lines_offset, header.line_count, sizeof(LineRecord), size) &&
         header.strings_bytes > 0 &&
         SectionFits(header.strings_offset, header.strings_bytes, 1, size);
}

// Reads the decimal number at the end of "file:line"; false if there is none.
bool SplitFileLine(std::string_view file_line, std::string_view* file, uint32_t* line) {
  const size_t colon = file_line.rfind(':');
  if (colon == std::string_view::npos || colon + 1 == file_line.size()) return false;
  uint64_t number = 0;
  for (char c : file_line.substr(colon + 1)) {
    if (c < '0' || c > '9') return false;
    number = number * 10 + static_cast<uint64_t>(c - '0');
    if (number > UINT32_MAX) return false;
  }
  *file = file_line.substr(0, colon);
  *line = static_cast<uint32_t>(number);
  return !file->empty();
}

bool IsPathSuffix(std::string_view path, std::string_view suffix) {
  if (suffix.size() > path.size()) return false;
  if (path.substr(path.size() - suffix.size()) != suffix) return false;
  return suffix.size() == path.size() || suffix.front() == '/' ||
         path[path.size() - suffix.size() - 1] == '/';
}

}  // namespace

bool LineTable::FromBytes(const void* bytes, size_t size, LineTable* table) {
  if (size < sizeof(LineTableHeader) || reinterpret_cast<uintptr_t>(bytes) % 8 != 0) return false;
  LineTableHeader header;
  std::memcpy(&header, bytes, sizeof(header));
  if (!HeaderIsSound(header, size)) return false;
  const char* image = static_cast<const char*>(bytes);
  // With a 0 at the end of the pool every offset below its size is the start of a C string.
  if (image[header.strings_offset + header.strings_bytes - 1] != '\0') return false;

  table->image_ = image;
  table->image_bytes_ = size;
  table->starts_ = reinterpret_cast<const uint32_t*>(image + header.starts_offset);
  table->interval_lines_ = reinterpret_cast<const uint32_t*>(image + header.interval_lines_offset);
  table->lines_ = reinterpret_cast<const LineRecord*>(image + header.lines_offset);
  table->strings_ = image + header.strings_offset;
  table->strings_bytes_ = header.strings_bytes;
  table->base_address_ = header.base_address;
  table->scope_fingerprint_ = header.scope_fingerprint;
  table->build_id_ = image + offsetof(LineTableHeader, build_id);
  table->build_id_bytes_ = header.build_id_size;
  table->interval_count_ = header.interval_count;
  table->line_count_ = header.line_count;
  return true;
}

bool LineTable::VerifyContents() const {
  if (image_ == nullptr) return true;
  LineTableHeader header;
  std::memcpy(&header, image_, sizeof(header));
  if (header.contents_checksum !=
      LineTableChecksum(image_ + sizeof(header), image_bytes_ - sizeof(header))) {
    return false;
  }
  for (uint32_t i = 0; i < interval_count_; ++i) {
    if (i > 0 && starts_[i] <= starts_[i - 1]) return false;
    if (interval_lines_[i] != kNoLine && interval_lines_[i] >= line_count_) return false;
  }
  if (interval_count_ > 0 && interval_lines_[interval_count_ - 1] != kNoLine) return false;
  for (uint32_t i = 0; i < line_count_; ++i) {
    const LineRecord& record = lines_[i];
    if (record.line == 0 || record.file_offset >= strings_bytes_ ||
        record.function_offset >= strings_bytes_) {
      return false;
    }
  }
  return true;
}

uint32_t LineTable::Lookup(uint64_t elf_address) const {
  if (interval_count_ == 0 || elf_address < base_address_) return kNoLine;
  const uint64_t offset = elf_address - base_address_;
  // Finds the last start at or below `offset`. Ends after 32 steps whatever the bytes hold.
  uint32_t first = 0;
  uint32_t count = interval_count_;
  while (count > 1) {
    const uint32_t half = count / 2;
    if (starts_[first + half] <= offset) first += half;
    count -= half;
  }
  if (starts_[first] > offset) return kNoLine;
  const uint32_t index = interval_lines_[first];
  return index < line_count_ ? index : kNoLine;
}

const char* LineTable::String(uint32_t offset) const {
  return offset < strings_bytes_ ? strings_ + offset : "";
}

Line LineTable::line(uint32_t index) const {
  if (index >= line_count_) return {"", 0, ""};
  const LineRecord& record = lines_[index];
  return {String(record.file_offset), record.line, String(record.function_offset)};
}

uint32_t LineTable::FindLines(std::string_view file_line, uint32_t* indices,
                              uint32_t capacity) const {
  std::string_view file;
  uint32_t wanted;
  if (!SplitFileLine(file_line, &file, &wanted)) return 0;
  uint32_t found = 0;
  for (uint32_t i = 0; i < line_count_; ++i) {
    if (lines_[i].line != wanted || !IsPathSuffix(String(lines_[i].file_offset), file)) continue;
    if (found < capacity) indices[found] = i;
    ++found;
  }
  return found;
}

uint64_t LineTable::end_address() const {
  return interval_count_ == 0 ? base_address_ : base_address_ + starts_[interval_count_ - 1];
}

}  // namespace coz::sourcemap
