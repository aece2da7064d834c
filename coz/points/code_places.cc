#include "coz/points/code_places.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <gelf.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <set>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "coz/base/split_package.h"
#include "coz/base/symbol_name.h"
#include "coz/points/debug_entries.h"
#include "coz/points/instruction_length.h"

namespace coz::points {

// A copy of a function in another one.
struct CodePlaces::InlinedCall {
  std::string function;
  std::string file;
  uint32_t line;
  uint64_t entry;  // ELF address of the copy's first instruction; 0: not known
  std::vector<FunctionExtent> code;
};

namespace {

constexpr size_t kShownNames = 5;
constexpr char kEndbr64[] = "\xf3\x0f\x1e\xfa";

std::string BaseName(const std::string& path) {
  return std::filesystem::path(path).filename().string();
}

std::string Demangle(const std::string& name) {
  std::string demangled = Demangled(name);
  return demangled.empty() ? name : demangled;
}

// Parts of functions that the compiler has moved away are jumped to, not called.
bool IsColdPart(absl::string_view linkage_name) {
  return absl::StrContains(linkage_name, ".cold") || absl::StrContains(linkage_name, ".part.");
}

// Whether a jump from the code leads to `target`, or it is not known. Both are counted from the
// code's begin, as is what `is_asked` is given: which jumps matter, by where they are.
template <typename Predicate>
bool MayJumpTo(uint64_t target, const uint8_t* code, size_t bytes, Predicate is_asked) {
  for (size_t at = 0; at < bytes;) {
    const std::optional<int64_t> jump = DistanceOfJump(code + at, bytes - at);
    if (jump.has_value() && at + static_cast<uint64_t>(*jump) == target && is_asked(at))
      return true;
    const size_t length = InstructionLength(code + at, bytes - at);
    if (length == 0) return true;
    at += length;
  }
  return false;
}

// Where the debug information says so, else the first range; 0: not known.
uint64_t EntryOf(Dwarf_Die* die, const std::vector<FunctionExtent>& code, uint64_t bias) {
  Dwarf_Addr entry = 0;
  if (dwarf_entrypc(die, &entry) == 0) return entry + bias;
  return code.empty() ? 0 : code.front().begin;
}

// The part of memory with this right (PF_*) that the file says to hold the address.
std::optional<GElf_Phdr> SegmentOf(Elf* elf, uint64_t elf_address, uint32_t right) {
  size_t segments = 0;
  if (elf_getphdrnum(elf, &segments) != 0) return std::nullopt;
  for (size_t i = 0; i < segments; ++i) {
    GElf_Phdr header;
    if (gelf_getphdr(elf, static_cast<int>(i), &header) == nullptr) continue;
    if (header.p_type == PT_LOAD && (header.p_flags & right) != 0 &&
        elf_address >= header.p_vaddr && elf_address - header.p_vaddr < header.p_memsz) {
      return header;
    }
  }
  return std::nullopt;
}

bool IsStripped(Elf* elf) {
  for (Elf_Scn* section = elf_nextscn(elf, nullptr); section != nullptr;
       section = elf_nextscn(elf, section)) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) != nullptr && header.sh_type == SHT_SYMTAB) return false;
  }
  return true;
}

}  // namespace

absl::StatusOr<std::unique_ptr<CodePlaces>> CodePlaces::Open(const std::string& path) {
  std::unique_ptr<CodePlaces> places(new CodePlaces);
  places->path_ = path;
  places->callbacks_.find_elf = dwfl_build_id_find_elf;
  places->callbacks_.find_debuginfo = dwfl_standard_find_debuginfo;
  places->callbacks_.section_address = dwfl_offline_section_address;
  places->dwfl_ = dwfl_begin(&places->callbacks_);
  places->module_ = dwfl_report_offline(places->dwfl_, "", path.c_str(), -1);
  dwfl_report_end(places->dwfl_, nullptr, nullptr);
  places->elf_ = places->module_ == nullptr
                     ? nullptr
                     : dwfl_module_getelf(places->module_, &places->elf_bias_);
  if (places->elf_ == nullptr) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "cannot read %s as an ELF file: %s; see `file %s`", path, dwfl_errmsg(-1), path));
  }
  Dwarf_Addr bias = 0;
  places->dwarf_ = dwfl_module_getdwarf(places->module_, &bias);
  places->dwarf_bias_ = bias - places->elf_bias_;
  places->ReadFunctions();
  return places;
}

