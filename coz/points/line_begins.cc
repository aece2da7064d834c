#include "coz/points/line_begins.h"

#include <algorithm>
#include <map>
#include <optional>

#include "coz/points/instruction_length.h"

namespace coz::points {
namespace {

// What may have happened before a thread comes to an instruction: a set of these.
enum Before : unsigned {
  kFromAbove = 1,  // the next code of the line begins a visit
  kFromLine = 2,   // a visit is under way
  kFromBelow = 4,  // the same, and lines below have come since
};

unsigned After(StatementRow::Place place, unsigned before) {
  switch (place) {
    case StatementRow::kAbove:
      return kFromAbove;
    case StatementRow::kAtLine:
      return kFromLine;
    case StatementRow::kBelow:
      return (before & kFromLine) != 0 ? (before & kFromAbove) | kFromBelow : before;
  }
  return before;
}

struct Instruction {
  uint64_t address;
  InstructionFlow flow;
  bool is_fallen_into;  // from the instruction before
  bool is_behind_jump;  // conditional or not, or first of its part
  bool is_jumped_to = false;
  unsigned before = 0;  // 0: no thread comes there
};

// From one instruction to another.
struct Way {
  uint64_t from;
  unsigned before;  // what may have happened on it
  bool is_only;     // that leads on from there
  bool is_back;     // to what lies before
};

// Where a visit may begin.
struct Begin {
  const Instruction* instruction;
  const StatementRow* row;
  bool is_pure;      // no visit is under way
  bool is_in_a_row;  // without a jump since the one before
};

class LineFlow {
 public:
  LineFlow(const FunctionCode& code, const std::vector<StatementRow>& rows);

  // Lets threads come to all code to which no known way leads.
  void EnterByExceptions() {
    ComeToUnknown(kFromAbove);
    Spread();
  }
  LineBegins Begins() const;

 private:
  void Decode(const CodePart& part, const std::set<uint64_t>& behind_last_calls);
  Instruction* At(uint64_t address);
  Instruction* TargetOf(const Instruction& from);
  void ComeTo(Instruction* instruction, unsigned before);
  void ComeToUnknown(unsigned before);
  bool IsPadding(size_t number) const;
  void Spread();
  const std::vector<StatementRow>& RowsOf(const Instruction& instruction) const;
  unsigned AfterRowsOf(const Instruction& instruction) const;
  std::vector<Way> WaysTo(const Instruction& instruction) const;
  std::vector<Begin> Candidates(std::vector<uint32_t>* columns_again) const;
  void AddBegin(const Instruction& instruction, LineBegins* begins) const;

