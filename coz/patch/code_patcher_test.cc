#include "coz/patch/code_patcher.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "coz/patch/patch_builder.h"
#include "coz/patch/patch_result.h"
#include "coz/patch/place_plan.h"
#include "coz/patch/testing/made_code.h"
#include "coz/patch/testing/patched_self.h"

namespace coz::patch {
namespace {

using ::coz::patch::made::Bytes;
using ::coz::patch::made::Function;
using ::coz::patch::made::IsEqual;
using ::coz::patch::made::kAddsFortyTwo;
using ::coz::patch::made::Kind;
using ::coz::patch::made::KindOf;
using ::coz::patch::made::NameOf;
using ::coz::patch::made::PlanFor;
using ::coz::patch::made::RunAll;
using ::coz::patch::made::State;

TEST(CodePatcherTest, SemaphoreIsRaisedWhileThePlaceIsChanged) {
  const Bytes code = {0x55, 0x48, 0x89, 0xe5, 0x90, 0x5d, 0xc3};
  const uint8_t* function = made::Add(code);
  static uint16_t semaphore = 7;
  const PlacePlan plan = PlanFor(function, code.size(), 0, Kind::kJump);
  const auto patch = self::PatchFor(plan, reinterpret_cast<uint64_t>(function), self::CounterOf(1),
                                    reinterpret_cast<uint64_t>(&semaphore));
  ASSERT_TRUE(patch.has_value());
  for (int round = 0; round < 2; ++round) {
    ASSERT_EQ(InsertPatch(*patch), PatchResult::kDone);
    EXPECT_EQ(InsertPatch(*patch), PatchResult::kAlready);
    EXPECT_EQ(semaphore, 8);
    ASSERT_EQ(RemovePatch(patch->address), PatchResult::kDone);
    EXPECT_EQ(RemovePatch(patch->address), PatchResult::kNoSuchPatch);
    EXPECT_EQ(semaphore, 7);
  }
}

// A jump into the displaced bytes meets an int3 there.
TEST(CodePatcherTest, ThreadWithinTheDisplacedBytesGoesOnRight) {
  self::HandleTraps();
  // push rbp; mov rbp,rsp; inc rbx; pop rbp; ret
  const Bytes code = {0x55, 0x48, 0x89, 0xe5, 0x48, 0xff, 0xc3, 0x5d, 0xc3};
  const uint8_t* function = made::Add(code);
  const PlacePlan plan = PlanFor(function, code.size(), 0, Kind::kJump);
  const auto patch = self::PatchFor(plan, reinterpret_cast<uint64_t>(function), 1);
  ASSERT_TRUE(patch.has_value());
  ASSERT_EQ(patch->needs_one_thread, 0);
  // push rbp; jmp to the second instruction
  Bytes enter = {0x55, 0xe9, 0, 0, 0, 0};
  uint8_t* entry = made::Add(enter);
  const auto distance = static_cast<int32_t>(function + 1 - (entry + enter.size()));
  memcpy(&enter[2], &distance, sizeof(distance));
  entry = made::Add(enter);
  const auto moved = static_cast<int32_t>(function + 1 - (entry + enter.size()));
  memcpy(&enter[2], &moved, sizeof(moved));
  mprotect(reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(entry) & ~uintptr_t{4095}), 4096,
           PROT_READ | PROT_WRITE);
  memcpy(entry, enter.data(), enter.size());
  mprotect(reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(entry) & ~uintptr_t{4095}), 4096,
           PROT_READ | PROT_EXEC);
  const std::vector<State> before = RunAll(entry);
  ASSERT_EQ(InsertPatch(*patch), PatchResult::kDone);
  EXPECT_TRUE(IsEqual(before, RunAll(entry)));
  EXPECT_EQ(self::SharedVisits(1), 0);  // it did not come through the entry
  ASSERT_EQ(RemovePatch(patch->address), PatchResult::kDone);
}

// How often code is changed while threads run it: a few times here, 100,000 with
// COZ_PATCH_CHANGES=100000.
uint64_t WantedChanges() {
  const char* wanted = getenv("COZ_PATCH_CHANGES");
  return wanted != nullptr ? strtoull(wanted, nullptr, 10) : 500;
}

struct CalledPlace {
  Bytes code;  // of a function that adds 42
  size_t offset;
  uint64_t visits;  // of a call
};

