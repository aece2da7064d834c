// System call instructions whose place is taken by a routine.
#include <gtest/gtest.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "coz/patch/code_patcher.h"
#include "coz/patch/place_plan.h"
#include "coz/patch/testing/patched_self.h"

namespace coz::patch {
namespace {

// Makes a system call as Go's futex does: four bytes and a return stand behind the instruction.
// Gives back what the kernel has to leave alone, too.
struct Registers {
  long rdi, rsi, rdx, r10, r8, r9;
};
extern "C" long MakeCall(long number, Registers* registers);
extern "C" const uint8_t kMakeCallInstruction[];
extern "C" const uint8_t kMakeCallEnd[];
asm(R"(
.text
.globl MakeCall
.type MakeCall, @function
MakeCall:
  push %rbx
  push %r12
  mov %rsi,%rbx
  mov %rsp,%r12
  mov %rdi,%rax
  mov (%rbx),%rdi; mov 8(%rbx),%rsi; mov 16(%rbx),%rdx
  mov 24(%rbx),%r10; mov 32(%rbx),%r8; mov 40(%rbx),%r9
.globl kMakeCallInstruction
kMakeCallInstruction:
  syscall
  mov %rdi,(%rbx)
  mov %rsi,8(%rbx); mov %rdx,16(%rbx); mov %r10,24(%rbx); mov %r8,32(%rbx); mov %r9,40(%rbx)
  mov %r12,%rsp
  pop %r12
  pop %rbx
  ret
.globl kMakeCallEnd
kMakeCallEnd:
.size MakeCall, . - MakeCall

# Answers getppid itself, and leaves all other calls to the instruction.
.globl AnswerGetppid
.type AnswerGetppid, @function
AnswerGetppid:
  cmp $110,%eax
  jne 1f
  mov $4242,%eax
  add $2,%rcx
1:
  jmp *%rcx
.size AnswerGetppid, . - AnswerGetppid
)");
extern "C" void AnswerGetppid();

PlacePlan PlanOfMakeCall() {
  const auto* const begin = reinterpret_cast<const uint8_t*>(&MakeCall);
  const auto bytes = static_cast<size_t>(kMakeCallEnd - begin);
  const auto offset = static_cast<size_t>(kMakeCallInstruction - begin);
  return PlanSystemCall({begin, bytes, bytes, offset});
}

std::optional<CodePatch> PatchOfMakeCall() {
  CallEdge edge = {};
  edge.routine = reinterpret_cast<uint64_t>(&AnswerGetppid);
  return self::PatchFor(PlanOfMakeCall(), reinterpret_cast<uint64_t>(kMakeCallInstruction),
                        self::CounterOf(0), 0, edge);
}

TEST(SystemCallTest, OtherInstructionsAreNoPlace) {
  const std::vector<uint8_t> code = {0x48, 0x31, 0xc0, 0x0f, 0x05, 0xc3};  // xor rax,rax; syscall
  const PlacePlan plan = PlanSystemCall({code.data(), code.size(), code.size(), 0});
  EXPECT_EQ(plan.way, Way::kNone);
  EXPECT_NE(plan.why_none, "");
}

// Without another function behind it, whose bytes the jump could share.
TEST(SystemCallTest, ItGetsAJumpOrNothing) {
  const std::vector<uint8_t> code = {0x0f, 0x05, 0xc3};
  const PlacePlan plan = PlanSystemCall({code.data(), code.size(), code.size(), 0});
  EXPECT_EQ(plan.way, Way::kNone);
  EXPECT_NE(plan.why_none, "");
}

TEST(SystemCallTest, OnlyTheFirstInstructionIsReplaced) {
  const std::vector<uint8_t> code = {0x0f, 0x05, 0x0f, 0x05, 0x90, 0xc3, 0xcc, 0xcc};
  const PlacePlan plan = PlanSystemCall({code.data(), 6, code.size(), 0});
  EXPECT_NE(plan.why_no_jump, "") << "the second has no copy";
  EXPECT_EQ(plan.displaced.size(), sizeof(kSystemCall));
  EXPECT_EQ(plan.shared_bytes, kJumpBytes - sizeof(kSystemCall));
}

TEST(SystemCallTest, NeedsARoutine) {
  EXPECT_FALSE(self::PatchFor(PlanOfMakeCall(), reinterpret_cast<uint64_t>(kMakeCallInstruction), 0)
                   .has_value());
}

TEST(SystemCallTest, TheRoutineAnswersOrLeavesTheCallToTheInstruction) {
  const auto patch = PatchOfMakeCall();
  ASSERT_TRUE(patch.has_value());
  ASSERT_EQ(InsertPatch(*patch), PatchResult::kDone);
  const Registers given = {1, 2, 3, 4, 5, 6};
  Registers registers = given;
  EXPECT_EQ(MakeCall(SYS_getppid, &registers), 4242);
  EXPECT_EQ(MakeCall(SYS_gettid, &registers), gettid());
  EXPECT_EQ(memcmp(&registers, &given, sizeof(given)), 0);
  ASSERT_EQ(RemovePatch(patch->address), PatchResult::kDone);
  EXPECT_EQ(MakeCall(SYS_getppid, &registers), getppid());
}

bool SleepsInFutex(pid_t tid) {
  std::ifstream file("/proc/self/task/" + std::to_string(tid) + "/syscall");
  long number = -1;
  file >> number;
  return number == SYS_futex;
}

// It comes out of the kernel within the bytes that were changed meanwhile.
TEST(SystemCallTest, ThreadInTheCallGoesOnRight) {
  self::HandleTraps();
  std::atomic<uint32_t> word = 0;
  std::atomic<pid_t> tid = 0;
  long result = -1;
  std::thread waiter([&] {
    tid = gettid();
    Registers registers = {reinterpret_cast<long>(&word), FUTEX_WAIT_PRIVATE, 0, 0, 0, 0};
    result = MakeCall(SYS_futex, &registers);
  });
  while (tid == 0 || !SleepsInFutex(tid)) std::this_thread::yield();
  const auto patch = PatchOfMakeCall();
  ASSERT_TRUE(patch.has_value());
  ASSERT_EQ(InsertPatch(*patch), PatchResult::kDone);
  word = 1;
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1);
  waiter.join();
  EXPECT_EQ(result, 0);
  ASSERT_EQ(RemovePatch(patch->address), PatchResult::kDone);
}

}  // namespace
}  // namespace coz::patch
