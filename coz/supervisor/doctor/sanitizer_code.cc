#include "coz/supervisor/doctor/sanitizer_code.h"

#include <gelf.h>

#include <cstdint>
#include <string_view>

namespace coz::supervisor {
namespace {

bool DefinesSanitizer(Elf* elf, Elf_Scn* section, const GElf_Shdr& header) {
  Elf_Data* const data = elf_getdata(section, nullptr);
  if (data == nullptr || header.sh_entsize == 0) return false;
  GElf_Sym symbol;
  for (uint64_t i = 0; i < header.sh_size / header.sh_entsize; ++i) {
    if (gelf_getsym(data, static_cast<int>(i), &symbol) == nullptr) return false;
    const char* const name = elf_strptr(elf, header.sh_link, symbol.st_name);
    constexpr std::string_view kSanitizer = "__sanitizer_";
    if (symbol.st_shndx != SHN_UNDEF && name != nullptr &&
        std::string_view(name).substr(0, kSanitizer.size()) == kSanitizer) {
      return true;
    }
  }
  return false;
}

}  // namespace

bool HasSanitizerCode(Elf* elf) {
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf, section)) != nullptr;) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr || header.sh_type != SHT_DYNSYM) continue;
    if (DefinesSanitizer(elf, section, header)) return true;
  }
  return false;
}

}  // namespace coz::supervisor
