#include "coz/base/ring_wait.h"

#include <sys/syscall.h>

#include <cerrno>
#include <cstring>

#include "coz/base/raw_syscall.h"
#include "coz/base/readable.h"

#ifndef SYS_io_uring_enter
#define SYS_io_uring_enter 426
#endif

namespace coz {
namespace {

// Of linux/io_uring.h; those of Debian 12 lack some.
constexpr uint32_t kGetEvents = 1;
constexpr uint32_t kExtArg = 8;
constexpr uint32_t kRegisteredRing = 16;
constexpr uint32_t kExtArgReg = 64;
constexpr uint32_t kAllFlags = 255;

// A ring has no more completions, and no pointer is that low.
constexpr greg_t kMaxCompletions = 65535;

constexpr int kSyscallBytes = 2;
constexpr int kLoadBytes = 5;  // mov $number, %eax
constexpr uint8_t kLoad = 0xb8;
constexpr uint8_t kSyscall[kSyscallBytes] = {0x0f, 0x05};

uint32_t Low(greg_t value) { return static_cast<uint32_t>(value); }

// The arguments of io_uring_enter and a result that a cut wait may have.
bool LooksLikeCutWait(const greg_t* registers) {
  const uint32_t submitted = Low(registers[REG_RSI]);
  const uint32_t flags = Low(registers[REG_R10]);
  const greg_t least = registers[REG_RDX];
  if (least < 1 || least > kMaxCompletions) return false;
  if ((flags & kGetEvents) == 0 || (flags & ~kAllFlags) != 0) return false;
  if (registers[REG_RAX] == -EINTR) return submitted == 0;
  if (registers[REG_RAX] != submitted || (flags & (kExtArg | kExtArgReg)) != 0) return false;
  // The first completion is there where nothing was submitted.
  return submitted == 0 ? least > 1 : registers[REG_R8] == 0;
}

// Asks for nothing, of a ring.
bool IsRing(greg_t descriptor, uint32_t flags) {
  return RawSyscall(SYS_io_uring_enter, descriptor, 0, 0, flags & kRegisteredRing, 0, 0) == 0;
}

// The kernel does not tell a handler the number of the call. liburing and the functions of libc
// load it in the instruction before; libc's syscall() does not.
bool IsRingCall(const greg_t* registers) {
  uint8_t code[kLoadBytes + kSyscallBytes];
  const auto start = static_cast<uintptr_t>(registers[REG_RIP]) - sizeof(code);
  if (!IsReadable(reinterpret_cast<const void*>(start), sizeof(code))) return false;
  memcpy(code, reinterpret_cast<const void*>(start), sizeof(code));
  if (memcmp(code + kLoadBytes, kSyscall, kSyscallBytes) != 0) return false;
  if (code[0] != kLoad) return IsRing(registers[REG_RDI], Low(registers[REG_R10]));
  uint32_t number;
  memcpy(&number, code + 1, sizeof(number));
  return number == SYS_io_uring_enter;
}

}  // namespace

namespace ring_wait_internal {

bool MayBeCutShort(const greg_t* registers) {
  return registers[REG_R11] == registers[REG_EFL] && LooksLikeCutWait(registers) &&
         IsRingCall(registers);
}

}  // namespace ring_wait_internal

void GoOnWithRingWait(ucontext_t* context, uint64_t mask) {
  greg_t* registers = context->uc_mcontext.gregs;
  if (Low(registers[REG_RSI]) == 0) {
    registers[REG_RAX] = SYS_io_uring_enter;
    registers[REG_RIP] -= kSyscallBytes;
    return;
  }
  RawSyscall(SYS_io_uring_enter, registers[REG_RDI], 0, registers[REG_RDX], registers[REG_R10],
             &mask, sizeof(mask));
  LeaveRingWait(context);
}

// No code relies on the register, since a system call changes it.
void LeaveRingWait(ucontext_t* context) { context->uc_mcontext.gregs[REG_RCX] = 0; }

}  // namespace coz
