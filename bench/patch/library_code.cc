#include "bench/patch/library_code.h"

#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <sys/mman.h>

#include <algorithm>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "coz/base/unique_fd.h"
#include "coz/points/function_extents.h"

namespace coz::bench {
namespace {

constexpr uint64_t kPageBytes = 4096;

uint64_t PageOf(uint64_t address) { return address & ~(kPageBytes - 1); }

std::vector<GElf_Phdr> LoadedSegments(Elf* elf) {
  std::vector<GElf_Phdr> segments;
  size_t count = 0;
  elf_getphdrnum(elf, &count);
  for (int i = 0; i < static_cast<int>(count); ++i) {
    GElf_Phdr segment;
    if (gelf_getphdr(elf, i, &segment) != nullptr && segment.p_type == PT_LOAD) {
      segments.push_back(segment);
    }
  }
  return segments;
}

// The bias, or 0.
uint64_t MapSegments(int fd, const std::vector<GElf_Phdr>& segments) {
  const GElf_Phdr& last = segments.back();
  void* const room = mmap(nullptr, last.p_vaddr + last.p_memsz + kPageBytes, PROT_NONE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED) return 0;
  const auto bias = reinterpret_cast<uint64_t>(room);
  for (const GElf_Phdr& segment : segments) {
    const uint64_t begin = PageOf(segment.p_vaddr);
    const uint64_t file_end = segment.p_vaddr + segment.p_filesz;
    const int protection = ((segment.p_flags & PF_R) != 0 ? PROT_READ : 0) |
                           ((segment.p_flags & PF_W) != 0 ? PROT_WRITE : 0) |
                           ((segment.p_flags & PF_X) != 0 ? PROT_EXEC : 0);
    void* const at = reinterpret_cast<void*>(bias + begin);
    const uint64_t bytes = segment.p_vaddr + segment.p_memsz - begin;
    if (mmap(at, bytes, protection, MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED ||
        mmap(at, file_end - begin, protection, MAP_FIXED | MAP_PRIVATE, fd,
             static_cast<off_t>(PageOf(segment.p_offset))) == MAP_FAILED) {
      return 0;
    }
  }
  return bias;
}

std::vector<points::FunctionExtent> ExtentsOf(Elf* elf, const char** why) {
  size_t names = 0;
  elf_getshdrstrndx(elf, &names);
  for (Elf_Scn* section = elf_nextscn(elf, nullptr); section != nullptr;
       section = elf_nextscn(elf, section)) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr) continue;
    const char* const name = elf_strptr(elf, names, header.sh_name);
    if (name == nullptr || std::string_view(name) != ".eh_frame") continue;
    const Elf_Data* const data = elf_rawdata(section, nullptr);
    if (data == nullptr) break;
    return points::ReadFunctionExtents({static_cast<const char*>(data->d_buf), data->d_size},
                                       header.sh_addr);
  }
  *why = "it has no call frame information";
  return {};
}

std::vector<FunctionCode> FunctionsOf(const std::vector<points::FunctionExtent>& extents,
                                      uint64_t bias) {
  constexpr uint64_t kMostPadding = 16;
  constexpr uint64_t kBehind = 8;
  std::vector<FunctionCode> functions;
  for (size_t i = 0; i < extents.size(); ++i) {
    const points::FunctionExtent& extent = extents[i];
    uint64_t end = extent.end;
    if (i + 1 < extents.size() && extents[i + 1].begin > end) {
      end = std::min(extents[i + 1].begin, end + kMostPadding);
    }
    if (extent.end <= extent.begin) continue;
    const uint64_t behind = i + 1 < extents.size() ? kBehind : 0;
    functions.push_back(
        {bias + extent.begin, extent.end - extent.begin, end - extent.begin, behind});
  }
  return functions;
}

}  // namespace

absl::StatusOr<LibraryCode> MapLibrary(const std::string& path) {
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.ok()) return absl::NotFoundError(absl::StrCat("cannot open ", path));
  elf_version(EV_CURRENT);
  Elf* const elf = elf_begin(fd.get(), ELF_C_READ_MMAP, nullptr);
  const std::vector<GElf_Phdr> segments =
      elf_kind(elf) == ELF_K_ELF ? LoadedSegments(elf) : std::vector<GElf_Phdr>();
  const char* why = segments.empty() ? "it has no segments" : nullptr;
  LibraryCode library = {path, 0, 0, {}};
  if (why == nullptr) {
    const uint64_t bias = MapSegments(fd.get(), segments);
    if (bias == 0) why = "its segments cannot be mapped";
    library.bias = bias;
    library.bytes = segments.back().p_vaddr + segments.back().p_memsz;
    if (bias != 0) library.functions = FunctionsOf(ExtentsOf(elf, &why), bias);
  }
  elf_end(elf);
  if (why != nullptr) return absl::InvalidArgumentError(absl::StrCat(path, ": ", why));
  return library;
}

}  // namespace coz::bench
