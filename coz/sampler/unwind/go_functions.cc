// Process: target. Context: signal handlers.
#include "coz/sampler/unwind/go_functions.h"

#include "coz/base/byte_reader.h"

namespace coz::sampler {
namespace {

// What differs between versions of the table. Words of the header follow its first 8 bytes.
struct Layout {
  uint32_t magic;
  uint8_t entry_bytes;      // of where a function begins
  bool has_text_start;      // of which entries are offsets
  uint8_t stack_depths_at;  // in a function's record
  uint8_t flags_at;
};
constexpr Layout kLayouts[] = {
    {0xfffffffa, 8, false, 20, 41},  // 1.16
    {0xfffffff0, 4, true, 16, 37},   // 1.18
    {0xfffffff1, 4, true, 16, 41},   // 1.20
};

constexpr uint8_t kInstructionGrain = 1;  // of x86
constexpr uint8_t kPointerBytes = 8;

// A function's flags.
constexpr uint8_t kIsOutermost = 1;
constexpr uint8_t kWritesStackPointer = 2;

struct Table {
  const Layout* layout = nullptr;
  const uint8_t* end = nullptr;
  uint64_t count = 0;
  uint64_t text_start = 0;
  const uint8_t* values = nullptr;     // pctab
  const uint8_t* functions = nullptr;  // a row for each, and a last one with the end
};

const Layout* LayoutOf(uint32_t magic) {
  for (const Layout& layout : kLayouts) {
    if (layout.magic == magic) return &layout;
  }
  return nullptr;
}

// False where the bytes are no table of a known version.
bool ReadHeader(const uint8_t* begin, const uint8_t* end, Table* table) {
  ByteReader header(begin, end);
  table->layout = LayoutOf(header.Read<uint32_t>());
  header.Skip(2);
  const auto grain = header.Read<uint8_t>();
  const auto pointer_bytes = header.Read<uint8_t>();
  if (table->layout == nullptr || grain != kInstructionGrain || pointer_bytes != kPointerBytes) {
    return false;
  }
  table->end = end;
  table->count = header.Read<uint64_t>();
  header.Skip(sizeof(uint64_t));  // the number of files
  if (table->layout->has_text_start) table->text_start = header.Read<uint64_t>();
  header.Skip(3 * sizeof(uint64_t));  // names, units, files
  const auto values = header.Read<uint64_t>();
  const auto functions = header.Read<uint64_t>();
  const auto bytes = static_cast<uint64_t>(end - begin);
  if (!header.ok() || values > bytes || functions > bytes || table->count == 0) return false;
  const uint64_t row_bytes = 2 * uint64_t{table->layout->entry_bytes};
  if (table->count > (bytes - functions) / row_bytes) return false;
  table->values = begin + values;
  table->functions = begin + functions;
  return true;
}

// Where function `index` begins; of the last row, where the one before ends.
uint64_t EntryOf(const Table& table, uint64_t index) {
  const uint64_t entry_bytes = table.layout->entry_bytes;
  ByteReader row(table.functions + index * 2 * entry_bytes, table.end);
  return table.text_start + row.Unsigned(entry_bytes);
}

// The function's record.
ByteReader RecordOf(const Table& table, uint64_t index) {
  const uint64_t entry_bytes = table.layout->entry_bytes;
  ByteReader row(table.functions + index * 2 * entry_bytes + entry_bytes, table.end);
  ByteReader record(table.functions, table.end);
  record.Skip(row.Unsigned(entry_bytes));
  return record;
}

// False where no function holds the address.
bool FindFunction(const Table& table, uint64_t address, uint64_t* index) {
  if (address < EntryOf(table, 0) || address >= EntryOf(table, table.count)) return false;
  uint64_t low = 0;
  uint64_t high = table.count;
  while (high - low > 1) {
    const uint64_t middle = low + (high - low) / 2;
    (EntryOf(table, middle) <= address ? low : high) = middle;
  }
  *index = low;
  return true;
}

uint32_t WordAt(ByteReader record, uint64_t offset) {
  record.Skip(offset);
  return record.Read<uint32_t>();
}

uint8_t ByteAt(ByteReader record, uint64_t offset) {
  record.Skip(offset);
  return record.Read<uint8_t>();
}

// The bytes between the stack pointer and the return address, from a list of differences: of the
// depth, and of the address up to which it holds.
FindResult DepthAt(ByteReader depths, uint64_t entry, uint64_t address, int64_t* depth) {
  *depth = -1;
  uint64_t until = entry;
  for (bool is_first = true;; is_first = false) {
    const uint64_t change = depths.Uleb128();
    if (change == 0 && !is_first) return FindResult::kMalformed;  // the list's end
    *depth += static_cast<int64_t>(change >> 1 ^ -(change & 1));
    until += depths.Uleb128() * kInstructionGrain;
    if (!depths.ok()) return FindResult::kMalformed;
    if (address < until) return FindResult::kFound;
  }
}

}  // namespace

FindResult GoFunctions::FindRules(uint64_t lookup_address, FrameRules* rules) const {
  Table table;
  uint64_t index = 0;
  if (!ReadHeader(begin_, end_, &table) || !FindFunction(table, lookup_address, &index)) {
    return FindResult::kNone;
  }
  const ByteReader record = RecordOf(table, index);
  const uint32_t depths_at = WordAt(record, table.layout->stack_depths_at);
  const uint8_t flags = ByteAt(record, table.layout->flags_at);
  *rules = {};
  if ((flags & (kIsOutermost | kWritesStackPointer)) != 0) {
    rules->registers.kind[kReturnAddress] = RuleKind::kUndefined;
    return FindResult::kFound;
  }
  ByteReader depths(table.values, table.end);
  depths.Skip(depths_at);
  int64_t depth = 0;
  const FindResult result = depths_at == 0
                                ? FindResult::kMalformed
                                : DepthAt(depths, EntryOf(table, index), lookup_address, &depth);
  if (result != FindResult::kFound) return result;
  constexpr int64_t kMostDepth = int64_t{1} << 30;
  constexpr int kWordBytes = 8;
  if (depth < 0 || depth > kMostDepth || depth % kWordBytes != 0) return FindResult::kMalformed;
  rules->cfa_register = kRsp;
  rules->cfa_value = static_cast<int32_t>(depth) + kWordBytes;
  rules->registers.kind[kReturnAddress] = RuleKind::kAtCfaPlus;
  rules->registers.value[kReturnAddress] = -kWordBytes;
  return FindResult::kFound;
}

}  // namespace coz::sampler
