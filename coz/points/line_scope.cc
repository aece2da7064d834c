#include "coz/points/line_scope.h"

#include <dwarf.h>

#include <algorithm>
#include <cstdlib>

#include "absl/strings/match.h"
#include "coz/points/debug_entries.h"

namespace coz::points {
namespace {

bool IsIn(const std::vector<FunctionExtent>& code, uint64_t address) {
  return std::any_of(code.begin(), code.end(), [address](const FunctionExtent& part) {
    return part.begin <= address && address < part.end;
  });
}

// The entries around an address, from the innermost to the unit. dwarf_getscopes goes on from a
// copy to where the copied function was written, not to where the copy is.
std::vector<Dwarf_Die> EntriesAround(Dwarf_Die* unit, Dwarf_Addr address) {
  Dwarf_Die* scopes = nullptr;
  if (dwarf_getscopes(unit, address, &scopes) <= 0) return {};
  Dwarf_Die innermost = scopes[0];
  free(scopes);
  const int count = dwarf_getscopes_die(&innermost, &scopes);
  if (count <= 0) return {};
  std::vector<Dwarf_Die> entries(scopes, scopes + count);
  free(scopes);
  return entries;
}

std::string FileOfNumber(Dwarf_Die* unit, uint64_t number) {
  Dwarf_Files* files = nullptr;
  size_t count = 0;
  if (dwarf_getsrcfiles(unit, &files, &count) != 0 || number >= count) return "";
  const char* file = dwarf_filesrc(files, number, nullptr, nullptr);
  return file == nullptr ? "" : file;
}

std::string CallFileOf(Dwarf_Die* unit, Dwarf_Die* copy) {
  return FileOfNumber(unit, NumberAttribute(copy, DW_AT_call_file));
}

// Where a function is declared.
struct Declaration {
  std::string file;
  uint32_t line = 0;
  uint32_t column = 0;
};

// dwarf_decl_file takes the first file of DWARF 5 for none.
std::string DeclarationFile(Dwarf_Die* function) {
  Dwarf_Attribute attribute;
  Dwarf_Word number = 0;
  if (dwarf_formudata(dwarf_attr_integrate(function, DW_AT_decl_file, &attribute), &number) != 0) {
    return "";
  }
  Dwarf_Die unit;
  return dwarf_cu_die(attribute.cu, &unit, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr) ==
                 nullptr
             ? ""
             : FileOfNumber(&unit, number);
}

Declaration OwnDeclaration(Dwarf_Die* die) {
  Declaration declaration = {DeclarationFile(die)};
  int number = 0;
  if (dwarf_decl_line(die, &number) == 0) declaration.line = static_cast<uint32_t>(number);
  if (dwarf_decl_column(die, &number) == 0) declaration.column = static_cast<uint32_t>(number);
  return declaration;
}

// gcc says of a lambda only where its class begins.
Declaration DeclarationOf(Dwarf_Die* function) {
  Declaration declaration = OwnDeclaration(function);
  if (declaration.line != 0) return declaration;
  Dwarf_Die origin = *function;
  for (const unsigned name : {DW_AT_abstract_origin, DW_AT_specification}) {
    Dwarf_Attribute attribute;
    Dwarf_Die next;
    if (dwarf_formref_die(dwarf_attr(&origin, name, &attribute), &next) != nullptr) origin = next;
  }
  Dwarf_Die* scopes = nullptr;
  const int count = dwarf_getscopes_die(&origin, &scopes);
  if (count > 1) declaration = OwnDeclaration(&scopes[1]);
  if (count > 0) free(scopes);
  return declaration;
}

// With the entry, whose rows may have no byte of code.
std::vector<FunctionExtent> CodeOf(Dwarf_Die* function) {
  std::vector<FunctionExtent> code = RangesOf(function, 0);
  Dwarf_Addr entry = 0;
  if (dwarf_entrypc(function, &entry) == 0) code.push_back({entry, entry + 1});
  return code;
}

// One for all copies of a function.
Dwarf_Off OriginOf(Dwarf_Die* function) {
  Dwarf_Attribute attribute;
  Dwarf_Die origin;
  return dwarf_formref_die(dwarf_attr(function, DW_AT_abstract_origin, &attribute), &origin) ==
                 nullptr
             ? dwarf_dieoffset(function)
             : dwarf_dieoffset(&origin);
}

// gcc marks statements where they begin, and not where their code goes on behind other code.
bool MarksStatements(Dwarf_Die* unit) {
  const char* producer = TextAttribute(unit, DW_AT_producer);
  return producer != nullptr && absl::StartsWith(producer, "GNU ");
}

bool NeverReturns(Dwarf_Die* call) {
  for (const unsigned origin : {DW_AT_call_origin, DW_AT_abstract_origin}) {
    Dwarf_Attribute attribute;
    Dwarf_Die function;
    if (dwarf_formref_die(dwarf_attr(call, origin, &attribute), &function) == nullptr) continue;
    bool flag = false;
    return dwarf_formflag(dwarf_attr_integrate(&function, DW_AT_noreturn, &attribute), &flag) ==
               0 &&
           flag;
  }
  return false;
}

}  // namespace

std::optional<LineScope> LineScope::AroundAddress(Dwarf_Die* unit, const LineRow& row,
                                                  Dwarf_Addr address) {
  LineScope scope;
  uint32_t line = row.line;
  for (Dwarf_Die& die : EntriesAround(unit, address)) {
    const bool is_copy = dwarf_tag(&die) == DW_TAG_inlined_subroutine;
    if (!is_copy && dwarf_tag(&die) != DW_TAG_subprogram) continue;
    const Declaration begin = DeclarationOf(&die);
    Level level = {die, begin.file, begin.line, begin.column, line};
    const auto call_line = static_cast<uint32_t>(NumberAttribute(&die, DW_AT_call_line));
    if (scope.levels_.empty()) {
      const bool holds_line = begin.file == row.file && begin.line != 0 && begin.line <= row.line;
      const bool is_of_line = call_line == row.line && CallFileOf(unit, &die) == row.file;
      if (is_copy && (!holds_line || is_of_line)) continue;
      scope.holds_line_ = holds_line;
      // As of code in an included file.
      if (!holds_line) level.first_line = 0;
      level.file = row.file;
    }
    scope.levels_.push_back(level);
    if (!is_copy) break;
    line = call_line;
  }
  if (scope.levels_.empty()) return std::nullopt;
  return scope;
}

// The end of a copy's code may lie behind what is said to be its code, where it leads to the end of
// the function around it.
std::optional<LineScope> LineScope::Around(Dwarf_Die* unit, const LineRow& row) {
  std::optional<LineScope> scope = AroundAddress(unit, row, row.address);
  if (scope.has_value() && !scope->holds_line_) {
    std::optional<LineScope> before = AroundAddress(unit, row, row.address - 1);
    if (before.has_value() && before->holds_line_) scope = std::move(before);
  }
  if (!scope.has_value()) return std::nullopt;
  scope->code_ = CodeOf(&scope->levels_.front().die);
  scope->code_.push_back({row.address, row.address + 1});
  scope->marks_statements_ = MarksStatements(unit);
  scope->FindAround();
  scope->FindNested();
  return scope;
}

void LineScope::FindAround() {
  const Level& own = levels_.front();
  const Dwarf_Off origin = OriginOf(&levels_.front().die);
  Level outermost = own;  // a part of a function may be a copy in another part of it
  for (Level& level : levels_) {
    if (OriginOf(&level.die) == origin) {
      outermost = level;
      continue;
    }
    around_.push_back(level);
    is_written_within_ |= level.file == own.file && level.first_line <= own.first_line &&
                          own.first_line <= level.line;
  }
  Dwarf_Addr entry = 0;
  if (dwarf_entrypc(&outermost.die, &entry) == 0) entries_.insert(entry);
}

std::pair<const void*, Dwarf_Off> LineScope::id() const {
  Dwarf_Die own = levels_.front().die;
  return {levels_.back().die.addr, OriginOf(&own)};
}

void LineScope::Add(const LineScope& other) {
  const auto add = [](const auto& from, auto* to) {
    to->insert(to->end(), from.begin(), from.end());
  };
  const bool is_known = levels_.front().die.addr == other.levels_.front().die.addr;
  add(other.code_, &code_);
  if (is_known) return;
  add(other.around_, &around_);
  add(other.nested_, &nested_);
  entries_.insert(other.entries_.begin(), other.entries_.end());
  is_written_within_ |= other.is_written_within_;
}

void LineScope::FindNested() {
  const Level& own = levels_.front();
  WalkCopies(&levels_.front().die, [this, &own](Dwarf_Die* copy) {
    const Declaration begin = DeclarationOf(copy);
    if (begin.line <= own.first_line || begin.line > own.line || begin.file != own.file) return;
    nested_.push_back({begin.line, CodeOf(copy)});
  });
}

bool LineScope::IsAround(const LineRow& row) const {
  return std::any_of(around_.begin(), around_.end(), [&](const Level& around) {
    return around.file == row.file && around.first_line <= row.line &&
           (row.line < around.line || (row.line == around.line && marks_statements_));
  });
}

// gcc marks the begin of a copy, too, and again where the copy's code goes on behind other code.
bool LineScope::IsMarkOfCopy(const LineRow& row) const {
  const Level& own = levels_.front();
  return levels_.size() > 1 && row.line == own.first_line && row.column == own.first_column;
}

std::optional<StatementRow::Place> LineScope::PlaceOf(const LineRow& row) const {
  const Level& own = levels_.front();
  const bool may_be_own =
      row.file == own.file && row.line >= own.first_line && IsIn(code_, row.address);
  if (may_be_own && row.line == own.line) return StatementRow::kAtLine;
  if (may_be_own && IsMarkOfCopy(row)) {
    return entries_.count(row.address) != 0 ? std::optional(StatementRow::kAbove) : std::nullopt;
  }
  const bool is_around = IsAround(row);
  if (!may_be_own) return is_around ? std::optional(StatementRow::kAbove) : std::nullopt;
  const bool is_nested = std::any_of(nested_.begin(), nested_.end(), [&row](const Nested& each) {
    return row.line >= each.first_line && IsIn(each.code, row.address);
  });
  if (is_nested) return std::nullopt;
  if (row.line < own.line) return StatementRow::kAbove;
  return is_around && !is_written_within_ ? StatementRow::kAbove : StatementRow::kBelow;
}

std::vector<FunctionExtent> LineScope::Code() const {
  Dwarf_Die function = levels_.back().die;
  return RangesOf(&function, 0);
}

std::optional<Dwarf_Addr> LineScope::Entry() const {
  Dwarf_Die function = levels_.back().die;
  Dwarf_Addr entry = 0;
  if (dwarf_entrypc(&function, &entry) != 0) return std::nullopt;
  return entry;
}

std::set<Dwarf_Addr> LineScope::BehindLastCalls() const {
  std::set<Dwarf_Addr> behind;
  Dwarf_Die function = levels_.back().die;
  WalkEntries(&function, [&behind](Dwarf_Die* die) {
    const int tag = dwarf_tag(die);
    if (tag != DW_TAG_call_site && tag != DW_TAG_GNU_call_site) return;
    Dwarf_Addr address = 0;
    Dwarf_Attribute attribute;
    const unsigned name = tag == DW_TAG_call_site ? DW_AT_call_return_pc : DW_AT_low_pc;
    if (dwarf_formaddr(dwarf_attr(die, name, &attribute), &address) != 0) return;
    if (NeverReturns(die)) behind.insert(address);
  });
  return behind;
}

}  // namespace coz::points
