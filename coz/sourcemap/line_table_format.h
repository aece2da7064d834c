// Layout of the line-table image: the bytes that LineTable reads and LineTableBuilder writes.
//
// Shape    LineTableHeader, then four sections in this order, each at an offset that is a multiple
//          of 8: interval starts (u32), interval lines (u32), lines (LineRecord), strings (bytes).
//          Interval i is [starts[i], starts[i + 1]); the last interval is open to the right and has
//          no line, so that every address at or above `base_address` belongs to exactly one.
// Units    ELF addresses; starts are bytes above `base_address`; section offsets are bytes from the
//          start of the image; everything in the machine's byte order
// Errors   none
// Threads  safe: constants and pure functions
// Signals  async-signal-safe
// Source   none
#ifndef COZ_SOURCEMAP_LINE_TABLE_FORMAT_H_
#define COZ_SOURCEMAP_LINE_TABLE_FORMAT_H_

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace coz::sourcemap {

// Reads as an error in the other byte order.
inline constexpr uint64_t kLineTableMagic = 0x31656e694c7a6f43;  // "CozLine1" in memory
// Raised with every change of layout, of names, or of the rules that attribute addresses to lines:
// a cached table of another version is rebuilt.
inline constexpr uint32_t kLineTableFormatVersion = 3;
inline constexpr size_t kMaxBuildIdBytes = 32;

struct LineTableHeader {
  uint64_t magic;
  uint32_t format_version;
  uint32_t build_id_size;  // bytes used of `build_id`; 0 where the file has none
  uint8_t build_id[kMaxBuildIdBytes];
  uint64_t scope_fingerprint;
  uint64_t total_bytes;   // of the image
  uint64_t base_address;  // lowest ELF address with a line
  uint32_t interval_count;
  uint32_t line_count;
  uint64_t starts_offset;
  uint64_t interval_lines_offset;
  uint64_t lines_offset;
  uint64_t strings_offset;
  uint64_t strings_bytes;      // the last byte is 0
  uint64_t contents_checksum;  // of everything after the header
  uint64_t header_checksum;    // of the header with this field 0
};
static_assert(sizeof(LineTableHeader) == 136, "the header has no padding");
static_assert(sizeof(LineTableHeader) % 8 == 0, "the first section follows the header");

struct LineRecord {
  uint32_t file_offset;      // in the strings
  uint32_t line;             // from 1
  uint32_t function_offset;  // in the strings
};
static_assert(sizeof(LineRecord) == 12, "line records have no padding");

// A checksum against damage, not against intent. Four independent lanes keep the multiplier busy: a
// table is verified at memory speed before a cached file is trusted.
inline uint64_t LineTableChecksum(const void* bytes, size_t size) {
  constexpr uint64_t kMultiplier = 0x9e3779b97f4a7c15;
  uint64_t lanes[4] = {size, 1, 2, 3};
  const char* next = static_cast<const char*>(bytes);
  const auto mix = [](uint64_t lane, uint64_t word) {
    lane = (lane ^ word) * kMultiplier;
    return lane ^ (lane >> 29);
  };
  for (; size >= 32; size -= 32, next += 32) {
    uint64_t words[4];
    std::memcpy(words, next, sizeof(words));
    for (int i = 0; i < 4; ++i) lanes[i] = mix(lanes[i], words[i]);
  }
  for (; size > 0;) {
    const size_t part = size < 8 ? size : 8;
    uint64_t word = 0;
    std::memcpy(&word, next, part);
    lanes[0] = mix(lanes[0], word);
    size -= part;
    next += part;
  }
  return mix(mix(mix(lanes[0], lanes[1]), lanes[2]), lanes[3]);
}

inline uint64_t LineTableHeaderChecksum(LineTableHeader header) {
  header.header_checksum = 0;
  return LineTableChecksum(&header, sizeof(header));
}

}  // namespace coz::sourcemap

#endif  // COZ_SOURCEMAP_LINE_TABLE_FORMAT_H_
