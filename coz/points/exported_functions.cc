#include "coz/points/exported_functions.h"

#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>

#include <algorithm>

#include "coz/base/symbol_name.h"
#include "coz/base/unique_fd.h"

namespace coz::points {
namespace {

void AddExported(const char* name, const GElf_Sym& symbol,
                 std::vector<ExportedFunction>* functions) {
  const int type = GELF_ST_TYPE(symbol.st_info);
  const int visibility = GELF_ST_VISIBILITY(symbol.st_other);
  const bool is_function = type == STT_FUNC || type == STT_GNU_IFUNC;
  const bool is_seen = GELF_ST_BIND(symbol.st_info) != STB_LOCAL &&
                       (visibility == STV_DEFAULT || visibility == STV_PROTECTED);
  if (name == nullptr || symbol.st_shndx == SHN_UNDEF || !is_function || !is_seen) return;
  functions->push_back({symbol.st_value, symbol.st_value + symbol.st_size,
                        std::string(WithoutSymbolVersion(name)), type == STT_GNU_IFUNC});
}

void ReadTable(Elf* elf, Elf_Scn* section, const GElf_Shdr& header,
               std::vector<ExportedFunction>* functions) {
  Elf_Data* const data = elf_getdata(section, nullptr);
  if (data == nullptr || header.sh_entsize == 0) return;
  const auto count = static_cast<int>(header.sh_size / header.sh_entsize);
  for (int i = 0; i < count; ++i) {
    GElf_Sym symbol;
    if (gelf_getsym(data, i, &symbol) == nullptr) return;
    AddExported(elf_strptr(elf, header.sh_link, symbol.st_name), symbol, functions);
  }
}

}  // namespace

std::vector<ExportedFunction> ReadExportedFunctions(const std::string& path) {
  std::vector<ExportedFunction> functions;
  elf_version(EV_CURRENT);
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  Elf* const elf = elf_begin(fd.get(), ELF_C_READ, nullptr);
  if (elf == nullptr) return functions;
  for (Elf_Scn* section = elf_nextscn(elf, nullptr); section != nullptr;
       section = elf_nextscn(elf, section)) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr || header.sh_type != SHT_DYNSYM) continue;
    ReadTable(elf, section, header, &functions);
  }
  elf_end(elf);
  std::stable_sort(functions.begin(), functions.end(),
                   [](const auto& a, const auto& b) { return a.begin < b.begin; });
  return functions;
}

}  // namespace coz::points
