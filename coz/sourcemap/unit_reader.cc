#include "coz/sourcemap/unit_reader.h"

#include <dwarf.h>

#include <algorithm>
#include <utility>

#include "coz/base/symbol_name.h"

namespace coz::sourcemap {
namespace {

constexpr int kMaxOriginChain = 16;  // damaged references may form a ring

std::string_view StringAttribute(Dwarf_Die* die, unsigned attribute) {
  Dwarf_Attribute value;
  const char* text = dwarf_formstring(dwarf_attr(die, attribute, &value));
  return text == nullptr ? std::string_view() : text;
}

bool NumberAttribute(Dwarf_Die* die, unsigned attribute, uint64_t* number) {
  Dwarf_Attribute value;
  Dwarf_Word word;
  if (dwarf_formudata(dwarf_attr(die, attribute, &value), &word) != 0) return false;
  *number = word;
  return true;
}

// The DIE that holds what `die` itself does not say: its abstract instance or its declaration.
bool Origin(Dwarf_Die* die, Dwarf_Die* origin) {
  for (const unsigned attribute : {DW_AT_abstract_origin, DW_AT_specification}) {
    Dwarf_Attribute reference;
    if (dwarf_attr(die, attribute, &reference) == nullptr) continue;
    return dwarf_formref_die(&reference, origin) != nullptr;
  }
  return false;
}

SourcePosition PositionAttributes(Dwarf_Die* die, unsigned file_attribute, unsigned line_attribute,
                                  const std::vector<uint32_t>& files) {
  SourcePosition position;
  uint64_t file = 0;
  uint64_t line = 0;
  if (NumberAttribute(die, file_attribute, &file) && file < files.size()) {
    position.file = files[file];
  }
  if (NumberAttribute(die, line_attribute, &line)) position.line = static_cast<uint32_t>(line);
  return position;
}

// Names of template instances can reach hundreds of kilobytes; a report has no use for them.
std::string Shortened(std::string name) {
  constexpr size_t kMaxNameBytes = 1000;
  if (name.size() > kMaxNameBytes) name = name.substr(0, kMaxNameBytes - 3) + "...";
  return name;
}

}  // namespace

std::string ReadableName(const char* linkage_name, const char* name) {
  const std::string linkage(WithoutSymbolVersion(linkage_name == nullptr ? "" : linkage_name));
  std::string demangled = Demangled(linkage);
  if (!demangled.empty()) return Shortened(std::move(demangled));
  return Shortened(name != nullptr ? name : linkage);
}

void UnitReader::Skip(const std::string& reason, std::string_view example, bool may_appear) {
  for (SkippedPart& part : statistics_.skipped) {
    if (part.reason != reason) continue;
    ++part.count;
    return;
  }
  statistics_.skipped.push_back({reason, 1, std::string(example), may_appear});
}

void UnitReader::SkipSplit(Dwarf_Die* skeleton) {
  std::string reason = "split unit whose .dwo file is missing (lines only, no inlined calls";
  const std::string package = file_.split_package();
  if (!package.empty()) {
    reason += "; packages such as " + package + " are not read, so keep the .dwo files";
  }
  const char* const dwo = SplitFileOf(skeleton);
  Skip(reason + ")", dwo == nullptr ? "" : dwo, true);
}

const UnitReader::Sections& UnitReader::SectionsOf(Dwarf* dwarf) {
  const auto [entry, is_new] = sections_.try_emplace(dwarf);
  if (is_new) {
    Elf* elf = dwarf_getelf(dwarf);
    entry->second = {
        {DebugSection(elf, "line"), DebugSection(elf, "line_str"), DebugSection(elf, "str")},
        DebugSection(elf, "abbrev"),
        DebugSection(elf, "info")};
  }
  return entry->second;
}

UnitReader::FileIds UnitReader::Intern(const std::vector<std::string>& paths) {
  FileIds ids;
  ids.reserve(paths.size());
  for (const std::string& path : paths) ids.push_back(sources_.Add(path));
  return ids;
}

std::vector<std::string> UnitReader::PathsOf(Dwarf_Die unit) {
  uint64_t offset = 0;
  LineProgram program;
  if (!NumberAttribute(&unit, DW_AT_stmt_list, &offset) ||
      !program.ReadHeader(SectionsOf(dwarf_cu_getdwarf(unit.cu)).line, offset,
                          StringAttribute(&unit, DW_AT_comp_dir))) {
    return {};
  }
  return program.files();
}

const UnitReader::FileIds& UnitReader::FilesOf(Dwarf_CU* unit) {
  const auto [entry, is_new] = files_of_unit_.try_emplace(unit);
  if (!is_new) return entry->second;
  Dwarf_Die die;
  if (dwarf_cu_info(unit, nullptr, nullptr, &die, nullptr, nullptr, nullptr, nullptr) == 0) {
    entry->second = Intern(PathsOf(die));
  }
  return entry->second;
}

bool UnitReader::AnyInScope(const FileIds& files) const {
  return std::any_of(files.begin(), files.end(),
                     [this](uint32_t id) { return sources_.in_scope(id); });
}

// False for the addresses 0, 1 or the highest ones, which linkers put in place of dropped code.
bool UnitReader::IsCode(uint64_t elf_address) const {
  const auto& code = file_.code();
  auto after = std::upper_bound(
      code.begin(), code.end(), elf_address,
      [](uint64_t address, const AddressRange& range) { return address < range.begin; });
  return after != code.begin() && elf_address < std::prev(after)->end;
}

std::vector<RowInterval> UnitReader::ReadRows(LineProgram* program, const FileIds& files,
                                              std::string_view unit_name) {
  rows_.clear();
  if (!program->ReadRows(&rows_)) Skip("line table that is damaged", unit_name);
  statistics_.rows += rows_.size();
  std::vector<RowInterval> intervals;
  intervals.reserve(rows_.size());
  uint32_t sequence = 1;
  bool is_code = false;
  for (size_t i = 0; i + 1 < rows_.size(); ++i) {
    const bool starts_sequence = i == 0 || rows_[i - 1].end_sequence;
    const LineRow& row = rows_[i];
    if (row.end_sequence) {
      ++sequence;
      continue;
    }
    const uint64_t begin = row.address + file_.dwarf_bias();
    const uint64_t end = rows_[i + 1].address + file_.dwarf_bias();
    // All of a sequence lies in one section, so its first address speaks for it: a long function
    // that was dropped seems to reach from 0 into real code.
    if (starts_sequence) is_code = IsCode(begin);
    if (!is_code || begin >= end) continue;
    const uint32_t file = row.file < files.size() ? files[row.file] : kNoFile;
    intervals.push_back({begin, end, {file, row.line}, sequence});
  }
  MakeDisjoint(&intervals);
  return intervals;
}

// Collects names and declaration from `die` and what it refers to; what comes first is the most
// specific.
void UnitReader::Describe(Dwarf_Die die, SourceFunction* function) {
  for (int i = 0; i < kMaxOriginChain; ++i) {
    if (function->linkage_name == nullptr) {
      std::string_view name = StringAttribute(&die, DW_AT_linkage_name);
      if (name.empty()) name = StringAttribute(&die, DW_AT_MIPS_linkage_name);
      if (!name.empty()) function->linkage_name = name.data();
    }
    if (function->name == nullptr) {
      const std::string_view name = StringAttribute(&die, DW_AT_name);
      if (!name.empty()) {
        function->name = name.data();
        function->name_die = die.addr;
      }
    }
    // A definition repeats only what differs from its declaration: often the line without the file.
    const SourcePosition declared =
        PositionAttributes(&die, DW_AT_decl_file, DW_AT_decl_line, FilesOf(die.cu));
    SourcePosition& declaration = function->declaration;
    if (declaration.file == kNoFile) declaration.file = declared.file;
    if (declaration.line == 0) declaration.line = declared.line;
    Dwarf_Die origin;
    if (!Origin(&die, &origin)) return;
    die = origin;
  }
}

SourceFunction* UnitReader::FunctionOf(Dwarf_Die* die) {
  Dwarf_Die origin;
  const Dwarf_Die key = Origin(die, &origin) ? origin : *die;
  const auto [entry, is_new] = functions_.try_emplace(key.addr);
  if (is_new) Describe(*die, &entry->second);
  return &entry->second;
}

uint32_t UnitReader::AddInstance(bool is_inlined_call, Dwarf_Die* die, uint32_t parent,
                                 const FileIds& files) {
  SourcePosition call;
  if (is_inlined_call) {
    call = PositionAttributes(die, DW_AT_call_file, DW_AT_call_line, files);
    ++statistics_.inlined_calls;
  } else {
    ++statistics_.functions;
  }
  const uint32_t instance = tree_.Add(parent, call, FunctionOf(die));
  Dwarf_Addr base = 0;
  Dwarf_Addr begin = 0;
  Dwarf_Addr end = 0;
  ptrdiff_t offset = 0;
  while ((offset = dwarf_ranges(die, offset, &base, &begin, &end)) > 0) {
    const uint64_t elf_begin = begin + file_.dwarf_bias();
    if (IsCode(elf_begin)) tree_.AddRange(instance, elf_begin, end + file_.dwarf_bias());
  }
  return instance;
}

// From the unit's first DIE to its end.
std::string_view UnitReader::BytesOf(Dwarf_Die unit) {
  const std::string_view info = SectionsOf(dwarf_cu_getdwarf(unit.cu)).info;
  const uint64_t die_offset = dwarf_dieoffset(&unit);
  // dwarf_cuoffset is the distance from the unit's header.
  const uint64_t header_offset = die_offset - dwarf_cuoffset(&unit);
  if (die_offset > info.size() || header_offset > die_offset) return {};
  ByteReader header(info.substr(header_offset));
  uint8_t offset_bytes;
  const uint64_t unit_bytes = header.InitialLength(&offset_bytes);
  if (!header.ok() || unit_bytes > header.left() || info.data() + die_offset != unit.addr)
    return {};
  const uint64_t end = static_cast<uint64_t>(header.position() - info.data()) + unit_bytes;
  return end < die_offset ? std::string_view() : info.substr(die_offset, end - die_offset);
}

bool UnitReader::ReadTree(Dwarf_Die unit) {
  tree_.Clear();
  UnitEncoding encoding;
  Dwarf_Off abbreviations_offset = 0;
  Dwarf_Die unit_die;
  if (dwarf_cu_die(unit.cu, &unit_die, &encoding.version, &abbreviations_offset,
                   &encoding.address_bytes, &encoding.offset_bytes, nullptr, nullptr) == nullptr) {
    return false;
  }
  const std::string_view bytes = BytesOf(unit);
  DieScanner scanner;
  if (bytes.empty() ||
      !scanner.ReadAbbreviations(SectionsOf(dwarf_cu_getdwarf(unit.cu)).abbreviations,
                                 abbreviations_offset, encoding)) {
    return false;
  }
  const FileIds& files = FilesOf(unit.cu);
  // The instances around the DIE at hand, with their depths in the tree of DIEs.
  std::vector<std::pair<uint32_t, uint32_t>> open;
  scopes_.StartUnit();
  const auto visit = [&](const DieScanner::Kind& kind, const char* address, uint32_t depth) {
    Dwarf_Die die = {};
    die.addr = const_cast<char*>(address);
    die.cu = unit.cu;
    if (kind.is_local_name) scopes_.AddName(address, depth);
    if (kind.is_scope) scopes_.OpenScope(die, depth);
    if (!kind.is_code) return;
    while (!open.empty() && open.back().first >= depth) open.pop_back();
    const bool is_root = !kind.is_inlined_call || open.empty();
    const uint32_t parent = is_root ? kNoInstance : open.back().second;
    open.emplace_back(depth, AddInstance(kind.is_inlined_call, &die, parent, files));
  };
  return scanner.Scan(bytes, visit);
}

std::string UnitReader::NameOf(const SourceFunction& function) {
  std::string name = ReadableName(function.linkage_name, function.name);
  if (function.linkage_name != nullptr || function.name_die == nullptr) return name;
  std::string qualified;
  for (Dwarf_Die scope : scopes_.Around(function.name_die)) {
    const int tag = dwarf_tag(&scope);
    if (tag == DW_TAG_subprogram) {
      const SourceFunction& around = *FunctionOf(&scope);
      // Its own name holds the scopes further out.
      if (around.linkage_name != nullptr) qualified.clear();
      qualified += ReadableName(around.linkage_name, around.name);
    } else {
      const char* scope_name = dwarf_diename(&scope);
      // Compilers give a lambda's class no name.
      qualified += scope_name != nullptr     ? scope_name
                   : tag == DW_TAG_namespace ? "(anonymous namespace)"
                   : name == "operator()"    ? "{lambda}"
                                             : "(anonymous class)";
    }
    qualified += "::";
  }
  return Shortened(qualified + name);
}

void UnitReader::Read(Dwarf_Die unit, Dwarf_Die split, uint8_t unit_type) {
  const int tag = dwarf_tag(&unit);
  if (tag != DW_TAG_compile_unit && tag != DW_TAG_skeleton_unit) return;
  ++statistics_.units;
  const bool has_split = split.addr != nullptr;
  const std::string_view name = StringAttribute(has_split ? &split : &unit, DW_AT_name);
  uint64_t line_offset = 0;
  if (!NumberAttribute(&unit, DW_AT_stmt_list, &line_offset)) {
    if (dwarf_hasattr(&unit, DW_AT_low_pc) || dwarf_hasattr(&unit, DW_AT_ranges)) {
      Skip("compilation unit without a line table", name);
    }
    return;
  }
  LineProgram program;
  std::string_view folder = StringAttribute(&unit, DW_AT_comp_dir);
  if (folder.empty() && has_split) folder = StringAttribute(&split, DW_AT_comp_dir);
  if (!program.ReadHeader(SectionsOf(dwarf_cu_getdwarf(unit.cu)).line, line_offset, folder)) {
    Skip("line table that cannot be decoded", name);
    return;
  }
  const FileIds& files =
      files_of_unit_.insert_or_assign(unit.cu, Intern(program.files())).first->second;
  if (!AnyInScope(files)) {
    ++statistics_.units_out_of_scope;
    if (statistics_.example_out_of_scope.empty()) statistics_.example_out_of_scope = name;
    return;
  }
  Dwarf_Die code = unit;
  if (has_split) {
    // A .dwo file may have its own list of files; otherwise its attributes mean the skeleton's.
    LineProgram split_program;
    const bool has_files =
        split_program.ReadHeader(SectionsOf(dwarf_cu_getdwarf(split.cu)).line, 0, folder);
    files_of_unit_.insert_or_assign(split.cu, has_files ? Intern(split_program.files()) : files);
    code = split;
  } else if (unit_type == DW_UT_skeleton) {
    SkipSplit(&unit);
  }
  // Node-based map: `files` stayed where it was.
  const std::vector<RowInterval> rows = ReadRows(&program, files, name);
  if (!ReadTree(code)) Skip("compilation unit whose DIEs are damaged", name);
  const auto is_in_scope = [this](uint32_t file) { return sources_.in_scope(file); };
  Attribution(&tree_, is_in_scope, callers_).Run(rows, &lines_);
}

}  // namespace coz::sourcemap
