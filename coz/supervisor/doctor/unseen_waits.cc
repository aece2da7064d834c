#include "coz/supervisor/doctor/unseen_waits.h"

#include <fcntl.h>
#include <gelf.h>
#include <sys/syscall.h>

#include <cstring>
#include <memory>

#include "coz/base/unique_fd.h"
#include "coz/supervisor/doctor/sanitizer_code.h"

namespace coz::supervisor {
namespace {

// Of libc and libgomp.
constexpr std::string_view kCalls[] = {"flockfile", "lio_listio", "omp_test_lock",
                                       "omp_test_nest_lock"};
constexpr std::string_view kLibraries[] = {"libomp.so", "libiomp5.so"};

struct SystemCall {
  uint32_t number;
  const char* name;
};
constexpr SystemCall kSystemCalls[] = {{SYS_futex, "futex"},
                                       {SYS_io_uring_enter, "io_uring_enter"},
                                       {SYS_semtimedop, "semtimedop"},
                                       {SYS_msgrcv, "msgrcv"},
                                       {SYS_mq_timedreceive, "mq_timedreceive"}};

bool StartsWith(std::string_view text, std::string_view start) {
  return text.substr(0, start.size()) == start;
}

bool IsUnseenCall(std::string_view name) {
  constexpr std::string_view kLarge = "64";  // "lio_listio64" is lio_listio for large files
  name = name.substr(0, name.find('@'));
  if (name.size() > kLarge.size() && name.substr(name.size() - kLarge.size()) == kLarge) {
    name.remove_suffix(kLarge.size());
  }
  for (const std::string_view call : kCalls) {
    if (name == call) return true;
  }
  return false;
}

void AddCalls(Elf* elf, Elf_Scn* section, const GElf_Shdr& header, UnseenWaits* waits) {
  Elf_Data* const data = elf_getdata(section, nullptr);
  if (data == nullptr || header.sh_entsize == 0) return;
  GElf_Sym symbol;
  for (uint64_t i = 0; i < header.sh_size / header.sh_entsize; ++i) {
    if (gelf_getsym(data, static_cast<int>(i), &symbol) == nullptr) return;
    if (symbol.st_shndx != SHN_UNDEF) continue;
    const char* const name = elf_strptr(elf, header.sh_link, symbol.st_name);
    if (name != nullptr && IsUnseenCall(name)) waits->calls.insert(name);
  }
}

void AddLibraries(Elf* elf, Elf_Scn* section, const GElf_Shdr& header, UnseenWaits* waits) {
  Elf_Data* const data = elf_getdata(section, nullptr);
  if (data == nullptr || header.sh_entsize == 0) return;
  GElf_Dyn entry;
  for (uint64_t i = 0; i < header.sh_size / header.sh_entsize; ++i) {
    if (gelf_getdyn(data, static_cast<int>(i), &entry) == nullptr) return;
    if (entry.d_tag != DT_NEEDED) continue;
    const char* const name = elf_strptr(elf, header.sh_link, entry.d_un.d_val);
    if (name == nullptr) continue;
    for (const std::string_view library : kLibraries) {
      if (StartsWith(name, library)) waits->libraries.insert(name);
    }
  }
}

}  // namespace

std::set<std::string> OwnSystemCalls(std::string_view code) {
  constexpr std::string_view kSyscall("\x0f\x05", 2);
  constexpr size_t kNear = 32;  // the arguments are set in between
  std::set<std::string> found;
  for (size_t at = 0; (at = code.find(kSyscall, at)) != std::string_view::npos; ++at) {
    const size_t begin = at < kNear ? 0 : at - kNear;
    const std::string_view before = code.substr(begin, at - begin);
    for (const SystemCall& call : kSystemCalls) {
      char move[5] = {'\xb8'};
      memcpy(move + 1, &call.number, sizeof(call.number));
      if (before.find(std::string_view(move, sizeof(move))) != std::string_view::npos) {
        found.insert(call.name);
      }
    }
  }
  return found;
}

UnseenWaits FindUnseenWaits(const std::string& path) {
  UnseenWaits waits;
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.ok()) return waits;
  elf_version(EV_CURRENT);
  const std::unique_ptr<Elf, int (*)(Elf*)> elf(
      elf_begin(fd.get(), ELF_C_READ_MMAP_PRIVATE, nullptr), elf_end);
  if (elf == nullptr || elf_kind(elf.get()) != ELF_K_ELF) return waits;
  const bool has_code_of_others = HasSanitizerCode(elf.get());
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf.get(), section)) != nullptr;) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr) continue;
    if (header.sh_type == SHT_DYNSYM) AddCalls(elf.get(), section, header, &waits);
    if (header.sh_type == SHT_DYNAMIC) AddLibraries(elf.get(), section, header, &waits);
    const bool is_code = header.sh_type == SHT_PROGBITS && (header.sh_flags & SHF_EXECINSTR) != 0;
    if (!is_code || has_code_of_others) continue;
    const Elf_Data* const data = elf_rawdata(section, nullptr);
    if (data == nullptr || data->d_buf == nullptr) continue;
    waits.own_system_calls.merge(
        OwnSystemCalls({static_cast<const char*>(data->d_buf), data->d_size}));
  }
  return waits;
}

}  // namespace coz::supervisor