// Four threads call a function while it is changed and changed back. What it returns is right each
// time, and visits are those of calls that began while it was changed: all of them at the end.
void ChangeWhileThreadsCall(const CalledPlace& place, Kind kind, size_t counter) {
  self::HandleTraps();
  const uint8_t* function = made::Add(place.code);
  const auto call = reinterpret_cast<Function>(reinterpret_cast<uintptr_t>(function));
  const PlacePlan plan = PlanFor(function, place.code.size(), place.offset, kind);
  ASSERT_EQ(KindOf(plan), kind);
  const auto patch =
      self::PatchFor(plan, reinterpret_cast<uint64_t>(function) + place.offset, counter);
  ASSERT_TRUE(patch.has_value());
  constexpr size_t kThreads = 4;
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> wrong{0};
  std::atomic<uint64_t> calls{0};
  static uint64_t counters[kThreads][self::kCounters];
  memset(counters, 0, sizeof(counters));
  std::atomic<int> phase{0};  // 1: changed for good; 2: all have counted
  std::atomic<size_t> calling{0};
  std::atomic<size_t> ready{0};
  std::vector<std::thread> threads;
  for (size_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      self::CountIn(counters[i]);
      uint64_t made = 0;
      while (!stop.load(std::memory_order_relaxed)) {
        for (uint64_t k = 0; k < 64; ++k, ++made) {
          if (call(k) != k + 42) wrong.fetch_add(1);
        }
        if (made == 64) calling.fetch_add(1);
      }
      calls.fetch_add(made);
      ready.fetch_add(1);
      while (phase.load() != 1) std::this_thread::yield();
      const uint64_t before = counters[i][counter];
      for (uint64_t k = 0; k < 1000; ++k) {
        if (call(k) != k + 42) wrong.fetch_add(1);
      }
      if (counters[i][counter] - before != 1000 * place.visits) wrong.fetch_add(1);
    });
  }
  // One change is there until all threads call the function, so some visits come meanwhile.
  for (uint64_t i = 0; i < WantedChanges(); ++i) {
    ASSERT_EQ(InsertPatch(*patch), PatchResult::kDone);
    while (i == 0 && calling.load() != kThreads) std::this_thread::yield();
    ASSERT_EQ(RemovePatch(patch->address), PatchResult::kDone);
  }
  stop = true;
  while (ready.load() != kThreads) std::this_thread::yield();
  ASSERT_EQ(InsertPatch(*patch), PatchResult::kDone);
  phase = 1;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(), 0);
  ::testing::Test::RecordProperty("calls", std::to_string(calls.load()));
  uint64_t visits = 0;
  for (const auto& of_thread : counters) visits += of_thread[counter];
  EXPECT_LE(visits, (calls.load() + kThreads * 1000) * place.visits);
  EXPECT_GT(visits, kThreads * 1000 * place.visits);
  ASSERT_EQ(RemovePatch(patch->address), PatchResult::kDone);
  EXPECT_EQ(memcmp(function, place.code.data(), place.code.size()), 0);
}

// lea rax,[rdi+42]; mov ecx,3; jmp to sub; lea ecx,[rcx]; sub ecx,1; jne to lea; ret: the loop's
// head is passed twice, and a jump leads behind its first instruction.
const Bytes kLoops = {0x48, 0x8d, 0x47, 42, 0xb9, 3,    0, 0,    0,    0xeb,
                      3,    0x8d, 0x49, 0,  0x83, 0xe9, 1, 0x75, 0xf8, 0xc3};
constexpr size_t kLoopHead = 11;

TEST(CodePatcherTest, ThreadsRunAJumpWhileItComesAndGoes) {
  ChangeWhileThreadsCall({kAddsFortyTwo, 0, 1}, Kind::kJump, 2);
}

TEST(CodePatcherTest, ThreadsRunAJumpThatSharesBytesWhileItComesAndGoes) {
  ChangeWhileThreadsCall({kAddsFortyTwo, 0, 1}, Kind::kSharedJump, 5);
}

TEST(CodePatcherTest, ThreadsRunALoopWhileAJumpAtItsHeadComesAndGoes) {
  const uint8_t* function = made::Add(kLoops);
  ASSERT_EQ(KindOf(PlanPlace({function, kLoops.size(), made::kFunctionBytes, kLoopHead}, {})),
            Kind::kSharedJump);
  ChangeWhileThreadsCall({kLoops, kLoopHead, 2}, Kind::kSharedJump, 6);
}

