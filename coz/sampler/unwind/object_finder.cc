#include "coz/sampler/unwind/object_finder.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <sys/auxv.h>

#include <cstring>

namespace coz::sampler {
namespace {

using FindObject = int (*)(void* address, dl_find_object* result);

// Looked up by name, so that the library also loads where libc lacks it.
FindObject find_object = nullptr;

struct Vdso {
  uint64_t begin = 0;
  uint64_t end = 0;
  EhFrameSection section;
};
Vdso vdso;

constexpr uint64_t kPageBytes = 4096;

struct ProgramHeaders {
  const Elf64_Phdr* begin = nullptr;
  const Elf64_Phdr* end = nullptr;
};

// Where the program has holes between its segments, libc tells one segment of it, in which its
// headers mostly do not lie. It maps libraries without holes.
struct Program {
  const link_map* map = nullptr;
  ProgramHeaders headers;
};
Program program;

// Of the object mapped at `base`, if they lie in its first page, which is always mapped.
ProgramHeaders FindProgramHeaders(uint64_t base) {
  const auto* header = reinterpret_cast<const Elf64_Ehdr*>(base);
  if (memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return {};
  if (header->e_phentsize != sizeof(Elf64_Phdr) || header->e_phoff > kPageBytes ||
      header->e_phnum > (kPageBytes - header->e_phoff) / sizeof(Elf64_Phdr)) {
    return {};
  }
  const auto* begin = reinterpret_cast<const Elf64_Phdr*>(base + header->e_phoff);
  return {begin, begin + header->e_phnum};
}

const uint8_t* BytesAt(uint64_t address) { return reinterpret_cast<const uint8_t*>(address); }

// Narrows `section` to the load segment of its header: between segments there may be holes.
void NarrowToSegment(const ProgramHeaders& headers, uint64_t load_bias, EhFrameSection* section) {
  const auto header = reinterpret_cast<uintptr_t>(section->header);
  for (const Elf64_Phdr* at = headers.begin; at != headers.end; ++at) {
    const uint64_t begin = load_bias + at->p_vaddr;
    if (at->p_type != PT_LOAD || header < begin || header >= begin + at->p_filesz) continue;
    section->begin = BytesAt(begin);
    section->end = BytesAt(begin + at->p_filesz);
  }
}

// Of the first object, which is the program.
int TakeProgram(dl_phdr_info* info, size_t, void* opaque) {
  auto* found = static_cast<Program*>(opaque);
  found->headers = {info->dlpi_phdr, info->dlpi_phdr + info->dlpi_phnum};
  for (const Elf64_Phdr* at = found->headers.begin; at != found->headers.end; ++at) {
    dl_find_object object;
    auto* const address = reinterpret_cast<void*>(info->dlpi_addr + at->p_vaddr);
    if (at->p_type == PT_LOAD && find_object(address, &object) == 0) {
      found->map = object.dlfo_link_map;
    }
  }
  return 1;
}

Vdso FindVdso() {
  Vdso found;
  const uint64_t base = getauxval(AT_SYSINFO_EHDR);
  if (base == 0) return found;
  const ProgramHeaders headers = FindProgramHeaders(base);
  uint64_t load_bias = base;
  for (const Elf64_Phdr* at = headers.begin; at != headers.end; ++at) {
    if (at->p_type == PT_LOAD) {
      load_bias = base - at->p_vaddr + at->p_offset;
      found.begin = base;
      found.end = base + at->p_memsz;
    }
  }
  for (const Elf64_Phdr* at = headers.begin; at != headers.end; ++at) {
    if (at->p_type == PT_GNU_EH_FRAME) found.section.header = BytesAt(load_bias + at->p_vaddr);
  }
  if (found.section.header != nullptr) NarrowToSegment(headers, load_bias, &found.section);
  return found;
}

}  // namespace

bool InitObjectFinder() {
  find_object = reinterpret_cast<FindObject>(dlsym(RTLD_DEFAULT, "_dl_find_object"));
  vdso = FindVdso();
  if (find_object == nullptr) return false;
  Program found;
  dl_iterate_phdr(TakeProgram, &found);
  program = found;
  return true;
}

bool FindEhFrame(uint64_t address, EhFrameSection* section) {
  if (address >= vdso.begin && address < vdso.end && vdso.section.begin != nullptr) {
    *section = vdso.section;
    return true;
  }
  dl_find_object object;
  if (find_object == nullptr || find_object(reinterpret_cast<void*>(address), &object) != 0 ||
      object.dlfo_eh_frame == nullptr) {
    return false;
  }
  section->begin = static_cast<const uint8_t*>(object.dlfo_map_start);
  section->end = static_cast<const uint8_t*>(object.dlfo_map_end);
  section->header = static_cast<const uint8_t*>(object.dlfo_eh_frame);
  const auto base = reinterpret_cast<uintptr_t>(object.dlfo_map_start);
  NarrowToSegment(object.dlfo_link_map == program.map ? program.headers : FindProgramHeaders(base),
                  object.dlfo_link_map->l_addr, section);
  return true;
}

}  // namespace coz::sampler