CodePlaces::~CodePlaces() {
  if (dwfl_ != nullptr) dwfl_end(dwfl_);
}

void CodePlaces::ReadFunctions() {
  const int count = dwfl_module_getsymtab(module_);
  for (int i = 0; i < count; ++i) {
    GElf_Sym symbol;
    GElf_Addr address;
    const char* name =
        dwfl_module_getsym_info(module_, i, &symbol, &address, nullptr, nullptr, nullptr);
    if (name == nullptr || symbol.st_shndx == SHN_UNDEF) continue;
    const int type = GELF_ST_TYPE(symbol.st_info);
    if (type == STT_FUNC || type == STT_NOTYPE || type == STT_GNU_IFUNC)
      code_starts_.push_back(address - elf_bias_);
    if (type != STT_FUNC || IsColdPart(name)) continue;
    const std::string linkage_name(WithoutSymbolVersion(name));
    functions_.push_back({address - elf_bias_, address - elf_bias_ + symbol.st_size, linkage_name,
                          Demangle(linkage_name)});
  }
  std::sort(code_starts_.begin(), code_starts_.end());
  std::stable_sort(functions_.begin(), functions_.end(),
                   [](const Function& a, const Function& b) { return a.begin < b.begin; });
}

bool CodePlaces::Locate(uint64_t elf_address, CodePlace* place) const {
  const std::optional<GElf_Phdr> segment = SegmentOf(elf_, elf_address, PF_X);
  if (!segment.has_value() || elf_address - segment->p_vaddr >= segment->p_filesz) return false;
  place->elf_address = elf_address;
  place->file_offset = elf_address - segment->p_vaddr + segment->p_offset;
  place->probe_offset = place->file_offset;
  place->resume_offset = 0;
  LocateFunction(segment->p_vaddr + segment->p_filesz, place);
  size_t bytes = 0;
  const char* raw = elf_rawfile(elf_, &bytes);
  if (raw != nullptr && place->file_offset + 4 <= bytes &&
      memcmp(raw + place->file_offset, kEndbr64, 4) == 0) {
    place->probe_offset += 4;
  }
  if (raw == nullptr || place->probe_offset >= bytes) return true;
  const std::optional<int64_t> next = DistanceToNext(
      reinterpret_cast<const uint8_t*>(raw) + place->probe_offset, bytes - place->probe_offset);
  if (next.has_value()) place->resume_offset = place->probe_offset + static_cast<uint64_t>(*next);
  return true;
}

const std::vector<FunctionExtent>& CodePlaces::FrameExtents() const {
  if (frame_extents_.has_value()) return *frame_extents_;
  frame_extents_.emplace();
  size_t names = 0;
  if (elf_getshdrstrndx(elf_, &names) != 0) return *frame_extents_;
  for (Elf_Scn* section = elf_nextscn(elf_, nullptr); section != nullptr;
       section = elf_nextscn(elf_, section)) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr) continue;
    const char* name = elf_strptr(elf_, names, header.sh_name);
    if (name == nullptr || strcmp(name, ".eh_frame") != 0) continue;
    const Elf_Data* data = elf_rawdata(section, nullptr);
    if (data == nullptr || data->d_buf == nullptr) continue;
    *frame_extents_ =
        ReadFunctionExtents({static_cast<const char*>(data->d_buf), data->d_size}, header.sh_addr);
  }
  return *frame_extents_;
}