TEST(CodePatcherTest, ThreadsRunAnInt3WhileItComesAndGoes) {
  ChangeWhileThreadsCall({kAddsFortyTwo, 0, 1}, Kind::kTrap, 3);
}

// A handler that changes code and calls changed code. By the trap flag it interrupts a change at
// each instruction.
struct InHandler {
  Function call;           // of the place that is being changed
  const CodePatch* other;  // of another place
  size_t counter;          // of both
  uint64_t done;
  uint64_t busy;
  uint64_t wrong;
};
InHandler g_in_handler;

void OnStepOfChange(int, siginfo_t* info, void* context) {
  if (TakeTrap(*info, static_cast<ucontext_t*>(context))) return;
  InHandler& seen = g_in_handler;
  const uint64_t before = self::SharedVisits(seen.counter);
  if (seen.call(1) != 43 || self::SharedVisits(seen.counter) - before > 1) ++seen.wrong;
  const PatchResult inserted = InsertPatch(*seen.other);
  const bool is_busy = inserted == PatchResult::kBusy;
  const PatchResult removed = is_busy ? inserted : RemovePatch(seen.other->address);
  ++(is_busy ? seen.busy : seen.done);
  if (!is_busy && (inserted != PatchResult::kDone || removed != PatchResult::kDone)) ++seen.wrong;
}

// With the trap flag set.
PatchResult StepByStep(PatchResult (*change)(const CodePatch& patch), const CodePatch& patch) {
  asm volatile("pushfq; orq $0x100,(%%rsp); popfq" : : : "memory", "cc");
  const PatchResult result = change(patch);
  asm volatile("pushfq; andq $~0x100,(%%rsp); popfq" : : : "memory", "cc");
  return result;
}

void ChangeInterruptedAtEachInstruction(Kind kind) {
  constexpr size_t kCounter = 4;
  const uint8_t* function = made::Add(kAddsFortyTwo);
  const uint8_t* elsewhere = made::Add(kAddsFortyTwo);
  const auto patch_of = [kind](const uint8_t* code) {
    return self::PatchFor(PlanFor(code, kAddsFortyTwo.size(), 0, kind),
                          reinterpret_cast<uint64_t>(code), kCounter);
  };
  const auto patch = patch_of(function);
  const auto other = patch_of(elsewhere);
  ASSERT_TRUE(patch.has_value() && other.has_value());
  const auto call = reinterpret_cast<Function>(reinterpret_cast<uintptr_t>(function));
  g_in_handler = {call, &*other, kCounter, 0, 0, 0};
  struct sigaction action = {};
  struct sigaction old = {};
  action.sa_sigaction = OnStepOfChange;
  action.sa_flags = static_cast<int>(SA_SIGINFO | SA_NODEFER);
  sigaction(SIGTRAP, &action, &old);
  for (int round = 0; round < 2; ++round) {
    ASSERT_EQ(StepByStep(InsertPatch, *patch), PatchResult::kDone);
    const uint64_t before = self::SharedVisits(kCounter);
    EXPECT_EQ(call(1), 43u);
    EXPECT_EQ(self::SharedVisits(kCounter) - before, 1u);
    const auto remove = [](const CodePatch& inserted) { return RemovePatch(inserted.address); };
    ASSERT_EQ(StepByStep(remove, *patch), PatchResult::kDone);
  }
  sigaction(SIGTRAP, &old, nullptr);
  EXPECT_EQ(memcmp(function, kAddsFortyTwo.data(), kAddsFortyTwo.size()), 0);
  EXPECT_EQ(memcmp(elsewhere, kAddsFortyTwo.data(), kAddsFortyTwo.size()), 0);
  EXPECT_EQ(g_in_handler.wrong, 0u);
  EXPECT_GT(g_in_handler.done, 0u) << "no instruction was outside the lock";
  EXPECT_GT(g_in_handler.busy, 100u);
}

TEST(CodePatcherTest, HandlersInterruptAChangeOfAJumpAtEachInstruction) {
  self::HandleTraps();
  ChangeInterruptedAtEachInstruction(Kind::kJump);
}

