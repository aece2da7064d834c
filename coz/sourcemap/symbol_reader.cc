// Tables of code without debug information: by the symbol table, or of a binary as a whole.
#include <algorithm>
#include <charconv>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "coz/sourcemap/dwarf/debug_file.h"
#include "coz/sourcemap/dwarf_reader.h"
#include "coz/sourcemap/line_table_builder.h"
#include "coz/sourcemap/unit_reader.h"

namespace coz::sourcemap {
namespace {

// Does not occur in names and hardly in paths.
constexpr char kSeparator = '\x1f';
constexpr char kBeforeCaller = '\x1e';
constexpr char kBehindCall = '\x1d';

absl::StatusOr<LineTableResult> Finish(const DebugFile& file, LineTableBuilder* builder) {
  builder->set_build_id(file.build_id());
  LineTableResult result;
  result.statistics.debug_path = file.debug_path();
  absl::StatusOr<std::string> image = builder->Build();
  if (!image.ok()) return image.status();
  result.image = *std::move(image);
  return result;
}

std::vector<FunctionSymbol> FunctionsOutsideUnits(const DebugFile& file) {
  std::vector<FunctionSymbol> symbols = file.FunctionSymbols();
  const std::vector<AddressRange> units = file.CodeOfUnits();
  const auto is_in_unit = [&units](const FunctionSymbol& symbol) {
    const auto after = std::upper_bound(
        units.begin(), units.end(), symbol.begin,
        [](uint64_t address, const AddressRange& unit) { return address < unit.begin; });
    return after != units.begin() && symbol.begin < std::prev(after)->end;
  };
  symbols.erase(std::remove_if(symbols.begin(), symbols.end(), is_in_unit), symbols.end());
  return symbols;
}

}  // namespace

std::string FunctionKey::Text() const {
  return absl::StrFormat("%s%c%s%c%d", name, kSeparator, file, kSeparator, line);
}

FunctionKey FunctionKey::FromText(std::string_view text) {
  FunctionKey key;
  const size_t first = text.find(kSeparator);
  const size_t last = text.rfind(kSeparator);
  key.name = text.substr(0, first);
  if (first == std::string_view::npos || first == last) return key;
  key.file = text.substr(first + 1, last - first - 1);
  std::from_chars(text.data() + last + 1, text.data() + text.size(), key.line);
  return key;
}

std::string PathKey::Caller::Text() const {
  return absl::StrFormat("%c%s%c%d%c%s", kBeforeCaller, file, kSeparator, line, kBehindCall,
                         function.Text());
}

PathKey PathKey::FromText(std::string_view text) {
  PathKey path;
  size_t end = text.find(kBeforeCaller);
  path.function = FunctionKey::FromText(text.substr(0, end));
  while (end != std::string_view::npos) {
    text.remove_prefix(end + 1);
    end = text.find(kBeforeCaller);
    const std::string_view caller = text.substr(0, end);
    const size_t behind_file = caller.find(kSeparator);
    const size_t behind_call = caller.find(kBehindCall);
    if (behind_file >= behind_call || behind_call == std::string_view::npos) continue;
    path.callers.emplace_back();
    path.callers.back().file = caller.substr(0, behind_file);
    std::from_chars(caller.data() + behind_file + 1, caller.data() + behind_call,
                    path.callers.back().line);
    path.callers.back().function = FunctionKey::FromText(caller.substr(behind_call + 1));
  }
  return path;
}

absl::StatusOr<LineTableResult> ReadSymbolTable(const std::string& path) {
  auto file = DebugFile::Open(path, "");
  if (absl::IsFailedPrecondition(file.status())) {
    file = DebugFile::Open(path, "", /*must_have_debug_info=*/false);
  }
  if (!file.ok()) return file.status();
  std::vector<FunctionSymbol> symbols = FunctionsOutsideUnits(**file);
  // Of several names of one place the one that covers most, then the first in the alphabet.
  std::sort(symbols.begin(), symbols.end(), [](const FunctionSymbol& a, const FunctionSymbol& b) {
    if (a.begin != b.begin) return a.begin < b.begin;
    return a.end != b.end ? a.end > b.end : std::string_view(a.name) < std::string_view(b.name);
  });
  MakeDisjoint(&symbols);
  if (symbols.empty()) {
    return absl::FailedPreconditionError(absl::StrFormat(
        "%s has neither debug information nor a symbol table, so its functions are not known; "
        "build it with -g or without -s, or profile with --unit=library",
        path));
  }
  LineTableBuilder builder;
  builder.SplitLinesByFunction();
  const uint32_t no_file = builder.AddString("");
  for (const FunctionSymbol& symbol : symbols) {
    FunctionKey key;
    key.name = ReadableName(symbol.name, nullptr);
    builder.AddInterval(symbol.begin, symbol.end, no_file, 1, builder.AddString(key.Text()));
  }
  return Finish(**file, &builder);
}

absl::StatusOr<LineTableResult> ReadWholeBinary(const std::string& path) {
  auto file = DebugFile::Open(path, "", /*must_have_debug_info=*/false);
  if (!file.ok()) return file.status();
  LineTableBuilder builder;
  const uint32_t file_id = builder.AddString(path);
  const uint32_t no_function = builder.AddString("");
  uint64_t covered_until = 0;
  for (const AddressRange& code : (*file)->code()) {
    const uint64_t begin = std::max(code.begin, covered_until);
    if (begin >= code.end) continue;
    builder.AddInterval(begin, code.end, file_id, 1, no_function);
    covered_until = code.end;
  }
  return Finish(**file, &builder);
}

}  // namespace coz::sourcemap