// By symbols; where there are none, by what unwinders know.
FunctionExtent CodePlaces::ExtentAround(uint64_t elf_address) const {
  const auto after = std::upper_bound(
      functions_.begin(), functions_.end(), elf_address,
      [](uint64_t address, const Function& function) { return address < function.begin; });
  FunctionExtent extent = {0, 0};
  // Of several names for one address the longest function.
  for (auto same = after; same != functions_.begin(); --same) {
    const Function& function = *(same - 1);
    if (function.begin != (after - 1)->begin) break;
    extent = {function.begin, std::max(extent.end, function.end)};
  }
  if (elf_address < extent.end) return extent;
  const std::vector<FunctionExtent>& frames = FrameExtents();
  const auto frame = std::upper_bound(
      frames.begin(), frames.end(), elf_address,
      [](uint64_t address, const FunctionExtent& other) { return address < other.begin; });
  if (frame == frames.begin() || elf_address >= (frame - 1)->end) return {0, 0};
  return *(frame - 1);
}

void CodePlaces::LocateFunction(uint64_t segment_end, CodePlace* place) const {
  place->function_bytes = 0;
  const FunctionExtent extent = ExtentAround(place->elf_address);
  if (extent.end == 0) return;
  const auto [begin, end] = extent;
  constexpr uint64_t kAlignment = 16;
  constexpr uint64_t kMostBehind = 8;
  uint64_t room_end = std::min(segment_end, (end + kAlignment - 1) & ~(kAlignment - 1));
  const auto next = std::upper_bound(code_starts_.begin(), code_starts_.end(), begin);
  if (next != code_starts_.end()) room_end = std::min(room_end, *next);
  if (room_end < end) return;  // code overlaps, or has labels
  // What follows may have no symbol.
  const std::vector<FunctionExtent>& frames = FrameExtents();
  const auto other = std::upper_bound(
      frames.begin(), frames.end(), begin,
      [](uint64_t address, const FunctionExtent& frame) { return address < frame.begin; });
  if (other != frames.end()) room_end = std::min(room_end, std::max(end, other->begin));
  place->function_offset = place->file_offset - (place->elf_address - begin);
  place->function_bytes = end - begin;
  place->function_room = room_end - begin;
  place->function_behind = std::min(segment_end - room_end, kMostBehind);
}

bool CodePlaces::has_restartable_code() const {
  size_t names = 0;
  if (elf_getshdrstrndx(elf_, &names) != 0) return true;
  for (Elf_Scn* section = elf_nextscn(elf_, nullptr); section != nullptr;
       section = elf_nextscn(elf_, section)) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr) continue;
    const char* name = elf_strptr(elf_, names, header.sh_name);
    if (name != nullptr && absl::StrContains(name, "__rseq_cs")) return true;
  }
  return false;
}

bool CodePlaces::PlaceOf(const Function& function, CodePlace* place) const {
  place->name = function.name;
  return Locate(function.begin, place);
}

std::string CodePlaces::LineOf(const Function& function) const {
  Dwfl_Line* row = dwfl_module_getsrc(module_, function.begin + elf_bias_);
  int line = 0;
  const char* file =
      row == nullptr ? nullptr : dwfl_lineinfo(row, nullptr, &line, nullptr, nullptr, nullptr);
  return file == nullptr || line <= 0 ? "" : absl::StrCat(BaseName(file), ":", line);
}

std::string CodePlaces::FunctionAt(uint64_t elf_address) const {
  const auto after = std::upper_bound(
      functions_.begin(), functions_.end(), elf_address,
      [](uint64_t address, const Function& function) { return address < function.begin; });
  if (after == functions_.begin()) return "";
  const Function& function = *(after - 1);
  return elf_address < function.end ? function.name : "";
}

absl::StatusOr<std::vector<CodePlace>> CodePlaces::Find(const PointSpec& spec,
                                                        InlinedCopies inlined,
                                                        std::string* note) const {
  note->clear();
  if (!spec.provider.empty()) return FindProbe(spec);
  return spec.file.empty() ? FindFunction(spec, inlined, note) : FindLine(spec, note);
}