TEST(CodePatcherTest, HandlersInterruptAChangeOfSharedBytesAtEachInstruction) {
  self::HandleTraps();
  ChangeInterruptedAtEachInstruction(Kind::kSharedJump);
}

TEST(CodePatcherTest, HandlersInterruptAChangeOfAnInt3AtEachInstruction) {
  self::HandleTraps();
  ChangeInterruptedAtEachInstruction(Kind::kTrap);
}

TEST(CodePatcherTest, OtherBytesThanThoseSeenAreLeftAlone) {
  const uint8_t* function = made::Add(kAddsFortyTwo);
  const PlacePlan plan = PlanFor(function, kAddsFortyTwo.size(), 0, Kind::kJump);
  auto patch = self::PatchFor(plan, reinterpret_cast<uint64_t>(function), 0);
  ASSERT_TRUE(patch.has_value());
  patch->original[3] ^= 1;
  EXPECT_EQ(InsertPatch(*patch), PatchResult::kOtherCode);
  EXPECT_EQ(memcmp(function, kAddsFortyTwo.data(), kAddsFortyTwo.size()), 0);
  EXPECT_EQ(RemovePatch(reinterpret_cast<uint64_t>(function)), PatchResult::kNoSuchPatch);
}

// Of kAddsFortyTwo: the jump is the second instruction and two bytes of the third.
constexpr size_t kSecond = 1;
constexpr size_t kThird = 4;

std::optional<CodePatch> PatchOfFortyTwo(const uint8_t* function, size_t offset, Kind kind) {
  return self::PatchFor(PlanFor(function, kAddsFortyTwo.size(), offset, kind),
                        reinterpret_cast<uint64_t>(function) + offset, 7);
}

TEST(CodePatcherTest, JumpThatSharesBytesChangesOnlyWhatItDisplaces) {
  const uint8_t* function = made::Add(kAddsFortyTwo);
  const auto patch = PatchOfFortyTwo(function, kSecond, Kind::kSharedJump);
  ASSERT_TRUE(patch.has_value());
  ASSERT_EQ(InsertPatch(*patch), PatchResult::kDone);
  EXPECT_EQ(function[0], kAddsFortyTwo[0]);
  EXPECT_EQ(function[kSecond], 0xe9);
  EXPECT_EQ(memcmp(function + kThird, &kAddsFortyTwo[kThird], kAddsFortyTwo.size() - kThird), 0);
  ASSERT_EQ(RemovePatch(patch->address), PatchResult::kDone);
}

// Whichever comes first, the other one has to wait until it is gone.
TEST(CodePatcherTest, BytesThatAJumpSharesAreNotChanged) {
  self::HandleTraps();
  const uint8_t* function = made::Add(kAddsFortyTwo);
  const auto call = reinterpret_cast<Function>(reinterpret_cast<uintptr_t>(function));
  const auto sharing = PatchOfFortyTwo(function, kSecond, Kind::kSharedJump);
  ASSERT_TRUE(sharing.has_value());
  for (const Kind kind : {Kind::kTrap, Kind::kJump}) {
    const auto behind = PatchOfFortyTwo(function, kThird, kind);
    ASSERT_TRUE(behind.has_value());
    for (const auto& [first, second] :
         {std::pair(&*sharing, &*behind), std::pair(&*behind, &*sharing)}) {
      ASSERT_EQ(InsertPatch(*first), PatchResult::kDone);
      EXPECT_EQ(InsertPatch(*second), PatchResult::kOverlaps);
      const uint64_t visits = self::SharedVisits(7);
      EXPECT_EQ(call(1), 43u);
      EXPECT_EQ(self::SharedVisits(7), visits + 1);
      ASSERT_EQ(RemovePatch(first->address), PatchResult::kDone);
    }
  }
  EXPECT_EQ(memcmp(function, kAddsFortyTwo.data(), kAddsFortyTwo.size()), 0);
}