  std::map<uint64_t, std::vector<StatementRow>> rows_;
  std::vector<Instruction> instructions_;
  std::map<uint64_t, size_t> numbers_;  // of instructions, by address
  std::vector<Instruction*> changed_;
  const bool marks_statements_;
};

LineFlow::LineFlow(const FunctionCode& code, const std::vector<StatementRow>& rows)
    : marks_statements_(code.marks_statements) {
  for (const StatementRow& row : rows) rows_[row.address].push_back(row);
  for (const CodePart& part : code.parts) Decode(part, code.behind_last_calls);
  for (size_t i = 0; i < instructions_.size(); ++i) numbers_[instructions_[i].address] = i;
  for (const Instruction& each : instructions_) {
    if (Instruction* target = TargetOf(each)) target->is_jumped_to = true;
  }
  ComeTo(At(code.entry), kFromAbove);
  Spread();
}

void LineFlow::Decode(const CodePart& part, const std::set<uint64_t>& behind_last_calls) {
  bool is_fallen_into = false;
  bool is_behind_jump = true;
  for (size_t at = 0; at < part.bytes;) {
    std::optional<InstructionFlow> flow = FlowOf(part.code + at, part.bytes - at);
    if (!flow.has_value()) return;
    const uint64_t address = part.address + at;
    at += flow->length;
    if (behind_last_calls.count(part.address + at) != 0) flow->goes_on = false;
    instructions_.push_back({address, *flow, is_fallen_into, is_behind_jump});
    is_fallen_into = flow->goes_on;
    is_behind_jump = !flow->goes_on || flow->jump.has_value();
  }
}

Instruction* LineFlow::At(uint64_t address) {
  const auto it = numbers_.find(address);
  return it == numbers_.end() ? nullptr : &instructions_[it->second];
}

Instruction* LineFlow::TargetOf(const Instruction& from) {
  if (!from.flow.jump.has_value()) return nullptr;
  return At(from.address + static_cast<uint64_t>(*from.flow.jump));
}

void LineFlow::ComeTo(Instruction* instruction, unsigned before) {
  if (instruction == nullptr || (instruction->before | before) == instruction->before) return;
  instruction->before |= before;
  changed_.push_back(instruction);
}

// Whether it only fills up the space before code to which jumps lead.
bool LineFlow::IsPadding(size_t number) const {
  size_t behind = number;
  while (behind < instructions_.size() && instructions_[behind].flow.does_nothing) ++behind;
  return behind == instructions_.size() || (behind > number && instructions_[behind].is_jumped_to);
}

void LineFlow::ComeToUnknown(unsigned before) {
  for (size_t i = 0; i < instructions_.size(); ++i) {
    const Instruction& each = instructions_[i];
    if (!each.is_fallen_into && !each.is_jumped_to && !IsPadding(i)) {
      ComeTo(&instructions_[i], before);
    }
  }
}

void LineFlow::Spread() {
  while (!changed_.empty()) {
    const Instruction& from = *changed_.back();
    changed_.pop_back();
    const unsigned after = AfterRowsOf(from);
    ComeTo(TargetOf(from), after);
    if (from.flow.goes_on) ComeTo(At(from.address + from.flow.length), after);
    if (from.flow.leads_anywhere) ComeToUnknown(after);
  }
}

const std::vector<StatementRow>& LineFlow::RowsOf(const Instruction& instruction) const {
  static const std::vector<StatementRow> kNone;
  const auto it = rows_.find(instruction.address);
  return it == rows_.end() ? kNone : it->second;
}

unsigned LineFlow::AfterRowsOf(const Instruction& instruction) const {
  unsigned after = instruction.before;
  for (const StatementRow& row : RowsOf(instruction)) after = After(row.place, after);
  return after;
}

std::vector<Way> LineFlow::WaysTo(const Instruction& instruction) const {
  std::vector<Way> ways;
  for (const Instruction& from : instructions_) {
    if (from.before == 0) continue;
    const bool jumps = from.flow.jump.has_value() &&
                       from.address + static_cast<uint64_t>(*from.flow.jump) == instruction.address;
    const bool falls = from.flow.goes_on && from.address + from.flow.length == instruction.address;
    if (!jumps && !falls) continue;
    const bool is_only = !from.flow.jump.has_value() || !from.flow.goes_on;
    ways.push_back({from.address, AfterRowsOf(from), is_only, from.address >= instruction.address});
  }
  return ways;
}

void LineFlow::AddBegin(const Instruction& instruction, LineBegins* begins) const {
  std::vector<uint64_t> from_above;
  bool is_apart = true;
  bool is_loop = false;
  for (const Way& way : WaysTo(instruction)) {
    if (way.before != kFromAbove && way.is_back) is_loop = true;
    if ((way.before & kFromAbove) == 0) continue;
    if (way.before != kFromAbove || !way.is_only) is_apart = false;
    from_above.push_back(way.from);
  }
  if (!is_loop && is_apart && !from_above.empty()) {
    begins->addresses.insert(begins->addresses.end(), from_above.begin(), from_above.end());
    return;
  }
  ++begins->again;
  begins->addresses.push_back(instruction.address);
}

// Compilers mix the code of neighbouring lines. So where threads come to the line anew within code
// without a jump, only the column at which the visit before began begins another one.
std::vector<Begin> LineFlow::Candidates(std::vector<uint32_t>* columns_again) const {
  std::vector<Begin> found;
  const StatementRow* in_block = nullptr;  // the latest begin
  for (const Instruction& instruction : instructions_) {
    if (instruction.is_behind_jump || instruction.is_jumped_to) in_block = nullptr;
    unsigned before = instruction.before;
    std::optional<Begin> begin;
    for (const StatementRow& row : RowsOf(instruction)) {
      const bool is_line = row.place == StatementRow::kAtLine;
      const bool is_mixture = in_block != nullptr && in_block->column != row.column;
      if (is_line && (before & kFromAbove) != 0 && !is_mixture) {
        begin = Begin{&instruction, &row, before == kFromAbove, in_block != nullptr};
      }
      if (is_line && before == kFromBelow) columns_again->push_back(row.column);
      before = After(row.place, before);
    }
    if (!begin.has_value()) continue;
    in_block = begin->row;
    found.push_back(*begin);
  }
  return found;
}

LineBegins LineFlow::Begins() const {
  LineBegins begins;
  std::vector<uint32_t> columns_again;
  const std::vector<Begin> candidates = Candidates(&columns_again);
  const auto first = std::min_element(
      candidates.begin(), candidates.end(),
      [](const Begin& a, const Begin& b) { return a.row->column < b.row->column; });
  std::set<uint32_t> columns;
  for (const Begin& begin : candidates) {
    if (marks_statements_ && begin.row->column != first->row->column) continue;
    columns.insert(begin.row->column);
    if (begin.is_in_a_row) ++begins.in_a_row;
    if (begin.is_pure) {
      begins.addresses.push_back(begin.instruction->address);
    } else {
      AddBegin(*begin.instruction, &begins);
    }
  }
  std::sort(begins.addresses.begin(), begins.addresses.end());
  for (const uint32_t column : columns_again) begins.left_out += columns.count(column);
  if (begins.left_out == 1) begins.left_out = 0;
  return begins;
}

}  // namespace

LineBegins FindLineBegins(const FunctionCode& code, const std::vector<StatementRow>& rows) {
  LineFlow flow(code, rows);
  LineBegins begins = flow.Begins();
  if (!begins.addresses.empty()) return begins;
  flow.EnterByExceptions();
  return flow.Begins();
}

}  // namespace coz::points
