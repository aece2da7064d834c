// Places of lines.
#include <elfutils/libdw.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <set>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "coz/points/code_places.h"
#include "coz/points/debug_entries.h"
#include "coz/points/line_begins.h"
#include "coz/points/line_scope.h"

namespace coz::points {

// What a binary has of a line and its file.
struct CodePlaces::LineSearch {
  std::set<std::string> files;          // all of the binary, as the compiler was given them
  std::set<std::string> files_of_line;  // that match, and have the line; absolute
  std::set<uint32_t> lines_of_file;
  std::set<uint64_t> begins;  // ELF addresses
  LineBegins sums;            // of all functions, without addresses
};

// The rows of a line in one function or copy, and that function.
struct CodePlaces::RowsOfScope {
  std::optional<LineScope> scope;
  std::vector<LineRow> rows;
};

namespace {

constexpr size_t kShownNames = 5;

// "main.cc" and "src/main.cc" name "/home/me/src/main.cc".
bool IsTailOfPath(absl::string_view part, absl::string_view path) {
  if (!absl::EndsWith(path, part)) return false;
  return path.size() == part.size() || part.front() == '/' ||
         path[path.size() - part.size() - 1] == '/';
}

// In a unit that was compiled in `folder`.
std::string AbsolutePath(const char* folder, absl::string_view file) {
  const std::filesystem::path name{std::string(file)};
  return (std::filesystem::path(folder == nullptr ? "" : folder) / name)
      .lexically_normal()
      .string();
}

// `file`: as the compiler was given it.
bool NamesFile(absl::string_view wanted, absl::string_view file, absl::string_view absolute) {
  return IsTailOfPath(wanted, file) || IsTailOfPath(wanted, absolute) ||
         IsTailOfPath(AbsolutePath(nullptr, wanted), absolute);
}

std::string BaseName(const std::string& path) {
  return std::filesystem::path(path).filename().string();
}

std::optional<LineRow> StatementAt(Dwarf_Line* row) {
  bool begins_statement = false;
  bool ends = false;
  int line = 0;
  int column = 0;
  LineRow found = {0, dwarf_linesrc(row, nullptr, nullptr), 0, 0};
  if (found.file == nullptr || dwarf_linebeginstatement(row, &begins_statement) != 0 ||
      dwarf_lineendsequence(row, &ends) != 0 || dwarf_lineno(row, &line) != 0 ||
      dwarf_lineaddr(row, &found.address) != 0 || ends || !begins_statement || line <= 0) {
    return std::nullopt;
  }
  found.line = static_cast<uint32_t>(line);
  if (dwarf_linecol(row, &column) == 0 && column > 0) found.column = static_cast<uint32_t>(column);
  return found;
}

// Ascending by address.
std::vector<LineRow> StatementsOf(Dwarf_Die* skeleton) {
  std::vector<LineRow> statements;
  Dwarf_Lines* lines = nullptr;
  size_t count = 0;
  if (dwarf_getsrclines(skeleton, &lines, &count) != 0) return statements;
  for (size_t i = 0; i < count; ++i) {
    const std::optional<LineRow> row = StatementAt(dwarf_onesrcline(lines, i));
    if (row.has_value()) statements.push_back(*row);
  }
  return statements;
}

// Those of the code, as seen from the line of the scope.
std::vector<StatementRow> SeenFrom(const LineScope& scope, const std::vector<LineRow>& statements,
                                   const std::vector<FunctionExtent>& code) {
  std::vector<StatementRow> seen;
  const auto lies_before = [](const LineRow& row, Dwarf_Addr address) {
    return row.address < address;
  };
  for (const FunctionExtent& part : code) {
    auto row = std::lower_bound(statements.begin(), statements.end(), part.begin, lies_before);
    for (; row != statements.end() && row->address < part.end; ++row) {
      const std::optional<StatementRow::Place> place = scope.PlaceOf(*row);
      if (place.has_value()) seen.push_back({row->address, *place, row->column});
    }
  }
  return seen;
}

}  // namespace

bool CodePlaces::CodeOf(uint64_t elf_address, size_t wanted_bytes, CodePart* part) const {
  size_t bytes = 0;
  const char* raw = elf_rawfile(elf_, &bytes);
  CodePlace place;
  if (raw == nullptr || !Locate(elf_address, &place) || place.file_offset >= bytes) return false;
  *part = {elf_address, reinterpret_cast<const uint8_t*>(raw) + place.file_offset,
           std::min<size_t>(wanted_bytes, bytes - place.file_offset)};
  return true;
}

void CodePlaces::FindBegins(const RowsOfScope& wanted, const std::vector<LineRow>& statements,
                            LineSearch* search) const {
  LineBegins begins;
  const std::optional<Dwarf_Addr> entry =
      wanted.scope.has_value() ? wanted.scope->Entry() : std::nullopt;
  if (entry.has_value()) {
    FunctionCode code = {
        {}, *entry, wanted.scope->BehindLastCalls(), wanted.scope->marks_statements()};
    const std::vector<FunctionExtent> ranges = wanted.scope->Code();
    for (const FunctionExtent& range : ranges) {
      CodePart part;
      if (!CodeOf(range.begin + dwarf_bias_, range.end - range.begin, &part)) continue;
      part.address = range.begin;
      code.parts.push_back(part);
    }
    begins = FindLineBegins(code, SeenFrom(*wanted.scope, statements, ranges));
  }
  // Code of an assembler, or without a known way to it: the line's first instruction. What the
  // compiler has moved to a cold part comes last, wherever it lies.
  if (begins.addresses.empty()) {
    const auto first = std::min_element(
        wanted.rows.begin(), wanted.rows.end(), [this](const LineRow& a, const LineRow& b) {
          const auto rank = [this](const LineRow& row) {
            return std::pair(FunctionAt(row.address + dwarf_bias_).empty(), row.address);
          };
          return rank(a) < rank(b);
        });
    begins.addresses.push_back(first->address);
  }
  for (const uint64_t address : begins.addresses) search->begins.insert(address + dwarf_bias_);
  search->sums.in_a_row += begins.in_a_row;
  search->sums.again += begins.again;
  search->sums.left_out += begins.left_out;
}

void CodePlaces::AddRow(const LineRow& row, const std::optional<LineScope>& scope,
                        RowsByScope* wanted) {
  const auto id = scope.has_value() ? scope->id() : std::pair<const void*, Dwarf_Off>(nullptr, 0);
  RowsOfScope& same = (*wanted)[id];
  same.rows.push_back(row);
  if (!same.scope.has_value()) {
    same.scope = scope;
  } else {
    same.scope->Add(*scope);
  }
}

void CodePlaces::SearchUnit(const PointSpec& spec, Dwarf_Die* unit, Dwarf_Die* skeleton,
                            LineSearch* search) const {
  const std::vector<LineRow> statements = StatementsOf(skeleton);
  const char* const own_folder = TextAttribute(skeleton, DW_AT_comp_dir);
  const char* const folder =
      own_folder != nullptr ? own_folder : TextAttribute(unit, DW_AT_comp_dir);
  RowsByScope wanted;
  const char* last_file = nullptr;
  std::string last_path;
  bool last_matches = false;
  for (const LineRow& row : statements) {
    if (row.file != last_file) {
      last_file = row.file;
      last_path = AbsolutePath(folder, row.file);
      last_matches = NamesFile(spec.file, row.file, last_path);
      search->files.insert(row.file);
    }
    // The linker leaves rows of functions that it has left out.
    if (!last_matches || !IsCode(row.address + dwarf_bias_)) continue;
    search->lines_of_file.insert(row.line);
    if (row.line != spec.line) continue;
    search->files_of_line.insert(last_path);
    AddRow(row, LineScope::Around(unit, row), &wanted);
  }
  for (const auto& [id, rows] : wanted) FindBegins(rows, statements, search);
}

absl::StatusOr<std::vector<CodePlace>> CodePlaces::FindLine(const PointSpec& spec,
                                                            std::string* note) const {
  if (dwarf_ == nullptr) {
    return absl::FailedPreconditionError(absl::StrFormat(
        "cannot find %s: %s has no debug information; build it with -g, or name a function",
        spec.text, path_));
  }
  LineSearch search;
  ForEachUnit(dwarf_, [&](Dwarf_Die* unit, Dwarf_Die* skeleton) {
    SearchUnit(spec, unit, skeleton, &search);
  });
  if (search.files_of_line.size() > 1) {
    return absl::InvalidArgumentError(
        absl::StrFormat("%s is a line of several files: %s; write more of the path", spec.text,
                        absl::StrJoin(search.files_of_line, ", ")));
  }
  std::vector<CodePlace> found;
  for (const uint64_t address : search.begins) {
    CodePlace place;
    place.name = FunctionAt(address);
    if (Locate(address, &place)) found.push_back(place);
  }
  if (found.empty()) return NoSuchLine(spec, search);
  *note = NoteOn(spec, search);
  return found;
}

std::string CodePlaces::NoteOn(const PointSpec& spec, const LineSearch& search) {
  const LineBegins& sums = search.sums;
  if (sums.left_out > 0) {
    return absl::StrFormat(
        "%s: %d copies of its begin, to which no line above leads, are taken for rounds of a loop "
        "that the line heads, and do not count; if the line is within the loop, count another one",
        spec.text, sums.left_out);
  }
  if (sums.in_a_row > 0) {
    return absl::StrFormat(
        "%s: %d copies of its begin follow one another without a jump, as in a loop that the "
        "compiler has unrolled, and each counts as a visit",
        spec.text, sums.in_a_row + 1);
  }
  if (sums.again > 0) {
    return absl::StrFormat(
        "%s: its code leads back to where it begins, as where a loop begins there, and each time "
        "counts as a visit",
        spec.text);
  }
  return "";
}

absl::Status CodePlaces::NoSuchLine(const PointSpec& spec, const LineSearch& search) const {
  if (search.lines_of_file.empty()) {
    std::set<std::string> names;
    for (const std::string& file : search.files) names.insert(BaseName(file));
    const std::vector<std::string> closest =
        ClosestMatches(BaseName(spec.file), {names.begin(), names.end()}, kShownNames);
    return absl::NotFoundError(absl::StrFormat(
        "no code of %s comes from a file %s%s", BaseName(path_), spec.file,
        closest.empty() ? "; write its name as the compiler was given it"
                        : absl::StrCat("; the closest are: ", absl::StrJoin(closest, ", "))));
  }
  const auto above = search.lines_of_file.upper_bound(spec.line);
  std::vector<std::string> nearest;
  if (above != search.lines_of_file.begin()) {
    nearest.push_back(absl::StrCat(spec.file, ":", *std::prev(above)));
  }
  if (above != search.lines_of_file.end()) {
    nearest.push_back(absl::StrCat(spec.file, ":", *above));
  }
  return absl::NotFoundError(
      absl::StrFormat("%s has no code of its own (blank, a declaration, or optimised away); the "
                      "nearest lines with code are %s",
                      spec.text, absl::StrJoin(nearest, " and ")));
}

}  // namespace coz::points
