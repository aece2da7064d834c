#include "coz/sourcemap/line_table_builder.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <tuple>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"
#include "coz/sourcemap/line_table.h"
#include "coz/sourcemap/line_table_format.h"

namespace coz::sourcemap {
namespace {

uint64_t AlignUp8(uint64_t offset) { return (offset + 7) & ~uint64_t{7}; }

template <typename T>
void CopyInto(std::string* image, uint64_t offset, const std::vector<T>& elements) {
  if (!elements.empty())
    std::memcpy(&(*image)[offset], elements.data(), elements.size() * sizeof(T));
}

}  // namespace

uint32_t LineTableBuilder::AddString(std::string_view text) {
  const auto [entry, is_new] =
      string_ids_.try_emplace(std::string(text), static_cast<uint32_t>(strings_.size()));
  if (is_new) strings_.push_back(&entry->first);
  return entry->second;
}

uint32_t LineTableBuilder::LineId(uint32_t file_id, uint32_t line, uint32_t function_id) {
  const auto [entry, is_new] = line_ids_.try_emplace(
      {file_id, line, split_by_function_ ? function_id : 0}, static_cast<uint32_t>(lines_.size()));
  if (is_new) lines_.push_back({file_id, line, function_id});
  return entry->second;
}

void LineTableBuilder::AddInterval(uint64_t begin, uint64_t end, uint32_t file_id, uint32_t line,
                                   uint32_t function_id) {
  intervals_.push_back({begin, end, LineId(file_id, line, function_id), function_id});
}

absl::Status LineTableBuilder::CheckIntervals() const {
  for (size_t i = 0; i < intervals_.size(); ++i) {
    const Interval& interval = intervals_[i];
    if (interval.begin >= interval.end || (i > 0 && intervals_[i - 1].end > interval.begin)) {
      return absl::InvalidArgumentError(
          absl::StrFormat("cannot build the line table: the interval [%#x, %#x) is empty or "
                          "overlaps another; report this as a bug of the DWARF reader",
                          interval.begin, interval.end));
    }
  }
  if (!intervals_.empty() && intervals_.back().end - intervals_.front().begin > UINT32_MAX) {
    return absl::OutOfRangeError(absl::StrFormat(
        "cannot build the line table: code in scope spans from %#x to %#x, and at most 4 GiB "
        "is supported; narrow the source scope with --source-scope",
        intervals_.front().begin, intervals_.back().end));
  }
  return absl::OkStatus();
}

// The same file:line belongs to several functions when a template has several instances. The unit
// of an experiment is the line, so it has one index and the name that covers most of its code.
void LineTableBuilder::ChooseFunctions() {
  absl::flat_hash_map<uint64_t, uint64_t> bytes_of;  // (line id, function id) to bytes of code
  for (const Interval& interval : intervals_) {
    bytes_of[uint64_t{interval.line_id} << 32 | interval.function_id] +=
        interval.end - interval.begin;
  }
  std::vector<uint64_t> most(lines_.size(), 0);
  for (const auto& [key, bytes] : bytes_of) {
    const uint32_t line_id = static_cast<uint32_t>(key >> 32);
    const uint32_t function_id = static_cast<uint32_t>(key);
    LineKey& line = lines_[line_id];
    // Hash maps have no stable order: a tie is broken by the text.
    const bool wins =
        bytes > most[line_id] ||
        (bytes == most[line_id] && *strings_[function_id] < *strings_[line.function_id]);
    if (!wins) continue;
    most[line_id] = bytes;
    line.function_id = function_id;
  }
}

// Sorts lines by file and line, so that equal inputs give equal images whatever the order of units,
// and the lines of one file are neighbours.
void LineTableBuilder::OrderLines() {
  std::vector<uint32_t> order(lines_.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [this](uint32_t a, uint32_t b) {
    return std::tie(*strings_[lines_[a].file_id], lines_[a].line,
                    *strings_[lines_[a].function_id]) <
           std::tie(*strings_[lines_[b].file_id], lines_[b].line, *strings_[lines_[b].function_id]);
  });
  std::vector<uint32_t> final_index(lines_.size());
  std::vector<LineKey> sorted;
  sorted.reserve(lines_.size());
  for (uint32_t id : order) {
    final_index[id] = static_cast<uint32_t>(sorted.size());
    sorted.push_back(lines_[id]);
  }
  lines_ = std::move(sorted);
  for (Interval& interval : intervals_) interval.line_id = final_index[interval.line_id];
}

void LineTableBuilder::WriteIntervals(std::vector<uint32_t>* starts,
                                      std::vector<uint32_t>* lines) const {
  if (intervals_.empty()) return;
  const uint64_t base = intervals_.front().begin;
  uint64_t covered_until = base;
  for (const Interval& interval : intervals_) {
    if (interval.begin > covered_until) {
      starts->push_back(static_cast<uint32_t>(covered_until - base));
      lines->push_back(kNoLine);
    }
    if (lines->empty() || lines->back() != interval.line_id) {
      starts->push_back(static_cast<uint32_t>(interval.begin - base));
      lines->push_back(interval.line_id);
    }
    covered_until = interval.end;
  }
  starts->push_back(static_cast<uint32_t>(covered_until - base));
  lines->push_back(kNoLine);
}

absl::StatusOr<std::string> LineTableBuilder::Build() {
  std::sort(intervals_.begin(), intervals_.end(),
            [](const Interval& a, const Interval& b) { return a.begin < b.begin; });
  if (absl::Status status = CheckIntervals(); !status.ok()) return status;
  ChooseFunctions();
  OrderLines();

  std::vector<uint32_t> starts;
  std::vector<uint32_t> interval_lines;
  WriteIntervals(&starts, &interval_lines);

  // Offset 0 is the empty string. Only strings that a line uses are written.
  std::string pool(1, '\0');
  std::vector<uint32_t> pool_offsets(strings_.size(), 0);
  const auto pool_offset = [&](uint32_t id) {
    if (pool_offsets[id] == 0 && !strings_[id]->empty()) {
      pool_offsets[id] = static_cast<uint32_t>(pool.size());
      pool.append(*strings_[id]).push_back('\0');
    }
    return pool_offsets[id];
  };
  std::vector<LineRecord> records;
  records.reserve(lines_.size());
  for (const LineKey& line : lines_) {
    records.push_back({pool_offset(line.file_id), line.line, pool_offset(line.function_id)});
  }
  if (pool.size() > UINT32_MAX) {
    return absl::OutOfRangeError(
        "cannot build the line table: names take more than 4 GiB; narrow --source-scope");
  }

  LineTableHeader header = {};
  header.magic = kLineTableMagic;
  header.format_version = kLineTableFormatVersion;
  header.build_id_size = static_cast<uint32_t>(std::min(build_id_.size(), kMaxBuildIdBytes));
  std::memcpy(header.build_id, build_id_.data(), header.build_id_size);
  header.scope_fingerprint = scope_fingerprint_;
  header.base_address = intervals_.empty() ? 0 : intervals_.front().begin;
  header.interval_count = static_cast<uint32_t>(starts.size());
  header.line_count = static_cast<uint32_t>(records.size());
  header.starts_offset = sizeof(header);
  header.interval_lines_offset = AlignUp8(header.starts_offset + starts.size() * sizeof(uint32_t));
  header.lines_offset =
      AlignUp8(header.interval_lines_offset + interval_lines.size() * sizeof(uint32_t));
  header.strings_offset = AlignUp8(header.lines_offset + records.size() * sizeof(LineRecord));
  header.strings_bytes = pool.size();
  header.total_bytes = header.strings_offset + pool.size();

  std::string image(header.total_bytes, '\0');
  CopyInto(&image, header.starts_offset, starts);
  CopyInto(&image, header.interval_lines_offset, interval_lines);
  CopyInto(&image, header.lines_offset, records);
  std::memcpy(&image[header.strings_offset], pool.data(), pool.size());
  header.contents_checksum =
      LineTableChecksum(image.data() + sizeof(header), image.size() - sizeof(header));
  header.header_checksum = LineTableHeaderChecksum(header);
  std::memcpy(image.data(), &header, sizeof(header));
  return image;
}

}  // namespace coz::sourcemap
