#include "coz/points/marks_in_file.h"

#include <fcntl.h>
#include <gelf.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <string_view>
#include <utility>

#include "coz/base/unique_fd.h"
#include "coz/runtime/coz.h"

namespace coz::points {
namespace {

// What both headers look up in the profiler's library.
constexpr std::string_view kOriginalsLookup = "_coz_get_counter";

struct Segment {
  uint64_t address;
  std::string_view bytes;
  bool is_writable;
};

std::vector<Segment> LoadedSegments(Elf* elf, std::string_view file) {
  std::vector<Segment> segments;
  size_t count = 0;
  if (elf_getphdrnum(elf, &count) != 0) return segments;
  for (size_t i = 0; i < count; ++i) {
    GElf_Phdr header;
    if (gelf_getphdr(elf, static_cast<int>(i), &header) == nullptr) continue;
    if (header.p_type != PT_LOAD || header.p_offset >= file.size()) continue;
    segments.push_back({header.p_vaddr, file.substr(header.p_offset, header.p_filesz),
                        (header.p_flags & PF_W) != 0});
  }
  return segments;
}

// What the loader will write to an address of a position-independent program.
std::map<uint64_t, uint64_t> RelativeRelocations(Elf* elf) {
  std::map<uint64_t, uint64_t> value_at;
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf, section)) != nullptr;) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr || header.sh_type != SHT_RELA) continue;
    Elf_Data* const data = elf_getdata(section, nullptr);
    if (data == nullptr || header.sh_entsize == 0) continue;
    const uint64_t entries = header.sh_size / header.sh_entsize;
    GElf_Rela entry;
    for (uint64_t i = 0; i < entries; ++i) {
      if (gelf_getrela(data, static_cast<int>(i), &entry) == nullptr) break;
      if (GELF_R_TYPE(entry.r_info) != R_X86_64_RELATIVE) continue;
      value_at[entry.r_offset] = static_cast<uint64_t>(entry.r_addend);
    }
  }
  return value_at;
}

std::string TextAt(const std::vector<Segment>& segments, uint64_t address) {
  for (const Segment& segment : segments) {
    if (address < segment.address || address - segment.address >= segment.bytes.size()) continue;
    const std::string_view rest = segment.bytes.substr(address - segment.address);
    const size_t end = rest.find('\0');
    return end == std::string_view::npos ? "" : std::string(rest.substr(0, end));
  }
  return "";
}

bool KindOf(int32_t type, MarkKind* kind) {
  switch (type) {
    case COZ_COUNTER_TYPE_THROUGHPUT:
      *kind = MarkKind::kThroughput;
      return true;
    case COZ_COUNTER_TYPE_BEGIN:
      *kind = MarkKind::kBegin;
      return true;
    case COZ_COUNTER_TYPE_END:
      *kind = MarkKind::kEnd;
      return true;
    default:
      return false;
  }
}

// Calls `visit(address, mark)` for each.
template <typename Visit>
void ForEachMark(const Segment& segment, Visit visit) {
  const uint64_t magic[2] = {COZ_MARK_MAGIC_0, COZ_MARK_MAGIC_1};
  const std::string_view sought(reinterpret_cast<const char*>(magic), sizeof(magic));
  for (size_t at = 0; (at = segment.bytes.find(sought, at)) != std::string_view::npos; ++at) {
    coz_mark_t mark;
    if (segment.bytes.size() - at < sizeof(mark)) return;
    memcpy(&mark, segment.bytes.data() + at, sizeof(mark));
    visit(segment.address + at, mark);
  }
}

}  // namespace

MarksInFile FindMarksInFile(const std::string& path) {
  MarksInFile found;
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.ok()) return found;
  elf_version(EV_CURRENT);
  const std::unique_ptr<Elf, int (*)(Elf*)> elf(
      elf_begin(fd.get(), ELF_C_READ_MMAP_PRIVATE, nullptr), elf_end);
  size_t size = 0;
  const char* const bytes = elf == nullptr ? nullptr : elf_rawfile(elf.get(), &size);
  if (bytes == nullptr || elf_kind(elf.get()) != ELF_K_ELF) return found;
  const std::vector<Segment> segments = LoadedSegments(elf.get(), {bytes, size});
  const std::map<uint64_t, uint64_t> relocated = RelativeRelocations(elf.get());
  for (const Segment& segment : segments) {
    found.has_marks_of_original |= segment.bytes.find(kOriginalsLookup) != std::string_view::npos;
    if (!segment.is_writable) continue;
    ForEachMark(segment, [&](uint64_t address, const coz_mark_t& mark) {
      MarkInFile one;
      if (!KindOf(mark.type, &one.kind)) return;
      const auto name = relocated.find(address + offsetof(coz_mark_t, name));
      const uint64_t at =
          name != relocated.end() ? name->second : reinterpret_cast<uint64_t>(mark.name);
      if (at == 0) return;  // the program makes the name while it runs
      one.name = TextAt(segments, at);
      const bool is_known =
          std::any_of(found.marks.begin(), found.marks.end(), [&one](const MarkInFile& other) {
            return other.kind == one.kind && other.name == one.name;
          });
      if (!is_known) found.marks.push_back(std::move(one));
    });
  }
  return found;
}

}  // namespace coz::points
