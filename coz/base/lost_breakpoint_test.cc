#include "coz/base/lost_breakpoint.h"

#include "gtest/gtest.h"

namespace coz {
namespace {

constexpr uint8_t kNop = 0x90;
constexpr uint8_t kInt1 = 0xf1;

bool IsLost(int code, greg_t exception, uint8_t instruction = kNop) {
  siginfo_t info = {};
  info.si_code = code;
  ucontext_t context = {};
  context.uc_mcontext.gregs[REG_TRAPNO] = exception;
  context.uc_mcontext.gregs[REG_RIP] = reinterpret_cast<greg_t>(&instruction);
  return IsLostBreakpoint(info, context);
}

TEST(LostBreakpointRuleTest, BreakpointWithoutReasonIsToldFromTheProgramsOwnTraps) {
  EXPECT_TRUE(IsLost(TRAP_BRKPT, 1));
  EXPECT_FALSE(IsLost(TRAP_BRKPT, 3)) << "int3";
  EXPECT_FALSE(IsLost(SI_KERNEL, 3)) << "int3, as Linux tells it";
  EXPECT_FALSE(IsLost(TRAP_TRACE, 1)) << "a single step";
  EXPECT_FALSE(IsLost(SI_TKILL, 0)) << "raise()";
}

TEST(LostBreakpointRuleTest, ProgramsOwnInt1IsNotTriedAgain) {
  EXPECT_FALSE(IsLost(TRAP_BRKPT, 1, kInt1));
}

}  // namespace
}  // namespace coz