absl::StatusOr<std::vector<CodePlace>> CodePlaces::FindFunction(const PointSpec& spec,
                                                                InlinedCopies inlined,
                                                                std::string* note) const {
  std::vector<CodePlace> found;
  for (const Function& function : functions_) {
    if (!MatchesFunction(spec.function, function.linkage_name, function.name)) continue;
    // One address may have several names: constructors, identical code.
    if (!found.empty() && found.back().elf_address == function.begin) continue;
    CodePlace place;
    if (PlaceOf(function, &place)) found.push_back(place);
  }
  std::vector<InlinedCall> calls = InlinedCalls(spec);
  if (inlined == InlinedCopies::kFind && !IsGlob(spec.function)) FindCopies(&calls, &found);
  if (found.empty() && !calls.empty()) return InlinedEverywhere(spec, inlined, calls);
  if (found.empty()) return NoSuchFunction(spec);
  if (!calls.empty()) {
    *note = absl::StrFormat(
        "%s: calls that were inlined are not counted: %d of them, the first at %s:%d in %s",
        spec.text, calls.size(), calls[0].file, calls[0].line, calls[0].function);
  }
  return found;
}

void CodePlaces::FindCopies(std::vector<InlinedCall>* calls, std::vector<CodePlace>* found) const {
  const auto is_found = [&](const InlinedCall& call) {
    CodePlace place;
    if (!PlaceOfCopy(call, &place)) return false;
    const bool is_known = std::any_of(found->begin(), found->end(), [&](const CodePlace& other) {
      return other.elf_address == place.elf_address;
    });
    if (!is_known) found->push_back(place);
    return true;
  };
  calls->erase(std::remove_if(calls->begin(), calls->end(), is_found), calls->end());
}

// A range may begin with padding: that is jumped over, or that leads into a loop of the function
// around, of which each round enters the copy. `place` is that of the range's begin.
uint64_t CodePlaces::EntryBehindPadding(const InlinedCall& call, const CodePlace& place,
                                        const uint8_t* file, size_t file_bytes) {
  const uint64_t behind =
      call.entry + PaddingLength(file + place.file_offset, file_bytes - place.file_offset);
  if (behind == call.entry || place.function_bytes == 0) return behind;
  const uint8_t* const function = file + place.function_offset;
  const uint64_t before = place.file_offset - place.function_offset;
  const uint64_t begin = call.entry - before;
  if (!ReachesEnd(function, before)) return behind;
  const bool is_head_around =
      MayJumpTo(behind - begin, function, place.function_bytes, [&call, begin](size_t at) {
        return std::none_of(call.code.begin(), call.code.end(), [&](const FunctionExtent& part) {
          return part.begin <= begin + at && begin + at < part.end;
        });
      });
  return is_head_around ? behind : call.entry;
}

// False where the copy begins with a loop, whose first instruction runs more than once a call, and
// where it begins in a cold part.
bool CodePlaces::PlaceOfCopy(const InlinedCall& call, CodePlace* place) const {
  size_t bytes = 0;
  const char* raw = elf_rawfile(elf_, &bytes);
  if (call.entry == 0 || call.function.empty() || raw == nullptr || !Locate(call.entry, place) ||
      place->file_offset >= bytes) {
    return false;
  }
  const auto* file = reinterpret_cast<const uint8_t*>(raw);
  const uint64_t entry = EntryBehindPadding(call, *place, file, bytes);
  const uint64_t to_file = place->file_offset - call.entry;
  const auto any = [](size_t) { return true; };
  for (const auto& [begin, end] : call.code) {
    if (end < begin || begin + to_file >= bytes || end + to_file > bytes) return false;
    if (MayJumpTo(entry - begin, file + begin + to_file, end - begin, any)) return false;
  }
  place->name = call.function;
  return Locate(entry, place);
}

