#include "coz/sourcemap/dwarf/debug_file.h"

#include <dlfcn.h>
#include <dwarf.h>
#include <elf.h>
#include <elfutils/debuginfod.h>
#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "coz/base/split_package.h"
#include "coz/base/unique_fd.h"

namespace coz::sourcemap {
namespace {

absl::Status CheckReadable(const std::string& path) {
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.ok()) return CannotOpen(path, errno);
  struct stat file = {};
  if (fstat(fd.get(), &file) != 0 || !S_ISDIR(file.st_mode)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrFormat("cannot read %s as an ELF file: it is a folder; name a file in it", path));
}

std::string BuildIdOf(Dwfl_Module* module) {
  const unsigned char* bytes = nullptr;
  GElf_Addr address;
  const int size = dwfl_module_build_id(module, &bytes, &address);
  return size > 0 ? std::string(reinterpret_cast<const char*>(bytes), static_cast<size_t>(size))
                  : std::string();
}

// Limits how long libdebuginfod waits, through its environment variables. By default it waits 90 s
// for each answer, without a total limit, and the program starts only then. What the user has set
// stays. The variables are gone again before the target starts.
class DebuginfodLimits {
 public:
  explicit DebuginfodLimits(const char* seconds_without_answer = "10")
      : limits_{{"DEBUGINFOD_TIMEOUT", seconds_without_answer, false},
                {"DEBUGINFOD_MAXTIME", "120", false}} {
    for (Limit& limit : limits_) {
      limit.is_ours = getenv(limit.variable) == nullptr;
      if (limit.is_ours) setenv(limit.variable, limit.seconds, 1);
    }
  }
  ~DebuginfodLimits() {
    for (const Limit& limit : limits_) {
      if (limit.is_ours) unsetenv(limit.variable);
    }
  }
  DebuginfodLimits(const DebuginfodLimits&) = delete;
  DebuginfodLimits& operator=(const DebuginfodLimits&) = delete;

 private:
  struct Limit {
    const char* variable;
    const char* seconds;
    bool is_ours;
  };
  Limit limits_[2];
};

// A function of the opened libdebuginfod, with the type that its header declares.
template <typename Function>
Function* FindFunction(void* library, const char* name) {
  return reinterpret_cast<Function*>(dlsym(library, name));
}

// The errno that tells why the servers gave nothing. ENOENT: they have no debug information for it.
// libdebuginfod remembers that, so this asks only those servers again that have not answered.
int AskServersWhy(void* library, const std::string& build_id) {
  const auto begin = FindFunction<decltype(debuginfod_begin)>(library, "debuginfod_begin");
  const auto find =
      FindFunction<decltype(debuginfod_find_debuginfo)>(library, "debuginfod_find_debuginfo");
  const auto end = FindFunction<decltype(debuginfod_end)>(library, "debuginfod_end");
  if (begin == nullptr || find == nullptr || end == nullptr) return ENOSYS;
  debuginfod_client* const client = begin();
  if (client == nullptr) return ENOMEM;
  const DebuginfodLimits limits(/*seconds_without_answer=*/"3");
  // The length is never 0, which would mean that the build-id is written in hexadecimal digits.
  const int result = find(client, reinterpret_cast<const unsigned char*>(build_id.data()),
                          static_cast<int>(build_id.size()), nullptr);
  end(client);
  if (result >= 0) close(result);
  return result < 0 ? -result : EAGAIN;
}

// What the user can do, after the usual folders had no debug information.
std::string DebuginfodAdvice(const std::string& build_id) {
  const char* urls = getenv("DEBUGINFOD_URLS");
  if (build_id.empty()) return "install its debug package";
  if (urls == nullptr || *urls == '\0') {
    return "install its debug package, or set DEBUGINFOD_URLS";
  }
  void* library = dlopen("libdebuginfod.so.1", RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) {
    return "install its debug package; DEBUGINFOD_URLS is set, but nothing can ask it without "
           "`apt-get install libdebuginfod1`";
  }
  const int why = AskServersWhy(library, build_id);
  dlclose(library);
  if (why == ENOENT) {
    return absl::StrCat("install its debug package; ", urls, " has no debug information for it");
  }
  return absl::StrFormat(
      "install its debug package, or try again when %s answers: to ask there failed (%s)", urls,
      strerror(why));
}

std::string WhyNoDebugInfo(const std::string& path, const std::string& build_id, Elf* elf) {
  const std::string unfit = UnfitDebugFile(path, elf);
  const std::string sought =
      !unfit.empty()     ? absl::StrCat("and ", unfit, " is of another build")
      : build_id.empty() ? "no build-id by which a separate file is found"
                         : absl::StrCat("no separate file of its build-id ", HexOf(build_id));
  const std::vector<std::string> unreadable = UnreadableSections(elf);
  if (!unreadable.empty()) {
    return absl::StrFormat(
        "cannot read the debug information of %s: section %s is compressed with zstd, which this "
        "libelf does not support (%s); run objcopy --decompress-debug-sections on it, or build "
        "with -gz=zlib",
        path, unreadable.front(), sought);
  }
  return absl::StrFormat(
      "%s has no debug information (no .debug_info section, %s); build it with -g, or %s", path,
      sought, DebuginfodAdvice(build_id));
}

// What `look` finds in the ELF file at `path`, or nothing where it cannot be read.
template <typename Found>
Found InElf(const std::string& path, Found (*look)(Elf* elf)) {
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.ok()) return Found();
  elf_version(EV_CURRENT);
  const std::unique_ptr<Elf, int (*)(Elf*)> elf(
      elf_begin(fd.get(), ELF_C_READ_MMAP_PRIVATE, nullptr), elf_end);
  return elf == nullptr ? Found() : look(elf.get());
}

}  // namespace

