// What a changed function does is what it did before, and counts.
#include <gtest/gtest.h>
#include <signal.h>
#include <ucontext.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "coz/patch/code_patcher.h"
#include "coz/patch/patch_result.h"
#include "coz/patch/place_plan.h"
#include "coz/patch/relocation.h"
#include "coz/patch/testing/made_code.h"
#include "coz/patch/testing/patched_self.h"

namespace coz::patch {
namespace {

using ::coz::patch::made::Bytes;
using ::coz::patch::made::IsEqual;
using ::coz::patch::made::Kind;
using ::coz::patch::made::KindOf;
using ::coz::patch::made::NameOf;
using ::coz::patch::made::PlanFor;
using ::coz::patch::made::RunAll;
using ::coz::patch::made::RunInState;
using ::coz::patch::made::StartState;
using ::coz::patch::made::State;

// A function, and what is expected of the plan for one of its places.
struct Sample {
  const char* name;
  Bytes code;
  size_t offset = 0;
  uint64_t visits = 1;
  bool has_no_room = false;  // for a jump that shares no bytes
};

// At a function's entry flags mean nothing, unless it reads them.
std::vector<State> WithoutFlags(std::vector<State> states, bool without) {
  for (State& state : states) {
    if (without) state.flags = 0;
  }
  return states;
}

const Sample kSamples[] = {
    {"rip-relative load", {0x48, 0x8b, 0x05, 1, 0, 0, 0, 0xc3, 1, 2, 3, 4, 5, 6, 7, 8}, 0, 1},
    {"rip-relative lea", {0x48, 0x8d, 0x15, 0x10, 0, 0, 0, 0xc3}},
    // cmp dword [rip+2], 0x04030201; ret
    {"rip-relative compare", {0x81, 0x3d, 1, 0, 0, 0, 1, 2, 3, 4, 0xc3, 1, 2, 3, 4}},
    // cmp rcx,rdx; jb +3; inc rbx; nop; ret
    {"short branch", {0x48, 0x39, 0xd1, 0x72, 3, 0x48, 0xff, 0xc3, 0x90, 0xc3}},
    {"branch by carry", {0x72, 3, 0x48, 0xff, 0xc3, 0x90, 0xc3}},
    {"branch by overflow", {0x71, 3, 0x48, 0xff, 0xc3, 0x90, 0xc3}},
    {"long branch", {0x0f, 0x84, 3, 0, 0, 0, 0x48, 0xff, 0xc3, 0x90, 0xc3}},
    {"short jump", {0xeb, 3, 0x48, 0xff, 0xc3, 0x48, 0xff, 0xc2, 0xc3}, 0, 1, true},
    {"long jump", {0xe9, 3, 0, 0, 0, 0x48, 0xff, 0xc3, 0x48, 0xff, 0xc2, 0xc3}},
    // inc rbx; loop back: the place is the loop instruction
    {"loop", {0x48, 0xff, 0xc3, 0xe2, 0xfb, 0x90, 0x90, 0x90, 0xc3}, 3, 3},
    {"jrcxz", {0xe3, 3, 0x48, 0xff, 0xc3, 0x90, 0xc3}},
    {"jecxz", {0x67, 0xe3, 3, 0x48, 0xff, 0xc3, 0x90, 0xc3}},
    // call +1; ret; mov rdx,[rsp]; ret
    {"call", {0xe8, 1, 0, 0, 0, 0xc3, 0x48, 0x8b, 0x14, 0x24, 0xc3}},
    // lea rax,[rip+3]; call rax; ret: the place is the call
    {"call by register",
     {0x48, 0x8d, 0x05, 3, 0, 0, 0, 0xff, 0xd0, 0xc3, 0x48, 0x8b, 0x14, 0x24, 0xc3},
     7,
     1,
     true},
    // push rbp; mov rbp,rsp; push rbx; pop rbx; pop rbp; ret
    {"frame", {0x55, 0x48, 0x89, 0xe5, 0x53, 0x5b, 0x5d, 0xc3}},
    {"endbr64", {0xf3, 0x0f, 0x1e, 0xfa, 0x55, 0x48, 0x89, 0xe5, 0x5d, 0xc3}},
    {"saved registers", {0x41, 0x57, 0x41, 0x56, 0x41, 0x5e, 0x41, 0x5f, 0xc3}},
    {"stack space", {0x48, 0x83, 0xec, 0x18, 0x48, 0x89, 0x04, 0x24, 0x48, 0x83, 0xc4, 0x18, 0xc3}},
    {"flags at the entry", {0x48, 0x11, 0xd8, 0x0f, 0x92, 0xc2, 0xc3}},
    {"four bytes", {0x48, 0x01, 0xd8, 0xc3}},
    {"one byte", {0xc3}},
    {"nop sled", {0x90, 0x90, 0x90, 0x90, 0x90, 0x48, 0xff, 0xc3, 0xc3}},
    {"long nop", {0x0f, 0x1f, 0x44, 0, 0, 0x48, 0xff, 0xc3, 0xc3}},
    // XRay: jmp over a nop of nine bytes
    {"XRay sled", {0xeb, 9, 0x66, 0x0f, 0x1f, 0x84, 0, 0, 2, 0, 0, 0x48, 0xff, 0xc3, 0xc3}},
    // mov [rsp-8],rdi; nop (a USDT probe); mov rax,[rsp-8]; ret
    {"red zone", {0x48, 0x89, 0x7c, 0x24, 0xf8, 0x90, 0x48, 0x8b, 0x44, 0x24, 0xf8, 0xc3}, 5},
    // cmp rcx,rdx; mov rax,rdi; lea rsi,[rdi+1]; setb bl; ret: flags live at the place
    {"flags within",
     {0x48, 0x39, 0xd1, 0x48, 0x89, 0xf8, 0x48, 0x8d, 0x77, 1, 0x0f, 0x92, 0xc3, 0xc3},
     3},
    {"flags that overflow",
     {0x48, 0x01, 0xd1, 0x48, 0x89, 0xf8, 0x48, 0x8d, 0x77, 1, 0x0f, 0x90, 0xc3, 0xc3},
     3},
    {"rotate with carry", {0x48, 0xd1, 0xd8, 0x48, 0x8d, 0x77, 1, 0xc3}},
    {"vector", {0x66, 0x48, 0x0f, 0x6e, 0xc7, 0x66, 0x48, 0x0f, 0x7e, 0xc0, 0xc3}},
};

class RelocatedCodeTest : public testing::TestWithParam<size_t> {
 protected:
  static void SetUpTestSuite() { self::HandleTraps(); }
};

bool CanShareBytes(const Sample& sample, size_t offset) {
  const size_t bytes = Decode(&sample.code[offset], sample.code.size() - offset)->bytes;
  return bytes > 1 && bytes < kJumpBytes;
}

// By a jump the flags at an entry are lost, where the function does not read them.
bool LosesFlags(const PlacePlan& plan) { return plan.way == Way::kJump && !plan.keeps_flags; }

void ExpectSame(const Sample& sample, Kind kind) {
  SCOPED_TRACE(sample.name + NameOf(kind));
  const uint8_t* function = made::Add(sample.code);
  const PlacePlan plan = PlanFor(function, sample.code.size(), sample.offset, kind);
  if (kind == Kind::kJump && sample.has_no_room) {
    EXPECT_EQ(KindOf(plan), Kind::kSharedJump);
  } else if (kind == Kind::kSharedJump && !CanShareBytes(sample, plan.offset)) {
    if (plan.way == Way::kNone) return;
    EXPECT_EQ(plan.instructions.size(), 2u);
  } else {
    ASSERT_EQ(KindOf(plan), kind) << plan.why_none;
  }
  const bool loses_flags = LosesFlags(plan);
  const std::vector<State> before = WithoutFlags(RunAll(function), loses_flags);
  const uint64_t place = reinterpret_cast<uint64_t>(function) + plan.offset;
  const std::optional<CodePatch> patch = self::PatchFor(plan, place, 0);
  ASSERT_TRUE(patch.has_value());
  ASSERT_EQ(InsertPatch(*patch), PatchResult::kDone);
  EXPECT_EQ(InsertPatch(*patch), PatchResult::kAlready);
  const uint64_t visits = self::SharedVisits(0);
  const std::vector<State> with = WithoutFlags(RunAll(function), loses_flags);
  EXPECT_EQ(self::SharedVisits(0) - visits, sample.visits * before.size());
  EXPECT_TRUE(IsEqual(before, with));
  ASSERT_EQ(RemovePatch(place), PatchResult::kDone);
  EXPECT_EQ(memcmp(function, sample.code.data(), sample.code.size()), 0);
  EXPECT_TRUE(IsEqual(before, WithoutFlags(RunAll(function), loses_flags)));
  EXPECT_EQ(self::SharedVisits(0) - visits, sample.visits * before.size());
}

TEST_P(RelocatedCodeTest, GivesEqualResultsByAJump) {
  ExpectSame(kSamples[GetParam()], Kind::kJump);
}
TEST_P(RelocatedCodeTest, GivesEqualResultsByAJumpThatSharesBytes) {
  ExpectSame(kSamples[GetParam()], Kind::kSharedJump);
}
TEST_P(RelocatedCodeTest, GivesEqualResultsByAnInt3) {
  ExpectSame(kSamples[GetParam()], Kind::kTrap);
}

INSTANTIATE_TEST_SUITE_P(Samples, RelocatedCodeTest,
                         testing::Range(size_t{0}, std::size(kSamples)));

// The first two visits have no begin.
TEST_P(RelocatedCodeTest, CountsOnlyEndsThatHaveABegin) {
  const Sample& sample = kSamples[GetParam()];
  for (const auto& [kind, is_shared] : {std::pair(Kind::kJump, 0), std::pair(Kind::kSharedJump, 0),
                                        std::pair(Kind::kTrap, 0), std::pair(Kind::kJump, 1)}) {
    const uint8_t* function = made::Add(sample.code);
    const PlacePlan plan = PlanFor(function, sample.code.size(), sample.offset, kind);
    if (plan.way == Way::kNone || sample.visits != 1) continue;
    SCOPED_TRACE(sample.name + NameOf(kind));
    const bool loses_flags = LosesFlags(plan);
    const std::vector<State> before = WithoutFlags(RunAll(function), loses_flags);
    const uint64_t place = reinterpret_cast<uint64_t>(function) + plan.offset;
    CounterPlace counter = self::CounterOfEnds(1, 2, 3);
    counter.is_shared = is_shared;
    const auto patch = self::PatchFor(plan, place, counter);
    ASSERT_TRUE(patch.has_value());
    ASSERT_EQ(InsertPatch(*patch), PatchResult::kDone);
    uint64_t counters[self::kCounters] = {};
    self::CountIn(counters);
    counters[1] = 5;
    counters[2] = 3;
    State state = StartState(1, 0);
    RunInState(&state, function);
    state = StartState(1, 0);
    RunInState(&state, function);
    EXPECT_EQ(counters[1], 5u);
    EXPECT_EQ(counters[3], 2u);
    counters[2] = 7;
    const std::vector<State> with = WithoutFlags(RunAll(function), loses_flags);
    self::CountIn(nullptr);
    EXPECT_EQ(counters[1], 7u);
    EXPECT_EQ(counters[3], before.size());
    EXPECT_TRUE(IsEqual(before, with));
    ASSERT_EQ(RemovePatch(place), PatchResult::kDone);
  }
}

// Also by locked increments, as for threads that share a counter.
TEST_P(RelocatedCodeTest, CountsForEveryPointAtThePlace) {
  const Sample& sample = kSamples[GetParam()];
  for (const auto& [kind, is_shared] : {std::pair(Kind::kJump, 0), std::pair(Kind::kSharedJump, 0),
                                        std::pair(Kind::kTrap, 0), std::pair(Kind::kJump, 1)}) {
    const uint8_t* function = made::Add(sample.code);
    const PlacePlan plan = PlanFor(function, sample.code.size(), sample.offset, kind);
    if (plan.way == Way::kNone) continue;
    SCOPED_TRACE(sample.name + NameOf(kind));
    const bool loses_flags = LosesFlags(plan);
    const std::vector<State> before = WithoutFlags(RunAll(function), loses_flags);
    const uint64_t place = reinterpret_cast<uint64_t>(function) + plan.offset;
    CounterPlace counter = self::CounterOf(1);
    counter.others[0] = self::CounterOf(2).displacement;
    counter.others[1] = self::CounterOf(3).displacement;
    counter.is_shared = is_shared;
    const auto patch = self::PatchFor(plan, place, counter);
    ASSERT_TRUE(patch.has_value());
    ASSERT_EQ(InsertPatch(*patch), PatchResult::kDone);
    uint64_t counters[self::kCounters] = {};
    self::CountIn(counters);
    const std::vector<State> with = WithoutFlags(RunAll(function), loses_flags);
    self::CountIn(nullptr);
    EXPECT_EQ(counters[1], sample.visits * before.size());
    EXPECT_EQ(counters[2], counters[1]);
    EXPECT_EQ(counters[3], counters[1]);
    EXPECT_TRUE(IsEqual(before, with));
    ASSERT_EQ(RemovePatch(place), PatchResult::kDone);
  }
}

// Steps through a function by the trap flag and notes for each instruction what it stands for.
struct Stepped {
  uint64_t original;
  uint64_t stack;
  bool is_known;
};
std::vector<Stepped> g_stepped;
const uint8_t* g_stepped_function = nullptr;

void OnStep(int, siginfo_t* info, void* context) {
  auto* interrupted = static_cast<ucontext_t*>(context);
  if (TakeTrap(*info, interrupted)) return;
  const auto ip = static_cast<uint64_t>(interrupted->uc_mcontext.gregs[REG_RIP]);
  const auto stack = static_cast<uint64_t>(interrupted->uc_mcontext.gregs[REG_RSP]);
  const auto begin = reinterpret_cast<uint64_t>(g_stepped_function);
  if (ip >= begin && ip < begin + made::kFunctionBytes) {
    g_stepped.push_back({ip, stack, true});
    return;
  }
  Original original = {};
  if (OriginalOf(ip, &original)) {
    g_stepped.push_back({original.address, stack + original.pushed_bytes, true});
  }
}

std::vector<Stepped> StepThrough(const uint8_t* function) {
  struct sigaction action = {};
  struct sigaction old = {};
  action.sa_sigaction = OnStep;
  action.sa_flags = static_cast<int>(SA_SIGINFO);
  sigaction(SIGTRAP, &action, &old);
  g_stepped.clear();
  g_stepped_function = function;
  State state = StartState(1, 0x100);
  RunInState(&state, function);
  // The trap flag stays set until it is cleared here.
  asm volatile("pushfq; andq $~0x100,(%%rsp); popfq" : : : "memory", "cc");
  sigaction(SIGTRAP, &old, nullptr);
  return g_stepped;
}

// Each distinct original address in order of the walk, with its stack.
std::vector<std::pair<uint64_t, uint64_t>> Path(const std::vector<Stepped>& stepped) {
  std::vector<std::pair<uint64_t, uint64_t>> path;
  for (const Stepped& step : stepped) {
    if (path.empty() || path.back().first != step.original)
      path.emplace_back(step.original, step.stack);
    else
      EXPECT_EQ(path.back().second, step.stack);
  }
  return path;
}

void ExpectStepsOfOriginal(const Sample& sample, Kind kind) {
  SCOPED_TRACE(sample.name + NameOf(kind));
  const uint8_t* function = made::Add(sample.code);
  const auto before = Path(StepThrough(function));
  ASSERT_GT(before.size(), 2);
  const PlacePlan plan = PlanFor(function, sample.code.size(), sample.offset, kind);
  if (plan.way == Way::kNone) return;
  const std::optional<CodePatch> patch =
      self::PatchFor(plan, reinterpret_cast<uint64_t>(function) + plan.offset, 0);
  ASSERT_TRUE(patch.has_value());
  ASSERT_EQ(InsertPatch(*patch), PatchResult::kDone);
  const auto with = Path(StepThrough(function));
  // Addresses and stacks of the walk are the same, but for that which the jump back stands for.
  EXPECT_EQ(before, with);
  ASSERT_EQ(RemovePatch(patch->address), PatchResult::kDone);
}

TEST(OriginalOfTest, EveryInstructionOfAStubStandsForOneOfTheFunction) {
  self::HandleTraps();
  for (const char* name : {"frame", "saved registers", "red zone", "flags within", "call"}) {
    for (const Sample& sample : kSamples) {
      if (strcmp(sample.name, name) != 0) continue;
      ExpectStepsOfOriginal(sample, Kind::kJump);
      ExpectStepsOfOriginal(sample, Kind::kSharedJump);
    }
  }
}

}  // namespace
}  // namespace coz::patch
