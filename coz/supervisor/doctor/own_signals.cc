#include "coz/supervisor/doctor/own_signals.h"

#include <fcntl.h>
#include <gelf.h>
#include <signal.h>
#include <sys/syscall.h>

#include <cstdint>
#include <cstring>
#include <memory>

#include "coz/base/unique_fd.h"
#include "coz/supervisor/doctor/sanitizer_code.h"

namespace coz::supervisor {
namespace {

// The encodings of a move of a constant to a register.
constexpr std::string_view kToEax("\xb8", 1);
constexpr std::string_view kToRax("\x48\xc7\xc0", 3);
constexpr char kToEdi = '\xbf';
static_assert(SYS_rt_sigaction == 13 && SIGTRAP == 5);

std::string Moves(std::string_view move, uint32_t constant) {
  std::string bytes(move);
  bytes.append(reinterpret_cast<const char*>(&constant), sizeof(constant));
  return bytes;
}

bool NamesAnotherSignal(std::string_view before) {
  const size_t at = before.rfind(kToEdi);
  uint32_t signal = 0;
  if (at == std::string_view::npos || at + 1 + sizeof(signal) > before.size()) return false;
  memcpy(&signal, before.data() + at + 1, sizeof(signal));
  constexpr uint32_t kSignals = 64;
  return signal >= 1 && signal <= kSignals && signal != SIGTRAP;
}

bool SetsActionOfTrapIn(Elf_Scn* section) {
  const Elf_Data* const data = elf_rawdata(section, nullptr);
  return data != nullptr && data->d_buf != nullptr &&
         SetsActionOfTrap({static_cast<const char*>(data->d_buf), data->d_size});
}

}  // namespace

bool SetsActionOfTrap(std::string_view code) {
  constexpr std::string_view kSyscall("\x0f\x05", 2);
  constexpr size_t kNear = 32;  // the arguments are set in between
  for (const std::string_view move : {kToEax, kToRax}) {
    const std::string number = Moves(move, SYS_rt_sigaction);
    for (size_t at = 0; (at = code.find(number, at)) != std::string_view::npos; ++at) {
      const size_t end = at + number.size();
      const size_t call = code.substr(end, kNear).find(kSyscall);
      if (call == std::string_view::npos) continue;
      const size_t begin = at < kNear ? 0 : at - kNear;
      if (!NamesAnotherSignal(code.substr(begin, end + call - begin))) return true;
    }
  }
  return false;
}

bool TakesSignalsItself(const sourcemap::BinaryInfo& info) {
  if (info.is_go) return false;
  const UniqueFd fd(open(info.path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.ok()) return false;
  elf_version(EV_CURRENT);
  const std::unique_ptr<Elf, int (*)(Elf*)> elf(
      elf_begin(fd.get(), ELF_C_READ_MMAP_PRIVATE, nullptr), elf_end);
  if (elf == nullptr || elf_kind(elf.get()) != ELF_K_ELF) return false;
  if (HasSanitizerCode(elf.get())) return false;
  bool sets = false;
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf.get(), section)) != nullptr;) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr) continue;
    const bool is_code = header.sh_type == SHT_PROGBITS && (header.sh_flags & SHF_EXECINSTR) != 0;
    if (is_code && !sets) sets = SetsActionOfTrapIn(section);
  }
  return sets;
}

}  // namespace coz::supervisor
