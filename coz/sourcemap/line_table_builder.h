// Writes the line-table image that LineTable reads.
//
// Shape    half-open intervals [begin, end) in any order; equal neighbours are merged; each
//          file:line becomes one line, whose function is the one that holds most of its bytes of
//          code
// Units    ELF addresses
// Errors   Build: INVALID_ARGUMENT for intervals that overlap or are empty, OUT_OF_RANGE for code
//          that spans 4 GiB or more (offsets are 32 bits)
// Threads  compatible
// Signals  not safe
// Source   none
#ifndef COZ_SOURCEMAP_LINE_TABLE_BUILDER_H_
#define COZ_SOURCEMAP_LINE_TABLE_BUILDER_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/node_hash_map.h"
#include "absl/status/statusor.h"

namespace coz::sourcemap {

class LineTableBuilder {
 public:
  // At most kMaxBuildIdBytes of `build_id` are kept.
  void set_build_id(std::string_view build_id) { build_id_ = build_id; }
  void set_scope_fingerprint(uint64_t fingerprint) { scope_fingerprint_ = fingerprint; }

  // Code of one file:line in several functions becomes several lines. Before the first interval.
  void SplitLinesByFunction() { split_by_function_ = true; }

  // Ids for AddInterval; the same text has the same id. Functions and files share one pool.
  uint32_t AddString(std::string_view text);

  // `line` counts from 1.
  void AddInterval(uint64_t begin, uint64_t end, uint32_t file_id, uint32_t line,
                   uint32_t function_id);

  // Adds a line even where no interval has it.
  void AddLine(uint32_t file_id, uint32_t line, uint32_t function_id) {
    LineId(file_id, line, function_id);
  }

  // The image. Call once: it consumes the intervals.
  absl::StatusOr<std::string> Build();

 private:
  struct Interval {
    uint64_t begin;
    uint64_t end;
    uint32_t line_id;  // in lines_, later its final index
    uint32_t function_id;
  };
  struct LineKey {
    uint32_t file_id;
    uint32_t line;
    uint32_t function_id;
  };

  uint32_t LineId(uint32_t file_id, uint32_t line, uint32_t function_id);
  absl::Status CheckIntervals() const;
  void ChooseFunctions();
  void OrderLines();
  void WriteIntervals(std::vector<uint32_t>* starts, std::vector<uint32_t>* lines) const;

  std::string build_id_;
  uint64_t scope_fingerprint_ = 0;
  absl::node_hash_map<std::string, uint32_t> string_ids_;
  std::vector<const std::string*> strings_;
  bool split_by_function_ = false;
  // (file id, line, function id where lines are split by it) to index of lines_
  absl::flat_hash_map<std::tuple<uint32_t, uint32_t, uint32_t>, uint32_t> line_ids_;
  std::vector<LineKey> lines_;
  std::vector<Interval> intervals_;
};

}  // namespace coz::sourcemap

#endif  // COZ_SOURCEMAP_LINE_TABLE_BUILDER_H_
