#include "coz/sourcemap/dwarf_reader.h"

#include <dwarf.h>

#include <algorithm>
#include <map>
#include <utility>

#include "absl/status/status.h"
#include "coz/sourcemap/dwarf/debug_file.h"
#include "coz/sourcemap/go_functions.h"
#include "coz/sourcemap/go_sources.h"
#include "coz/sourcemap/line_table_builder.h"
#include "coz/sourcemap/source_files.h"
#include "coz/sourcemap/unit_reader.h"

namespace coz::sourcemap {
namespace {

constexpr int kProgressSteps = 200;

// Names code that has no function in the debug information, or one without a name: assembly, and
// what GCC has split with -flto, whose names it keeps nowhere.
class SymbolNames {
 public:
  explicit SymbolNames(const DebugFile& file) : file_(file) {}

  std::string NameAt(uint64_t elf_address) {
    if (!is_loaded_) symbols_ = file_.FunctionSymbols();
    is_loaded_ = true;
    const auto after = std::upper_bound(
        symbols_.begin(), symbols_.end(), elf_address,
        [](uint64_t address, const FunctionSymbol& symbol) { return address < symbol.begin; });
    if (after == symbols_.begin() || elf_address >= std::prev(after)->end) return "";
    return ReadableName(std::prev(after)->name, nullptr);
  }

 private:
  const DebugFile& file_;
  bool is_loaded_ = false;
  std::vector<FunctionSymbol> symbols_;
};

// Gives functions their ids in the builder's pool of strings.
class FunctionNames {
 public:
  FunctionNames(const DebugFile& file, TableDetail detail, const SourceFiles& sources,
                const InlinedCallers& callers, UnitReader* reader, LineTableBuilder* builder)
      : symbols_(file),
        detail_(detail),
        sources_(sources),
        callers_(callers),
        reader_(*reader),
        builder_(*builder) {}

  uint32_t IdOf(const LineInterval& line) {
    if (line.caller != kNoCaller) return PathIdOf(line);
    SourceFunction* function =
        detail_ == TableDetail::kOuterFunctions ? line.code_of : line.function;
    if (function != nullptr && function->name_id != 0xffffffff) return function->name_id;
    const std::string name = function == nullptr ? "" : reader_.NameOf(*function);
    // Inlined code is then of the symbol around it, so each line may have another.
    if (name.empty()) return builder_.AddString(Text(symbols_.NameAt(line.begin), {}));
    function->name_id = builder_.AddString(Text(name, function->declaration));
    return function->name_id;
  }

 private:
  uint32_t PathIdOf(const LineInterval& line) {
    const auto [entry, is_new] = path_ids_.try_emplace({line.function, line.caller}, 0);
    if (!is_new) return entry->second;
    const std::string name = line.function == nullptr ? "" : reader_.NameOf(*line.function);
    std::string text = name.empty() ? Text(symbols_.NameAt(line.begin), {})
                                    : Text(name, line.function->declaration);
    for (uint32_t i = line.caller; i != kNoCaller; i = callers_.at(i).caller) {
      const InlinedCaller& caller = callers_.at(i);
      PathKey::Caller key;
      key.function = Key(reader_.NameOf(*caller.function), caller.function->declaration);
      key.file = sources_.path(caller.call.file);
      key.line = caller.call.line;
      text += key.Text();
    }
    entry->second = builder_.AddString(text);
    return entry->second;
  }

  std::string Text(const std::string& name, const SourcePosition& declaration) const {
    return detail_ == TableDetail::kLines ? name : Key(name, declaration).Text();
  }

  FunctionKey Key(const std::string& name, const SourcePosition& declaration) const {
    FunctionKey key;
    key.name = name;
    if (declaration.file != kNoFile) key.file = sources_.path(declaration.file);
    key.line = declaration.line;
    return key;
  }

  SymbolNames symbols_;
  const TableDetail detail_;
  const SourceFiles& sources_;
  const InlinedCallers& callers_;
  UnitReader& reader_;
  LineTableBuilder& builder_;
  std::map<std::pair<const SourceFunction*, uint32_t>, uint32_t> path_ids_;
};

class Progress {
 public:
  explicit Progress(const std::function<void(double)>& callback) : callback_(callback) {}

  void Report(double fraction) {
    const int step = static_cast<int>(fraction * kProgressSteps);
    if (callback_ == nullptr || step <= last_step_) return;
    last_step_ = step;
    callback_(fraction);
  }