// The last byte of an int3's instruction lies before the jump, and the first one behind it.
TEST(CodePatcherTest, PlacesBesideAJumpThatSharesBytesAreChangedInAnyOrder) {
  self::HandleTraps();
  const Bytes code = {0x89, 0xf8, 0x83, 0xc0, 40, 0x83, 0xc0, 1, 0x83, 0xc0, 1, 0xc3};
  const uint8_t* function = made::Add(code);
  const auto call = reinterpret_cast<Function>(reinterpret_cast<uintptr_t>(function));
  std::vector<CodePatch> patches;
  for (const auto& [offset, kind] :
       {std::pair(size_t{0}, Kind::kTrap), std::pair(size_t{2}, Kind::kSharedJump),
        std::pair(size_t{8}, Kind::kTrap)}) {
    const auto patch = self::PatchFor(PlanFor(function, code.size(), offset, kind),
                                      reinterpret_cast<uint64_t>(function) + offset, 7);
    ASSERT_TRUE(patch.has_value());
    patches.push_back(*patch);
  }
  size_t order[] = {0, 1, 2};
  do {
    for (const size_t i : order) ASSERT_EQ(InsertPatch(patches[i]), PatchResult::kDone);
    const uint64_t visits = self::SharedVisits(7);
    EXPECT_EQ(call(1), 43u);
    EXPECT_EQ(self::SharedVisits(7), visits + 3);
    for (const size_t i : order) ASSERT_EQ(RemovePatch(patches[i].address), PatchResult::kDone);
    EXPECT_EQ(memcmp(function, code.data(), code.size()), 0);
  } while (std::next_permutation(std::begin(order), std::end(order)));
}

TEST(CodePatcherTest, AddressInUseIsNoPlaceForAStub) {
  const uint8_t* function = made::Add(kAddsFortyTwo);
  const PlacePlan plan = PlanFor(function, kAddsFortyTwo.size(), 0, Kind::kTrap);
  const uint64_t place = reinterpret_cast<uint64_t>(function);
  const auto patch = BuildPatch(plan, place, place + (1 << 12), self::CounterOf(0));
  ASSERT_TRUE(patch.has_value());
  EXPECT_EQ(InsertPatch(*patch), PatchResult::kNoStubSpace);
}