std::vector<CodePlaces::InlinedCall> CodePlaces::InlinedCalls(const PointSpec& spec) const {
  std::vector<InlinedCall> calls;
  if (dwarf_ == nullptr) return calls;
  std::map<Dwarf_Off, bool> matches;  // by the function's abstract DIE
  ForEachUnit(dwarf_, [&](Dwarf_Die* unit, Dwarf_Die*) {
    Dwarf_Files* files = nullptr;
    size_t file_count = 0;
    dwarf_getsrcfiles(unit, &files, &file_count);
    WalkCopies(unit, [&](Dwarf_Die* call) {
      Dwarf_Attribute attribute;
      Dwarf_Die origin;
      if (dwarf_formref_die(dwarf_attr(call, DW_AT_abstract_origin, &attribute), &origin) ==
          nullptr) {
        return;
      }
      const auto [it, added] = matches.try_emplace(dwarf_dieoffset(&origin), false);
      if (added) {
        const char* linkage_name = TextAttribute(&origin, DW_AT_linkage_name);
        const char* name = linkage_name != nullptr ? linkage_name : dwarf_diename(&origin);
        it->second = name != nullptr && MatchesFunction(spec.function, name, Demangle(name));
      }
      if (!it->second) return;
      const char* file =
          dwarf_filesrc(files, NumberAttribute(call, DW_AT_call_file), nullptr, nullptr);
      std::vector<FunctionExtent> code = RangesOf(call, dwarf_bias_);
      const uint64_t entry = EntryOf(call, code, dwarf_bias_);
      calls.push_back({FunctionAt(entry), file == nullptr ? "?" : BaseName(file),
                       static_cast<uint32_t>(NumberAttribute(call, DW_AT_call_line)), entry,
                       std::move(code)});
    });
  });
  return calls;
}

// What is not known for want of .dwo files, as the middle of a sentence; else empty.
std::string CodePlaces::WithoutSplits() const {
  if (dwarf_ == nullptr) return "";
  Dwarf_CU* unit = nullptr;
  Dwarf_Die die;
  Dwarf_Die split;
  uint8_t type = 0;
  while (dwarf_get_units(dwarf_, unit, &unit, nullptr, &type, &die, &split) == 0) {
    if (type != DW_UT_skeleton || split.addr != nullptr) continue;
    const std::string package = SplitPackageOf(path_);
    return absl::StrCat(
        ", and which are inlined is not known, as .dwo files are missing",
        package.empty() ? "" : absl::StrCat(" (keep them: ", package, " is not read)"));
  }
  return "";
}

absl::Status CodePlaces::InlinedEverywhere(const PointSpec& spec, InlinedCopies inlined,
                                           const std::vector<InlinedCall>& calls) const {
  if (functions_.empty()) return NoSymbols(spec);
  std::set<std::string> lines;
  for (const InlinedCall& call : calls) {
    if (lines.size() < kShownNames) lines.insert(absl::StrCat(call.file, ":", call.line));
  }
  // All code of a call may be that of lines of the function.
  std::vector<std::string> places;
  for (const std::string& line : lines) {
    std::string note;
    const absl::StatusOr<PointSpec> place = ParsePointSpec(line);
    if (place.ok() && FindLine(*place, &note).ok()) places.push_back("--progress=" + line);
  }
  const std::string advice =
      places.empty() ? absl::StrCat("; the first call is in line ", *lines.begin(),
                                    ", which has no code of its own either")
                     : absl::StrCat(inlined == InlinedCopies::kFind
                                        ? "; count one of the calls instead: "
                                        : ", or make one of the calls a progress point: ",
                                    absl::StrJoin(places, " or "));
  return absl::FailedPreconditionError(absl::StrCat(
      spec.function, " is inlined wherever it is called (calls: ", calls.size(),
      ") and has no code of its own",
      places.empty() || inlined == InlinedCopies::kLeave
          ? "; keep it from being inlined (__attribute__((noinline)), #[inline(never)])"
          : "",
      advice));
}

absl::Status CodePlaces::NoSymbols(const PointSpec& spec) const {
  return absl::FailedPreconditionError(
      absl::StrFormat("cannot find %s in %s, which has no symbols (stripped); link it without -s "
                      "and do not strip it",
                      spec.function, path_));
}

absl::Status CodePlaces::NoSuchFunction(const PointSpec& spec) const {
  if (functions_.empty()) return NoSymbols(spec);
  std::vector<std::string> names;
  // Mangled (C++, Rust) or readable, like the wanted name.
  const bool is_mangled =
      absl::StartsWith(spec.function, "_Z") || absl::StartsWith(spec.function, "_R");
  for (const Function& function : functions_) {
    names.push_back(is_mangled ? function.linkage_name : WithoutParameters(function.name));
  }
  const std::vector<std::string> closest = ClosestMatches(spec.function, names, kShownNames);
  const bool is_stripped = IsStripped(elf_);
  return absl::NotFoundError(absl::StrFormat(
      "no function of %s is called %s%s%s", BaseName(path_), spec.function, WithoutSplits(),
      closest.empty() ? absl::StrFormat("; list %s with: nm %s %s | grep -i ' t '",
                                        is_stripped ? "those that it exports" : "them",
                                        is_stripped ? "-DC" : "-C", path_)
                      : absl::StrCat("; the closest are: ", absl::StrJoin(closest, ", "))));
}

