#include "coz/sourcemap/binary_info.h"

#include <elf.h>
#include <fcntl.h>
#include <gelf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "coz/base/go_note.h"
#include "coz/base/preload_needs.h"
#include "coz/base/unique_fd.h"
#include "coz/sourcemap/dwarf/debug_file.h"

namespace coz::sourcemap {
namespace {

// Linux looks at this many bytes of a script (BINPRM_BUF_SIZE, include/uapi/linux/binfmts.h).
constexpr size_t kScriptBytes = 256;

std::string ScriptInterpreter(std::string_view start) {
  const std::string_view line = start.substr(2, start.find('\n') - 2);
  const size_t begin = line.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return "";
  const std::string_view rest = line.substr(begin);
  return std::string(rest.substr(0, rest.find_first_of(" \t\r")));
}

std::string DescribeForeignElf(const GElf_Ehdr& header) {
  const bool is_64_bit = header.e_ident[EI_CLASS] == ELFCLASS64;
  if (!is_64_bit || header.e_machine != EM_X86_64) {
    return absl::StrFormat("an ELF file of %d bits for machine %d", is_64_bit ? 64 : 32,
                           header.e_machine);
  }
  if (header.e_type == ET_REL) return "an object file that is not linked yet";
  return header.e_type == ET_CORE ? "a core file" : "an ELF file of unknown type";
}

// What the loader will make of it.
struct Loading {
  bool has_interpreter = false;
  std::string interpreter;
  bool has_dynamic = false;
  bool has_libraries = false;
  bool is_go = false;
  bool is_pie = false;  // DF_1_PIE: tells an executable from a shared object, both are ET_DYN
};

bool HasGoNoteAt(Elf* elf, const GElf_Phdr& header) {
  const Elf_Data* const data =
      elf_getdata_rawchunk(elf, static_cast<int64_t>(header.p_offset), header.p_filesz, ELF_T_BYTE);
  return data != nullptr && data->d_buf != nullptr && HasGoNote(data->d_buf, data->d_size);
}

std::string TextAt(Elf* elf, const GElf_Phdr& header) {
  const Elf_Data* const data =
      elf_getdata_rawchunk(elf, static_cast<int64_t>(header.p_offset), header.p_filesz, ELF_T_BYTE);
  if (data == nullptr || data->d_buf == nullptr) return "";
  const auto* const text = static_cast<const char*>(data->d_buf);
  return {text, strnlen(text, data->d_size)};
}

Loading ReadLoading(Elf* elf) {
  Loading loading;
  size_t count = 0;
  if (elf_getphdrnum(elf, &count) != 0) return loading;
  for (size_t i = 0; i < count; ++i) {
    GElf_Phdr header;
    if (gelf_getphdr(elf, static_cast<int>(i), &header) == nullptr) continue;
    if (header.p_type == PT_INTERP) {
      loading.has_interpreter = true;
      loading.interpreter = TextAt(elf, header);
    }
    if (header.p_type == PT_NOTE) loading.is_go |= HasGoNoteAt(elf, header);
    if (header.p_type != PT_DYNAMIC) continue;
    loading.has_dynamic = true;
    Elf_Data* data = elf_getdata_rawchunk(elf, static_cast<int64_t>(header.p_offset),
                                          header.p_filesz, ELF_T_DYN);
    GElf_Dyn entry;
    for (int j = 0; data != nullptr && gelf_getdyn(data, j, &entry) != nullptr; ++j) {
      if (entry.d_tag == DT_NULL) break;
      loading.has_libraries |= entry.d_tag == DT_NEEDED;
      if (entry.d_tag == DT_FLAGS_1) loading.is_pie = (entry.d_un.d_val & DF_1_PIE) != 0;
    }
  }
  return loading;
}

bool IsStatic(const GElf_Ehdr& header, const Loading& loading) {
  if (loading.has_interpreter) return false;
  return header.e_type == ET_EXEC || !loading.has_dynamic || loading.is_pie;
}

bool HasSymbolTable(Elf* elf) {
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf, section)) != nullptr;) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) != nullptr && header.sh_type == SHT_SYMTAB) return true;
  }
  return false;
}

uint64_t CountExportedFunctions(Elf* elf) {
  uint64_t count = 0;
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf, section)) != nullptr;) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr || header.sh_type != SHT_DYNSYM) continue;
    Elf_Data* const data = elf_getdata(section, nullptr);
    if (data == nullptr || header.sh_entsize == 0) continue;
    GElf_Sym symbol;
    for (int i = 0; gelf_getsym(data, i, &symbol) != nullptr; ++i) {
      count += GELF_ST_TYPE(symbol.st_info) == STT_FUNC && symbol.st_shndx != SHN_UNDEF ? 1 : 0;
    }
  }
  return count;
}