TEST(CodePatcherTest, UnmappedCodeIsForgotten) {
  self::HandleTraps();
  void* page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memset(page, kInt3, 4096);
  memcpy(page, kAddsFortyTwo.data(), kAddsFortyTwo.size());
  mprotect(page, 4096, PROT_READ | PROT_EXEC);
  const PlacePlan plan =
      PlanFor(static_cast<const uint8_t*>(page), kAddsFortyTwo.size(), 0, Kind::kTrap);
  const auto patch = self::PatchFor(plan, reinterpret_cast<uint64_t>(page), 0);
  ASSERT_TRUE(patch.has_value());
  ASSERT_EQ(InsertPatch(*patch), PatchResult::kDone);
  BeginUnmap();
  EXPECT_EQ(RemovePatch(patch->address), PatchResult::kBusy);
  munmap(page, 4096);
  EndUnmap();
  EXPECT_EQ(RemovePatch(patch->address), PatchResult::kNoSuchPatch);
  // Another library comes to lie there, and is counted anew.
  ASSERT_EQ(
      mmap(page, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
      page);
  memset(page, kInt3, 4096);
  memcpy(page, kAddsFortyTwo.data(), kAddsFortyTwo.size());
  mprotect(page, 4096, PROT_READ | PROT_EXEC);
  ASSERT_EQ(InsertPatch(*patch), PatchResult::kDone);
  const uint64_t visits = self::SharedVisits(0);
  EXPECT_EQ(reinterpret_cast<Function>(page)(1), 43);
  EXPECT_EQ(self::SharedVisits(0), visits + 1);
  ASSERT_EQ(RemovePatch(patch->address), PatchResult::kDone);
}

int g_foreign_traps = 0;

// A sample that comes one byte behind an instruction of a changed place.
class SampleBehindAnInt3Test : public testing::Test {
 protected:
  void Insert(const Bytes& code, Kind kind) {
    self::HandleTraps();
    function_ = made::Add(code);
    patch_ = self::PatchFor(PlanFor(function_, code.size(), 0, kind),
                            reinterpret_cast<uint64_t>(function_), kCounter);
    ASSERT_TRUE(patch_.has_value());
    ASSERT_EQ(InsertPatch(*patch_), PatchResult::kDone);
    visits_ = self::SharedVisits(kCounter);
  }
  void Remove() { ASSERT_EQ(RemovePatch(patch_->address), PatchResult::kDone); }

  // Where the thread goes on, with this in rbx and as the last word of its stack.
  uint64_t GoesOnAt(uint64_t rbx, uint64_t last_word) {
    constexpr int kSampleOfAnEvent = 6;  // TRAP_PERF
    siginfo_t info = {};
    info.si_code = kSampleOfAnEvent;
    ucontext_t context = {};
    auto& registers = context.uc_mcontext.gregs;
    registers[REG_RIP] = reinterpret_cast<greg_t>(function_ + 1);
    registers[REG_RBX] = static_cast<greg_t>(rbx);
    registers[REG_RSP] = reinterpret_cast<greg_t>(&last_word);
    EXPECT_FALSE(TakeTrap(info, &context)) << "it is a sample, too";
    return static_cast<uint64_t>(registers[REG_RIP]);
  }
  uint64_t Behind() const { return reinterpret_cast<uint64_t>(function_) + 1; }
  uint64_t Copy() const { return patch_->stub + patch_->displaced[0].stub_offset; }
  uint64_t Visits() const { return self::SharedVisits(kCounter) - visits_; }

  static constexpr size_t kCounter = 4;
  uint8_t* function_ = nullptr;
  std::optional<CodePatch> patch_;
  uint64_t visits_ = 0;
};

// mov eax,edi; dec eax; jnz to dec; ret
const Bytes kOfTwoBytes = {0x89, 0xf8, 0xff, 0xc8, 0x75, 0xfc, 0xc3};
// push rbx; push rbx; dec edi; jnz to dec; pop rbx; pop rbx; ret
const Bytes kTwoPushes = {0x53, 0x53, 0xff, 0xcf, 0x75, 0xfc, 0x5b, 0x5b, 0xc3};

TEST_F(SampleBehindAnInt3Test, StandsForTheInt3ThatTheKernelDropped) {
  Insert(kOfTwoBytes, Kind::kTrap);
  EXPECT_EQ(GoesOnAt(1, 2), Copy());
  EXPECT_EQ(Visits(), 1u);
}

TEST_F(SampleBehindAnInt3Test, StandsForItWhereItsByteHasBeenRestored) {
  Insert(kOfTwoBytes, Kind::kTrap);
  Original original = {};
  EXPECT_TRUE(OriginalOf(Behind(), &original));
  EXPECT_TRUE(original.is_counting);
  Remove();
  EXPECT_EQ(GoesOnAt(1, 2), Copy());
  EXPECT_FALSE(OriginalOf(Behind(), &original)) << "nobody counts there any more";
}

// nop; push rbp; dec edi; jnz to dec; pop rbp; ret
TEST_F(SampleBehindAnInt3Test, OfANopIsLeftAlone) {
  Insert({0x90, 0x55, 0xff, 0xcf, 0x75, 0xfc, 0x5d, 0xc3}, Kind::kTrap);
  EXPECT_EQ(GoesOnAt(1, 2), Behind());
  EXPECT_EQ(Visits(), 0u);
}

TEST_F(SampleBehindAnInt3Test, StandsForItWhereTheJumpHasTakenItsPlace) {
  Insert(kAddsFortyTwo, Kind::kJump);
  EXPECT_EQ(GoesOnAt(1, 2), Copy());
  Remove();
  EXPECT_EQ(GoesOnAt(1, 2), Copy());
}

TEST_F(SampleBehindAnInt3Test, OfAnotherCodeThereIsLeftAlone) {
  Insert(kOfTwoBytes, Kind::kTrap);
  Remove();
  const auto page = reinterpret_cast<void*>(Behind() & ~uint64_t{0xfff});
  ASSERT_EQ(mprotect(page, 1, PROT_READ | PROT_WRITE), 0);
  function_[0] = 0x90;
  ASSERT_EQ(mprotect(page, 1, PROT_READ | PROT_EXEC), 0);
  EXPECT_EQ(GoesOnAt(1, 2), Behind());
}

// The thread was interrupted there before the code was changed, and a sample comes first when it
// runs again.
TEST_F(SampleBehindAnInt3Test, OfAThreadThatHasPushedItsRegisterIsLeftAlone) {
  Insert(kTwoPushes, Kind::kTrap);
  EXPECT_EQ(GoesOnAt(1, 1), Behind());
  EXPECT_EQ(Visits(), 0u);
  EXPECT_EQ(GoesOnAt(1, 2), Copy());
  EXPECT_EQ(Visits(), 1u);
  Remove();
  EXPECT_EQ(GoesOnAt(1, 1), Behind());
  EXPECT_EQ(GoesOnAt(1, 2), Copy());
}

TEST(CodePatcherTest, OtherTrapsAreNotTaken) {
  self::HandleTraps([](int) { ++g_foreign_traps; });
  const uint8_t* function = made::Add({0xcc, 0xc3});
  g_foreign_traps = 0;
  reinterpret_cast<Function>(reinterpret_cast<uintptr_t>(function))(1);
  raise(SIGTRAP);
  EXPECT_EQ(g_foreign_traps, 2);
}

// As MemoryDenyWriteExecute of systemd does.
bool ForbidWritableCode() {
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mprotect, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[2])),
      BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program = {sizeof(filter) / sizeof(filter[0]), filter};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