std::vector<UsdtPlace> CodePlaces::Probes() const {
  size_t names = 0;
  if (elf_getshdrstrndx(elf_, &names) != 0) return {};
  std::vector<Elf_Data*> notes;
  std::optional<uint64_t> base;
  for (Elf_Scn* section = elf_nextscn(elf_, nullptr); section != nullptr;
       section = elf_nextscn(elf_, section)) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr) continue;
    const char* name = elf_strptr(elf_, names, header.sh_name);
    if (name == nullptr) continue;
    if (strcmp(name, ".stapsdt.base") == 0) base = header.sh_addr;
    Elf_Data* data = strcmp(name, ".note.stapsdt") == 0 ? elf_rawdata(section, nullptr) : nullptr;
    if (data != nullptr && data->d_buf != nullptr) notes.push_back(data);
  }
  std::vector<UsdtPlace> probes;
  for (const Elf_Data* data : notes) {
    for (UsdtPlace& place :
         ReadUsdtNotes({static_cast<const char*>(data->d_buf), data->d_size}, base)) {
      probes.push_back(std::move(place));
    }
  }
  return probes;
}

// By sections: the part of memory with the code may begin with the file's headers.
bool CodePlaces::IsCode(uint64_t elf_address) const {
  for (Elf_Scn* section = elf_nextscn(elf_, nullptr); section != nullptr;
       section = elf_nextscn(elf_, section)) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr || (header.sh_flags & SHF_EXECINSTR) == 0) {
      continue;
    }
    if (elf_address >= header.sh_addr && elf_address - header.sh_addr < header.sh_size) return true;
  }
  return false;
}

// Whether the program may write there, two bytes.
bool CodePlaces::IsData(uint64_t elf_address) const {
  const std::optional<GElf_Phdr> segment = SegmentOf(elf_, elf_address, PF_W);
  return segment.has_value() && segment->p_memsz - (elf_address - segment->p_vaddr) >= 2;
}

absl::StatusOr<std::vector<CodePlace>> CodePlaces::FindProbe(const PointSpec& spec) const {
  std::vector<CodePlace> found;
  std::vector<std::string> names;
  for (const UsdtPlace& probe : Probes()) {
    if (probe.semaphore != 0 && !IsData(probe.semaphore)) continue;  // a damaged note
    names.push_back(absl::StrCat("usdt:", probe.provider, ":", probe.name));
    if (!MatchesGlob(spec.provider, probe.provider) || !MatchesGlob(spec.probe, probe.name)) {
      continue;
    }
    CodePlace place;
    place.name = names.back();
    const bool is_known = std::any_of(found.begin(), found.end(), [&probe](const CodePlace& other) {
      return other.elf_address == probe.address;
    });
    if (is_known || !Locate(probe.address, &place)) continue;
    place.semaphore = probe.semaphore;
    found.push_back(place);
  }
  if (!found.empty()) return found;
  if (names.empty()) {
    return absl::NotFoundError(absl::StrFormat(
        "cannot find %s: %s has no probes in its source (no note stapsdt); name a function or a "
        "line",
        spec.text, path_));
  }
  const std::string wanted = absl::StrCat("usdt:", spec.provider, ":", spec.probe);
  const std::vector<std::string> closest = ClosestMatches(wanted, names, kShownNames);
  return absl::NotFoundError(absl::StrFormat(
      "no probe of %s is called %s%s", BaseName(path_), wanted,
      closest.empty() ? absl::StrCat("; list them with: readelf -n ", path_)
                      : absl::StrCat("; the closest are: ", absl::StrJoin(closest, ", "))));
}

}  // namespace coz::points