 private:
  const std::function<void(double)>& callback_;
  int last_step_ = -1;
};

// Nothing is Go's in other programs.
GoSources FindGoSources(const std::string& path, Dwarf* dwarf, UnitReader* reader) {
  GoSources sources;
  if (FindGoFunctions(path).bytes == 0) return sources;
  Dwarf_CU* unit = nullptr;
  Dwarf_Die die;
  while (dwarf_get_units(dwarf, unit, &unit, nullptr, nullptr, &die, nullptr) == 0) {
    for (const std::string& file : reader->PathsOf(die)) {
      if (sources.Note(file)) return sources;
    }
  }
  return sources;
}

void ReadUnits(Dwarf* dwarf, UnitReader* reader, Progress* progress) {
  const double info_bytes =
      std::max<double>(1, static_cast<double>(DebugSection(dwarf_getelf(dwarf), "info").size()));
  Dwarf_CU* unit = nullptr;
  uint8_t unit_type = 0;
  Dwarf_Die die;
  Dwarf_Die split;
  while (dwarf_get_units(dwarf, unit, &unit, nullptr, &unit_type, &die, &split) == 0) {
    reader->Read(die, split, unit_type);
    // Building the image is the last tenth.
    const double fraction = static_cast<double>(dwarf_dieoffset(&die)) / info_bytes;
    progress->Report(std::min(1.0, fraction) * 0.9);
  }
}

void CountSections(const DebugFile& file, ReadStatistics* statistics) {
  for (const std::string& name : UnreadableSections(dwarf_getelf(file.dwarf()))) {
    statistics->skipped.push_back(
        {"section in a compression that libelf does not support", 1, name, false});
  }
  size_t names = 0;
  Elf* elf = dwarf_getelf(file.dwarf());
  if (elf_getshdrstrndx(elf, &names) != 0 || dwarf_getalt(file.dwarf()) != nullptr) return;
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf, section)) != nullptr;) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr) continue;
    const char* name = elf_strptr(elf, names, header.sh_name);
    if (name == nullptr) continue;
    const std::string_view text = name;
    // .debug_sup is DWARF 5's own form of it, which this libdw may not know.
    if (text == ".gnu_debugaltlink" || text == ".debug_sup") {
      statistics->skipped.push_back(
          {"alternate debug file (dwz) that was not found", 1, file.debug_path(), true});
    }
  }
}

void AddLines(UnitReader* reader, const SourceFiles& sources, FunctionNames* functions,
              LineTableBuilder* builder, ReadStatistics* statistics) {
  constexpr uint32_t kUnknown = 0xffffffff;
  std::vector<uint32_t> file_ids;
  for (const LineInterval& line : reader->lines()) {
    const uint32_t file = line.position.file;
    if (file >= file_ids.size()) file_ids.resize(file + 1, kUnknown);
    if (file_ids[file] == kUnknown) {
      file_ids[file] = builder->AddString(sources.path(file));
      ++statistics->files_in_scope;
    }
    builder->AddInterval(line.begin, line.end, file_ids[file], line.position.line,
                         functions->IdOf(line));
    statistics->bytes_in_scope += line.end - line.begin;
  }
}

}  // namespace

absl::StatusOr<LineTableResult> ReadLineTable(const std::string& path, const SourceScope& scope,
                                              const ReadOptions& options) {
  auto file = DebugFile::Open(path, options.debug_search_path);
  if (!file.ok()) return file.status();
  LineTableResult result;
  ReadStatistics& statistics = result.statistics;
  statistics.debug_path = (*file)->debug_path();
  CountSections(**file, &statistics);

  Progress progress(options.progress);
  SourceFiles sources(scope);
  InlinedCallers callers;
  UnitReader reader(**file, &sources, &statistics,
                    options.detail == TableDetail::kPaths ? &callers : nullptr);
  sources.SetGoSources(FindGoSources(path, (*file)->dwarf(), &reader));
  ReadUnits((*file)->dwarf(), &reader, &progress);
  MakeDisjoint(&reader.lines());

  LineTableBuilder builder;
  builder.set_build_id((*file)->build_id());
  builder.set_scope_fingerprint(scope.Fingerprint());
  if (options.detail != TableDetail::kLines) builder.SplitLinesByFunction();
  FunctionNames functions(**file, options.detail, sources, callers, &reader, &builder);
  AddLines(&reader, sources, &functions, &builder, &statistics);
  auto image = builder.Build();
  if (!image.ok()) return image.status();
  result.image = *std::move(image);
  progress.Report(1.0);
  return result;
}

}  // namespace coz::sourcemap