// 0, or the step that went wrong.
int ChangeCodeWhereItMayNotBeWritable(const CodePatch& patch, Function call) {
  if (!ForbidWritableCode()) return 1;
  const auto page = patch.address & ~uint64_t{0xfff};
  if (mprotect(reinterpret_cast<void*>(page), 1, PROT_READ | PROT_WRITE | PROT_EXEC) == 0) return 2;
  const int next_descriptor = dup(0);
  close(next_descriptor);
  const uint64_t visits = self::SharedVisits(4);
  if (InsertPatch(patch) != PatchResult::kDone) return 3;
  if (call(1) != 43 || self::SharedVisits(4) != visits + 1) return 4;
  if (RemovePatch(patch.address) != PatchResult::kDone) return 5;
  if (call(1) != 43 || self::SharedVisits(4) != visits + 1) return 6;
  if (memcmp(patch.original, reinterpret_cast<const void*>(patch.address), patch.changed_bytes) !=
      0)
    return 7;
  return dup(0) == next_descriptor && fcntl(512, F_GETFD) < 0 ? 0 : 8;
}

// A function that adds 42, what changes it, and children of fork that call it.
class PatchInChildTest : public testing::TestWithParam<Kind> {
 protected:
  void SetUp() override {
    self::HandleTraps();
    const uint8_t* function = made::Add(kAddsFortyTwo);
    call_ = reinterpret_cast<Function>(reinterpret_cast<uintptr_t>(function));
    const PlacePlan plan = PlanFor(function, kAddsFortyTwo.size(), 0, GetParam());
    patch_ = self::PatchFor(plan, reinterpret_cast<uint64_t>(function), 4);
    ASSERT_TRUE(patch_.has_value());
  }
  // The status of a child that exits with what `run` returns.
  static int StatusOfChild(const std::function<int()>& run) {
    const pid_t child = fork();
    if (child == 0) _exit(run());
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    return status;
  }

  Function call_ = nullptr;
  std::optional<CodePatch> patch_;
};

INSTANTIATE_TEST_SUITE_P(Kinds, PatchInChildTest,
                         testing::Values(Kind::kJump, Kind::kSharedJump, Kind::kTrap));

TEST_P(PatchInChildTest, CodeIsChangedWhereNoCodeMayBeWritable) {
  EXPECT_EQ(StatusOfChild([&] { return ChangeCodeWhereItMayNotBeWritable(*patch_, call_); }), 0)
      << NameOf(GetParam());
}

TEST_P(PatchInChildTest, ChildOfForkRunsChangedCodeAndCanRestoreIt) {
  ASSERT_EQ(InsertPatch(*patch_), PatchResult::kDone);
  const auto run = [&] {
    OnForkInChild();
    const uint64_t visits = self::SharedVisits(4);
    bool right = call_(1) == 43 && self::SharedVisits(4) == visits + 1;
    right = right && RestoreCode();
    signal(SIGTRAP, SIG_DFL);
    right = right && call_(1) == 43 && self::SharedVisits(4) == visits + 1;
    return right ? 0 : 1;
  };
  EXPECT_EQ(StatusOfChild(run), 0) << NameOf(GetParam());
  EXPECT_EQ(call_(1), 43);
  ASSERT_EQ(RemovePatch(patch_->address), PatchResult::kDone);
}

}  // namespace
}  // namespace coz::patch