void DescribeElf(Elf* elf, BinaryInfo* info) {
  GElf_Ehdr header;
  if (gelf_getehdr(elf, &header) == nullptr) {
    info->description = "a damaged ELF file";
    return;
  }
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != EM_X86_64 ||
      (header.e_type != ET_EXEC && header.e_type != ET_DYN)) {
    info->kind = BinaryInfo::Kind::kForeignElf;
    info->description = DescribeForeignElf(header);
    return;
  }
  info->kind = BinaryInfo::Kind::kElf;
  const Loading loading = ReadLoading(elf);
  info->is_static = IsStatic(header, loading);
  info->needs_no_library = loading.has_interpreter && !loading.has_libraries;
  const std::string& loader = loading.interpreter;
  if (!loader.empty() && !CanLoadLibrary(loader.c_str())) info->foreign_loader = loader;
  info->is_go = loading.is_go;
  info->is_position_independent = header.e_type == ET_DYN;
  info->description = info->is_static                  ? "a statically linked executable"
                      : !info->is_position_independent ? "an executable"
                      : loading.is_pie                 ? "a position-independent executable"
                                                       : "a shared object";
  info->has_symbols = HasSymbolTable(elf);
  info->exported_functions = CountExportedFunctions(elf);
  const auto unreadable = UnreadableSections(elf);
  if (!unreadable.empty()) info->unreadable_section = unreadable.front();
  info->has_debug_info = !DebugSection(elf, "info").empty();
}

}  // namespace

absl::StatusOr<BinaryInfo> DescribeBinary(const std::string& path,
                                          const std::string& debug_search_path) {
  BinaryInfo info;
  info.path = path;
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status;
  if (!fd.ok() || fstat(fd.get(), &status) != 0) {
    return CannotOpen(path, errno);
  }
  if (!S_ISREG(status.st_mode)) {
    info.description = S_ISDIR(status.st_mode) ? "a folder" : "not a regular file";
    return info;
  }
  char start[kScriptBytes];
  const ssize_t size = pread(fd.get(), start, sizeof(start), 0);
  const std::string_view bytes(start, size > 0 ? static_cast<size_t>(size) : 0);
  if (bytes.substr(0, 2) == "#!") {
    info.kind = BinaryInfo::Kind::kScript;
    info.interpreter = ScriptInterpreter(bytes);
    info.description = "a script";
    return info;
  }
  elf_version(EV_CURRENT);
  const std::unique_ptr<Elf, int (*)(Elf*)> elf(
      elf_begin(fd.get(), ELF_C_READ_MMAP_PRIVATE, nullptr), elf_end);
  if (elf == nullptr || elf_kind(elf.get()) != ELF_K_ELF) {
    info.description = bytes.empty() ? "an empty file" : "no ELF file and no script";
    return info;
  }
  DescribeElf(elf.get(), &info);
  if (info.kind != BinaryInfo::Kind::kElf) return info;
  info.build_id = HexOf(ReadBuildId(path));
  const auto debug_file = DebugFile::Open(path, debug_search_path);
  if (debug_file.ok()) {
    info.debug_path = (*debug_file)->debug_path();
  } else {
    info.debug_problem = std::string(debug_file.status().message());
    info.unfit_debug_path = UnfitDebugFile(path, elf.get());
  }
  return info;
}

bool IsGoProgram(const std::string& path) {
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.ok()) return false;
  elf_version(EV_CURRENT);
  const std::unique_ptr<Elf, int (*)(Elf*)> elf(
      elf_begin(fd.get(), ELF_C_READ_MMAP_PRIVATE, nullptr), elf_end);
  return elf != nullptr && elf_kind(elf.get()) == ELF_K_ELF && ReadLoading(elf.get()).is_go;
}

const char* StaticRemedy(const BinaryInfo& info) {
  if (info.is_go) return kGoRemedy;
  return info.is_position_independent ? "link it without -static-pie" : "link it without -static";
}

absl::Status CheckProfilable(const BinaryInfo& info, bool needs_debug_info) {
  switch (info.kind) {
    case BinaryInfo::Kind::kScript:
      return absl::InvalidArgumentError(absl::StrFormat(
          "%s is a script for %s, and lines of scripts cannot be sped up; profile the native "
          "program that it starts",
          info.path, info.interpreter.empty() ? "an unnamed interpreter" : info.interpreter));
    case BinaryInfo::Kind::kForeignElf:
    case BinaryInfo::Kind::kOther:
      return absl::InvalidArgumentError(
          absl::StrFormat("%s is %s, not a 64-bit x86-64 executable; see `file %s`", info.path,
                          info.description, info.path));
    case BinaryInfo::Kind::kElf:
      break;
  }
  if (info.is_static) {
    return absl::FailedPreconditionError(absl::StrFormat(
        "%s is statically linked, so the profiler's library cannot be loaded into it; %s",
        info.path, StaticRemedy(info)));
  }
  if (!info.foreign_loader.empty()) {
    return absl::FailedPreconditionError(absl::StrFormat(
        "%s has the loader %s, which is not of glibc 2.35 or later, so the profiler's library "
        "cannot be loaded into it; build it for this machine's glibc",
        info.path, info.foreign_loader));
  }
  if (info.needs_no_library) {
    return absl::FailedPreconditionError(absl::StrFormat(
        "%s is linked with no C library, so the profiler's library sees none of its calls; %s",
        info.path, info.is_go ? kGoRemedy : "link it with libc"));
  }
  if (!info.debug_path.empty() || !needs_debug_info) return absl::OkStatus();
  return absl::FailedPreconditionError(info.debug_problem);
}

}  // namespace coz::sourcemap
