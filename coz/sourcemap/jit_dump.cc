#include "coz/sourcemap/jit_dump.h"

#include <elf.h>

#include <algorithm>

#include "coz/base/byte_reader.h"

namespace coz::sourcemap {
namespace {

constexpr uint32_t kMagic = 0x4a695444;  // "JiTD"
constexpr size_t kHeaderBytes = 40;
constexpr size_t kRecordHeadBytes = 16;
constexpr size_t kLoadHeadBytes = 40;
constexpr size_t kMoveBytes = 48;
constexpr size_t kMostDebugBytes = 1 << 20;

enum Record : uint32_t { kLoad = 0, kMove = 1, kDebugInfo = 2 };

// Of a record that is `total` long with its head: what is to be read.
size_t BytesWanted(uint32_t record, uint64_t total) {
  size_t most = kRecordHeadBytes;
  if (record == kLoad) most += kLoadHeadBytes + JitDumpParser::kMaxNameBytes;
  if (record == kMove) most += kMoveBytes;
  if (record == kDebugInfo) most += kMostDebugBytes;
  return static_cast<size_t>(std::min<uint64_t>(total, most));
}

bool IsRange(uint64_t start, uint64_t size) { return size != 0 && start + size > start; }

// V8 writes its lines this much too high, for a file that perf makes of them.
constexpr uint64_t kV8Offset = 0x40;

bool IsOfV8(std::string_view name) {
  for (const std::string_view kind : {"JS:", "LazyCompile:", "Function:", "Script:", "Eval:"}) {
    if (name.substr(0, kind.size()) == kind) return true;
  }
  return false;
}

// Those within the function, in order.
void Arrange(uint64_t start, uint64_t size, uint64_t offset, std::vector<JitLine>* lines) {
  for (JitLine& line : *lines) line.start -= std::min(offset, line.start);
  const auto is_elsewhere = [start, size](const JitLine& line) {
    return line.start < start || line.start - start >= size;
  };
  lines->erase(std::remove_if(lines->begin(), lines->end(), is_elsewhere), lines->end());
  std::stable_sort(lines->begin(), lines->end(),
                   [](const JitLine& a, const JitLine& b) { return a.start < b.start; });
}

}  // namespace

bool JitDumpParser::TakeHeader() {
  if (begun_.size() < kHeaderBytes) return false;
  ByteReader reader(begun_);
  const auto magic = reader.Read<uint32_t>();
  reader.Skip(sizeof(uint32_t));  // version
  const auto total = reader.Read<uint32_t>();
  const auto machine = reader.Read<uint32_t>();
  is_damaged_ = magic != kMagic || total < kHeaderBytes || machine != EM_X86_64;
  has_header_ = true;
  begun_.erase(0, kHeaderBytes);
  skip_ = total - kHeaderBytes;
  return true;
}

void JitDumpParser::TakeLoad(std::string_view body, const Visitor& visitor) {
  ByteReader reader(body);
  reader.Skip(2 * sizeof(uint32_t) + sizeof(uint64_t));  // process, thread, virtual address
  const auto start = reader.Read<uint64_t>();
  const auto size = reader.Read<uint64_t>();
  reader.Skip(sizeof(uint64_t));  // index
  const std::string_view name = reader.CString();
  std::vector<JitLine> lines;
  if (lines_of_ == start) lines.swap(lines_);
  lines_.clear();
  if (!reader.ok() || !IsRange(start, size) || name.empty()) return;
  Arrange(start, size, IsOfV8(name) ? kV8Offset : 0, &lines);
  visitor.load({start, size, name, std::move(lines)});
}

void JitDumpParser::TakeMove(std::string_view body, const Visitor& visitor) {
  ByteReader reader(body);
  reader.Skip(2 * sizeof(uint32_t) + sizeof(uint64_t));
  const auto from = reader.Read<uint64_t>();
  const auto to = reader.Read<uint64_t>();
  const auto size = reader.Read<uint64_t>();
  if (reader.ok() && IsRange(from, size) && IsRange(to, size)) visitor.move({from, to, size});
}

// A file's name that is "\xff" is that of the entry before.
void JitDumpParser::TakeDebugInfo(std::string_view body) {
  constexpr std::string_view kSameFile = "\xff";
  ByteReader reader(body);
  lines_of_ = reader.Read<uint64_t>();
  const auto count = reader.Read<uint64_t>();
  lines_.clear();
  for (uint64_t i = 0; i < std::min<uint64_t>(count, kMaxLines); ++i) {
    JitLine line = {};
    line.start = reader.Read<uint64_t>();
    line.line = reader.Read<uint32_t>();
    reader.Skip(sizeof(uint32_t));  // discriminator
    const std::string_view file = reader.CString();
    if (!reader.ok()) return;
    line.file = file == kSameFile && !lines_.empty() ? lines_.back().file
                                                     : std::string(file.substr(0, kMaxNameBytes));
    lines_.push_back(std::move(line));
  }
}

bool JitDumpParser::TakeRecord(const Visitor& visitor) {
  if (begun_.size() < kRecordHeadBytes) return false;
  ByteReader head(begun_);
  const auto record = head.Read<uint32_t>();
  const auto total = head.Read<uint32_t>();
  if (total < kRecordHeadBytes) {
    is_damaged_ = true;
    return false;
  }
  const size_t wanted = BytesWanted(record, total);
  if (begun_.size() < wanted) return false;
  const std::string_view body =
      std::string_view(begun_).substr(kRecordHeadBytes, wanted - kRecordHeadBytes);
  if (record == kLoad) TakeLoad(body, visitor);
  if (record == kMove) TakeMove(body, visitor);
  if (record == kDebugInfo) TakeDebugInfo(body);
  begun_.erase(0, wanted);
  skip_ = total - wanted;
  return true;
}

void JitDumpParser::Feed(std::string_view bytes, const Visitor& visitor) {
  // Small pieces, so that no more than a record is kept.
  constexpr size_t kPieceBytes = 1 << 14;
  while (!is_damaged_) {
    const uint64_t of_begun = std::min<uint64_t>(skip_, begun_.size());
    begun_.erase(0, of_begun);
    skip_ -= of_begun;
    if (skip_ != 0) {
      const uint64_t skipped = std::min<uint64_t>(skip_, bytes.size());
      bytes.remove_prefix(skipped);
      skip_ -= skipped;
    }
    const bool has_taken = has_header_ ? TakeRecord(visitor) : TakeHeader();
    if (has_taken) continue;
    if (bytes.empty()) return;
    const std::string_view piece = bytes.substr(0, kPieceBytes);
    begun_ += piece;
    bytes.remove_prefix(piece.size());
  }
  begun_.clear();
}

}  // namespace coz::sourcemap