absl::Status CannotOpen(const std::string& path, int error) {
  const bool are_many = error == EMFILE || error == ENFILE;
  return absl::Status(absl::ErrnoToStatusCode(error),
                      absl::StrCat("cannot open ", path, ": ", strerror(error), "; ",
                                   are_many ? "let coz open more with: ulimit -n 1024"
                                            : absl::StrCat("see: ls -l ", path)));
}

std::string ReadBuildId(const std::string& path) {
  return InElf<std::string>(path, [](Elf* elf) {
    const void* bytes = nullptr;
    const ssize_t size = dwelf_elf_gnu_build_id(elf, &bytes);
    return size > 0 ? std::string(static_cast<const char*>(bytes), static_cast<size_t>(size))
                    : std::string();
  });
}

uint64_t OwnDebugBytes(const std::string& path) {
  return InElf<uint64_t>(path, [](Elf* elf) { return uint64_t{DebugSection(elf, "info").size()}; });
}

std::string HexOf(std::string_view bytes) {
  std::string hex;
  for (const char c : bytes) absl::StrAppendFormat(&hex, "%02x", static_cast<unsigned char>(c));
  return hex;
}

std::string_view DebugSection(Elf* elf, std::string_view suffix) {
  size_t names = 0;
  if (elf == nullptr || elf_getshdrstrndx(elf, &names) != 0) return {};
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf, section)) != nullptr;) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr || header.sh_type == SHT_NOBITS) continue;
    const char* name_pointer = elf_strptr(elf, names, header.sh_name);
    if (name_pointer == nullptr) continue;
    std::string_view name = name_pointer;
    const size_t underscore = name.find('_');
    if (underscore == std::string_view::npos) continue;
    const std::string_view kind = name.substr(0, underscore);
    name.remove_prefix(underscore + 1);
    if (name.size() > 4 && name.substr(name.size() - 4) == ".dwo") name.remove_suffix(4);
    if ((kind != ".debug" && kind != ".zdebug") || name != suffix) continue;
    const Elf_Data* data = elf_getdata(section, nullptr);
    if (data == nullptr || data->d_buf == nullptr) return {};
    return {static_cast<const char*>(data->d_buf), data->d_size};
  }
  return {};
}

