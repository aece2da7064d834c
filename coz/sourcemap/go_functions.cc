#include "coz/sourcemap/go_functions.h"

#include <fcntl.h>
#include <gelf.h>

#include <memory>
#include <string_view>

#include "coz/base/unique_fd.h"

namespace coz::sourcemap {
namespace {

// In programs that are position-independent it is .data.rel.ro.gopclntab.
constexpr std::string_view kSection = ".gopclntab";

bool EndsWith(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

// Whether the loader maps these bytes from the file.
bool IsLoaded(Elf* elf, const GElf_Shdr& section) {
  size_t count = 0;
  if (elf_getphdrnum(elf, &count) != 0) return false;
  for (size_t i = 0; i < count; ++i) {
    GElf_Phdr header;
    if (gelf_getphdr(elf, static_cast<int>(i), &header) == nullptr || header.p_type != PT_LOAD) {
      continue;
    }
    if (section.sh_addr >= header.p_vaddr && section.sh_size <= header.p_filesz &&
        section.sh_addr - header.p_vaddr <= header.p_filesz - section.sh_size) {
      return true;
    }
  }
  return false;
}

}  // namespace

GoFunctionTable FindGoFunctions(const std::string& path) {
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.ok() || elf_version(EV_CURRENT) == EV_NONE) return {};
  const std::unique_ptr<Elf, int (*)(Elf*)> elf(elf_begin(fd.get(), ELF_C_READ_MMAP, nullptr),
                                                elf_end);
  size_t names = 0;
  if (elf == nullptr || elf_getshdrstrndx(elf.get(), &names) != 0) return {};
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf.get(), section)) != nullptr;) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr) continue;
    const char* const name = elf_strptr(elf.get(), names, header.sh_name);
    if (name != nullptr && EndsWith(name, kSection) && IsLoaded(elf.get(), header)) {
      return {header.sh_addr, header.sh_size};
    }
  }
  return {};
}

}  // namespace coz::sourcemap
