#include "coz/base/lost_breakpoint.h"

namespace coz {
namespace {

constexpr greg_t kDebugException = 1;  // a program's own `int3` is exception 3
constexpr uint8_t kInt1 = 0xf1;

}  // namespace

uint64_t InterruptedIp(const ucontext_t& context) {
  return static_cast<uint64_t>(context.uc_mcontext.gregs[REG_RIP]);
}

bool IsLostBreakpoint(const siginfo_t& info, const ucontext_t& context) {
  if (info.si_code != TRAP_BRKPT || context.uc_mcontext.gregs[REG_TRAPNO] != kDebugException) {
    return false;
  }
  // Some hypervisors report the program's own `int1` at that instruction, not behind it. Tried
  // again, it would come for ever.
  return *reinterpret_cast<const uint8_t*>(InterruptedIp(context)) != kInt1;
}

}  // namespace coz