std::string UnfitDebugFile(const std::string& path, Elf* elf) {
  GElf_Word checksum = 0;
  const char* const name = dwelf_elf_gnu_debuglink(elf, &checksum);
  if (name == nullptr) return "";
  const std::string folder = path.substr(0, path.rfind('/') + 1);
  for (const char* below : {"", ".debug/"}) {
    std::string file = absl::StrCat(folder, below, name);
    if (file != path && access(file.c_str(), R_OK) == 0) return file;
  }
  return "";
}

const char* SplitFileOf(Dwarf_Die* skeleton) {
  for (const unsigned name : {DW_AT_dwo_name, DW_AT_GNU_dwo_name}) {
    Dwarf_Attribute attribute;
    const char* const file = dwarf_formstring(dwarf_attr(skeleton, name, &attribute));
    if (file != nullptr) return file;
  }
  return nullptr;
}

std::vector<std::string> UnreadableSections(Elf* elf) {
  std::vector<std::string> unreadable;
  size_t names = 0;
  if (elf == nullptr || elf_getshdrstrndx(elf, &names) != 0) return unreadable;
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf, section)) != nullptr;) {
    GElf_Shdr header;
    GElf_Chdr compression;
    if (gelf_getshdr(section, &header) == nullptr || (header.sh_flags & SHF_COMPRESSED) == 0) {
      continue;
    }
    if (gelf_getchdr(section, &compression) != nullptr && compression.ch_type == ELFCOMPRESS_ZLIB) {
      continue;
    }
    const char* name = elf_strptr(elf, names, header.sh_name);
    unreadable.push_back(name == nullptr ? "" : name);
  }
  return unreadable;
}

absl::StatusOr<std::unique_ptr<DebugFile>> DebugFile::Open(const std::string& path,
                                                           const std::string& search_path,
                                                           bool must_have_debug_info) {
  if (absl::Status status = CheckReadable(path); !status.ok()) return status;
  std::unique_ptr<DebugFile> file(new DebugFile);
  file->path_ = path;
  file->search_path_ = search_path;
  file->search_path_pointer_ = search_path.empty() ? nullptr : file->search_path_.data();
  file->callbacks_.find_elf = dwfl_build_id_find_elf;
  file->callbacks_.find_debuginfo = dwfl_standard_find_debuginfo;
  file->callbacks_.section_address = dwfl_offline_section_address;
  file->callbacks_.debuginfo_path = &file->search_path_pointer_;
  file->dwfl_ = dwfl_begin(&file->callbacks_);
  file->module_ = dwfl_report_offline(file->dwfl_, "", path.c_str(), -1);
  dwfl_report_end(file->dwfl_, nullptr, nullptr);
  Elf* elf =
      file->module_ == nullptr ? nullptr : dwfl_module_getelf(file->module_, &file->elf_bias_);
  if (elf == nullptr) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "cannot read %s as an ELF file: %s; see `file %s`", path, dwfl_errmsg(-1), path));
  }
  file->build_id_ = BuildIdOf(file->module_);
  file->FindCode(elf);
  Dwarf_Addr bias = 0;
  if (must_have_debug_info) {
    const DebuginfodLimits limits;
    file->dwarf_ = dwfl_module_getdwarf(file->module_, &bias);
  }
  if (file->dwarf_ == nullptr && must_have_debug_info) {
    return absl::FailedPreconditionError(WhyNoDebugInfo(path, file->build_id_, elf));
  }
  file->dwarf_bias_ = bias - file->elf_bias_;
  const char* debug_path = nullptr;
  dwfl_module_info(file->module_, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr,
                   &debug_path);
  if (debug_path != nullptr) {
    file->debug_path_ = debug_path;
  } else {
    // libdwfl gets a descriptor of what was fetched, without its name.
    const bool was_fetched = file->dwarf_ != nullptr && dwarf_getelf(file->dwarf_) != elf;
    file->debug_path_ = was_fetched ? "debuginfod" : path;
  }
  return file;
}

DebugFile::~DebugFile() {
  if (dwfl_ != nullptr) dwfl_end(dwfl_);
}

std::string DebugFile::split_package() const {
  std::string package = SplitPackageOf(path_);
  return package.empty() ? SplitPackageOf(debug_path_) : package;
}

void DebugFile::FindCode(Elf* elf) {
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf, section)) != nullptr;) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr) continue;
    if ((header.sh_flags & (SHF_ALLOC | SHF_EXECINSTR)) != (SHF_ALLOC | SHF_EXECINSTR)) continue;
    code_.push_back({header.sh_addr, header.sh_addr + header.sh_size});
  }
  // A binary whose section headers were removed still has its segments.
  size_t segments = 0;
  if (code_.empty() && elf_getphdrnum(elf, &segments) == 0) {
    for (size_t i = 0; i < segments; ++i) {
      GElf_Phdr header;
      if (gelf_getphdr(elf, static_cast<int>(i), &header) == nullptr) continue;
      if (header.p_type != PT_LOAD || (header.p_flags & PF_X) == 0) continue;
      code_.push_back({header.p_vaddr, header.p_vaddr + header.p_memsz});
    }
  }
  std::sort(code_.begin(), code_.end(),
            [](const AddressRange& a, const AddressRange& b) { return a.begin < b.begin; });
}

std::vector<FunctionSymbol> DebugFile::FunctionSymbols() const {
  std::vector<FunctionSymbol> symbols;
  const int count = dwfl_module_getsymtab(module_);
  for (int i = 0; i < count; ++i) {
    GElf_Sym symbol;
    GElf_Addr address;
    const char* name =
        dwfl_module_getsym_info(module_, i, &symbol, &address, nullptr, nullptr, nullptr);
    const unsigned type = GELF_ST_TYPE(symbol.st_info);
    if (name == nullptr || symbol.st_shndx == SHN_UNDEF || symbol.st_size == 0) continue;
    if (type != STT_FUNC && type != STT_GNU_IFUNC) continue;
    symbols.push_back({address - elf_bias_, address - elf_bias_ + symbol.st_size, name});
  }
  std::sort(symbols.begin(), symbols.end(),
            [](const FunctionSymbol& a, const FunctionSymbol& b) { return a.begin < b.begin; });
  return symbols;
}

std::vector<AddressRange> DebugFile::CodeOfUnits() const {
  std::vector<AddressRange> ranges;
  Dwarf_CU* unit = nullptr;
  uint8_t type = 0;
  Dwarf_Die die;
  while (dwarf_ != nullptr &&
         dwarf_get_units(dwarf_, unit, &unit, nullptr, &type, &die, nullptr) == 0) {
    if (type != DW_UT_compile && type != DW_UT_skeleton) continue;
    Dwarf_Addr base = 0;
    Dwarf_Addr begin = 0;
    Dwarf_Addr end = 0;
    ptrdiff_t offset = 0;
    while ((offset = dwarf_ranges(&die, offset, &base, &begin, &end)) > 0) {
      if (end > begin) ranges.push_back({begin + dwarf_bias_, end + dwarf_bias_});
    }
  }
  MergeRanges(&ranges);
  return ranges;
}

void MergeRanges(std::vector<AddressRange>* ranges) {
  std::sort(ranges->begin(), ranges->end(),
            [](const AddressRange& a, const AddressRange& b) { return a.begin < b.begin; });
  std::vector<AddressRange> merged;
  for (const AddressRange& range : *ranges) {
    if (!merged.empty() && range.begin <= merged.back().end) {
      merged.back().end = std::max(merged.back().end, range.end);
    } else {
      merged.push_back(range);
    }
  }
  *ranges = std::move(merged);
}

}  // namespace coz::sourcemap
