#include "coz/sync/interpose/goroutines.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <functional>
#include <thread>

#include "coz/base/clock.h"
#include "coz/base/go_moment.h"
#include "coz/sync/delay/delay_ledger.h"
#include "coz/sync/interpose/call_stacks.h"
#include "coz/sync/interpose/testing/fake_process.h"
#include "coz/sync/interpose/thread_sync.h"

namespace coz::interpose {
namespace {

using testing::FakeProcess;

// Longer than a test takes, and less than the machine has been up, for virtual time begins at its
// start.
constexpr uint64_t kLongNs = 30 * kNsPerSecond;
constexpr uint64_t kShortNs = 2 * kNsPerMs;

// Goroutines are addresses here.
constexpr uint64_t kFirst = 0xc000001000;
constexpr uint64_t kSecond = 0xc000002000;

struct Registers {
  uint64_t rax, rbx, rcx, rdx, r8, r9, r10, r11, rbp;
};
// Calls `routine` as a stub does, and gives back the registers that it has to keep.
extern "C" void CallAsStub(uint64_t moment, Registers* registers, uint64_t routine);
asm(R"(
.text
.globl CallAsStub
.type CallAsStub, @function
CallAsStub:
  push %rbp
  push %rbx
  push %r12
  push %r13
  mov %rsi,%r12
  mov %rdx,%r13
  mov (%r12),%rax; mov 8(%r12),%rbx; mov 16(%r12),%rcx; mov 24(%r12),%rdx; mov 32(%r12),%r8
  mov 40(%r12),%r9; mov 48(%r12),%r10; mov 56(%r12),%r11; mov 64(%r12),%rbp
  call *%r13
  mov %rax,(%r12); mov %rbx,8(%r12); mov %rcx,16(%r12); mov %rdx,24(%r12); mov %r8,32(%r12)
  mov %r9,40(%r12); mov %r10,48(%r12); mov %r11,56(%r12); mov %rbp,64(%r12)
  pop %r13
  pop %r12
  pop %rbx
  pop %rbp
  ret
.size CallAsStub, . - CallAsStub
)");

std::atomic<uint32_t> g_is_on = 1;

void Note(GoMoment moment, uint64_t first, uint64_t second = 0) {
  const Registers given = {first, second, 3, 4, 5, 6, 7, 8, 9};
  Registers registers = given;
  CallAsStub(static_cast<uint64_t>(moment), &registers, GoroutineRoutine(&g_is_on));
  EXPECT_EQ(memcmp(&registers, &given, sizeof(given)), 0);
}

void Park(uint64_t goroutine) { Note(GoMoment::kParks, goroutine); }
void Execute(uint64_t goroutine) { Note(GoMoment::kExecute, goroutine); }
void MakeReady(uint64_t goroutine) { Note(GoMoment::kReady, /*first: a processor*/ 1, goroutine); }

// Another goroutine gets its entry.
void TakeAnotherPlaceOf(uint64_t goroutine) {
  constexpr uint64_t kMany = 200'000;
  constexpr uint64_t kApart = 0x1a0;
  for (uint64_t i = 1; i < kMany; ++i) Note(GoMoment::kEnds, goroutine + i * kApart);
}

void LetTimePass() {
  const uint64_t end_ns = MonotonicNowNs() + 2 * kShortNs;
  while (MonotonicNowNs() < end_ns) {
  }
}

class GoroutinesTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { GiveCallStacksToThreads(); }

  delay::ThreadLedger& main() { return process_.main_ledger(); }
  uint64_t global_ns() { return process_.global().global_delay_ns; }
  void MakeLevel(delay::ThreadLedger& thread) { thread.local_delay_ns = global_ns(); }

  // In a thread that owes nothing when it begins. Neither do the threads pay for what comes of it.
  void InThread(const std::function<void(delay::ThreadLedger&)>& work) {
    MakeLevel(main());
    std::thread([&] {
      work(*CurrentThreadLedger());
      MakeLevel(*CurrentThreadLedger());
    }).join();
  }

  FakeProcess process_;
};

TEST_F(GoroutinesTest, ThreadLooksForAGoroutineBetweenTwo) {
  EXPECT_FALSE(SeeksGoroutine());
  for (const GoMoment moment : {GoMoment::kParks, GoMoment::kYields, GoMoment::kEnds}) {
    Note(moment, kFirst);
    EXPECT_TRUE(SeeksGoroutine());
    EXPECT_NE(main().blocked.load(), 0u);
    Execute(kSecond);
    EXPECT_FALSE(SeeksGoroutine());
    EXPECT_EQ(main().blocked.load(), 0u);
  }
}

TEST_F(GoroutinesTest, WhoMakesOneReadyPaysBefore) {
  process_.Impose(kShortNs);
  MakeReady(kFirst);
  EXPECT_GE(main().paused_ns.load(), kShortNs);
}

TEST_F(GoroutinesTest, WaitForOneThatAnotherMakesReadyIsCredited) {
  std::atomic<bool> is_ready = false;
  std::thread other([&] {
    testing::WaitUntil("the first thread seeks", [this] { return main().blocked != 0; });
    LetTimePass();
    process_.Impose(kShortNs);
    MakeReady(kFirst);
    is_ready = true;
  });
  Park(kFirst);
  while (!is_ready) std::this_thread::yield();
  Execute(kFirst);
  EXPECT_EQ(main().paused_ns.load(), 0u);
  EXPECT_GE(main().local_delay_ns.load(), global_ns());
  other.join();
}

// The clock or the network has made it ready, and a thread that looks for work has found that.
TEST_F(GoroutinesTest, WaitForOneThatTheOutsideMakesReadyIsPaid) {
  Park(kFirst);
  process_.Impose(kShortNs);
  LetTimePass();
  MakeReady(kFirst);
  EXPECT_EQ(main().paused_ns.load(), 0u) << "no goroutine runs there";
  Execute(kFirst);
  EXPECT_GE(main().paused_ns.load(), kShortNs);
}

// A thread that has looked for longer than the goroutine has waited was idle before.
TEST_F(GoroutinesTest, WaitForTheOutsideIsNoLongerThanTheGoroutines) {
  std::atomic<bool> has_parked = false;
  std::thread other([&] {
    testing::WaitUntil("the first thread seeks", [this] { return main().blocked != 0; });
    process_.Impose(kShortNs);
    MakeLevel(*CurrentThreadLedger());
    Park(kFirst);
    Execute(kFirst + kSecond);
    LetTimePass();
    has_parked = true;
  });
  Park(kSecond);
  while (!has_parked) std::this_thread::yield();
  Execute(kFirst);
  EXPECT_EQ(main().paused_ns.load(), 0u);
  EXPECT_GE(main().local_delay_ns.load(), global_ns());
  other.join();
}

// As the runtime of Go has it: behind a lock.
struct Scavenger {
  uint64_t lock = 0;
  uint64_t goroutine = kFirst;
};

TEST_F(GoroutinesTest, OneThatServesTheOthersIsCredited) {
  const Scavenger scavenger;
  const std::function<void()> parks[] = {[] {
                                           Park(kFirst);
                                           Note(GoMoment::kServes, kFirst);
                                         },
                                         [&] {
                                           Note(GoMoment::kScavenges,
                                                reinterpret_cast<uintptr_t>(&scavenger));
                                           Park(kFirst);
                                         }};
  for (const auto& park : parks) {
    park();
    process_.Impose(kShortNs);
    LetTimePass();
    Execute(kFirst);
    EXPECT_EQ(main().paused_ns.load(), 0u);
    EXPECT_GE(main().local_delay_ns.load(), global_ns());
    Note(GoMoment::kEnds, kFirst);
    TakeAnotherPlaceOf(kFirst);
    Execute(kSecond);
  }
}

TEST_F(GoroutinesTest, WhoStopsTheOthersPaysBefore) {
  process_.Impose(kShortNs);
  Note(GoMoment::kHalts, 0);
  EXPECT_GE(main().paused_ns.load(), kShortNs);
}

// A switch takes less than a microsecond; a machine that stops for longer credits it.
TEST_F(GoroutinesTest, SwitchToTheNextIsNoWait) {
  process_.Impose(kLongNs);
  const uint64_t before_ns = main().local_delay_ns;
  const uint64_t start_ns = MonotonicNowNs();
  Note(GoMoment::kYields, kFirst);
  Execute(kSecond);
  EXPECT_LE(main().local_delay_ns - before_ns, MonotonicNowNs() - start_ns);
  MakeLevel(main());
}

TEST_F(GoroutinesTest, GoroutineCarriesItsVirtualTimeToAnotherThread) {
  process_.Impose(kLongNs);
  const uint64_t start_ns = MonotonicNowNs();
  Note(GoMoment::kYields, kFirst);  // it owes
  InThread([&](delay::ThreadLedger& other) {
    Execute(kFirst);
    EXPECT_LE(other.local_delay_ns, global_ns() - kLongNs + (MonotonicNowNs() - start_ns));
  });
  Execute(kSecond);
}

TEST_F(GoroutinesTest, NewGoroutineAtTheSameAddressHasNoTime) {
  process_.Impose(kLongNs);
  Note(GoMoment::kEnds, kFirst);
  InThread([&](delay::ThreadLedger& other) {
    Execute(kFirst);
    EXPECT_EQ(other.local_delay_ns, global_ns());
  });
  Execute(kSecond);
}

// Those that come later take the places of those before.
TEST_F(GoroutinesTest, OneThatHasLostItsEntryGoesOnFromTheGlobalDelay) {
  constexpr uint64_t kMany = 200'000;
  constexpr uint64_t kApart = 0x1a0;
  process_.Impose(kLongNs);
  for (uint64_t i = 0; i < kMany; ++i) Note(GoMoment::kYields, kFirst + i * kApart);
  InThread([&](delay::ThreadLedger& other) {
    Execute(kFirst);
    EXPECT_EQ(other.local_delay_ns, global_ns());
  });
  Execute(kSecond);
}

// Its own is large where it switches between goroutines, and small elsewhere.
TEST_F(GoroutinesTest, ThreadWithoutStacksOfOursNotesWhatItsOwnHasRoomFor) {
  FreeCallStacks();
  Park(kFirst);
  EXPECT_TRUE(SeeksGoroutine());
  Execute(kFirst);
  EXPECT_FALSE(SeeksGoroutine());
  process_.Impose(kShortNs);
  Note(GoMoment::kLocks, kFirst);
  EXPECT_EQ(main().paused_ns.load(), 0u);
  TakeCallStacksIfGiven();
}

TEST_F(GoroutinesTest, WhoFindsAMutexTakenPaysBeforeItWaits) {
  process_.Impose(kShortNs);
  Note(GoMoment::kLocks, kFirst);
  EXPECT_GE(main().paused_ns.load(), kShortNs);
}

// As sync.WaitGroup holds it: the counter above the number of those that wait.
struct WaitGroup {
  std::atomic<uint64_t> state;
  uint64_t address() const { return reinterpret_cast<uintptr_t>(this); }
  void Add(int32_t delta, int64_t begins_at = 0) {
    Note(GoMoment::kArrives, address() + static_cast<uint64_t>(begins_at),
         static_cast<uint64_t>(int64_t{delta}));
    state += static_cast<uint64_t>(int64_t{delta}) << 32;
  }
};

class WaitGroupTest : public GoroutinesTest {
 protected:
  // A thread whose goroutine is late in virtual time arrives, and one that is not arrives after it
  // in real time.
  void ArriveTwice(WaitGroup* group, int64_t begins_at = 0) {
    group->Add(2, begins_at);
    process_.Impose(kLongNs);
    start_ns_ = MonotonicNowNs();
    group->Add(-1, begins_at);  // it owes
    MakeLevel(main());
    group->Add(-1, begins_at);
  }
  void ExpectToBeLate(const delay::ThreadLedger& thread) {
    EXPECT_LE(thread.local_delay_ns, global_ns() - kLongNs + (MonotonicNowNs() - start_ns_));
  }
  uint64_t start_ns_ = 0;
};

TEST_F(WaitGroupTest, WhoWaitsGoesOnFromTheLatestVirtualTime) {
  WaitGroup group{{2}};  // two wait
  Note(GoMoment::kEnds, kFirst);
  Note(GoMoment::kEnds, kSecond);
  Execute(kFirst + kSecond);
  ArriveTwice(&group);
  MakeReady(kFirst);
  MakeReady(kSecond);
  for (const uint64_t waiter : {kFirst, kSecond}) {
    Note(GoMoment::kYields, kFirst + kSecond);
    Execute(waiter);
    ExpectToBeLate(main());
    MakeLevel(main());
  }
  // What it makes ready later has nothing to do with it.
  constexpr uint64_t kThird = 0xc000003000;
  MakeReady(kThird);
  Note(GoMoment::kYields, kFirst + kSecond);
  Execute(kThird);
  EXPECT_GE(main().local_delay_ns, global_ns());
}

TEST_F(WaitGroupTest, NoneIsNotLookedAt) {
  for (const uint64_t address : {uint64_t{0}, uint64_t{4000}}) {
    Note(GoMoment::kArrives, address, static_cast<uint64_t>(-1));
    Note(GoMoment::kMeets, address);
  }
}

// Go 1.17 has words of four bytes there.
TEST_F(WaitGroupTest, StateIsAligned) {
  alignas(8) char place[24] = {};
  auto& group = *reinterpret_cast<WaitGroup*>(place + 8);
  ArriveTwice(&group, -4);
  Note(GoMoment::kMeets, group.address() - 4);
  ExpectToBeLate(main());
  MakeLevel(main());
}

TEST_F(WaitGroupTest, WhoComesWhenAllHaveArrivedDoes) {
  WaitGroup group{{0}};
  ArriveTwice(&group);
  Note(GoMoment::kMeets, group.address());
  ExpectToBeLate(main());
  MakeLevel(main());
}

TEST_F(WaitGroupTest, EachRoundHasItsOwnArrivals) {
  WaitGroup group{{0}};
  ArriveTwice(&group);
  group.Add(1);
  group.Add(-1);
  Note(GoMoment::kMeets, group.address());
  EXPECT_GE(main().local_delay_ns, global_ns());
}

TEST_F(WaitGroupTest, WhoComesBeforeAllHaveArrivedWaitsForThem) {
  WaitGroup group{{0}};
  ArriveTwice(&group);
  group.Add(1);
  Note(GoMoment::kMeets, group.address());
  EXPECT_GE(main().local_delay_ns, global_ns());
}

TEST_F(GoroutinesTest, NothingIsNotedBeforeAllMomentsAre) {
  g_is_on = 0;
  Park(kFirst);
  EXPECT_FALSE(SeeksGoroutine());
  process_.Impose(kShortNs);
  MakeReady(kFirst);
  EXPECT_EQ(main().paused_ns.load(), 0u);
  g_is_on = 1;
}

TEST_F(GoroutinesTest, ThreadThatIsNotProfiledNotesNothing) {
  process_.RefuseLedgers(true);
  std::thread([] {
    Park(kFirst);
    EXPECT_FALSE(SeeksGoroutine());
    MakeReady(kFirst);
    Execute(kFirst);
    Note(GoMoment::kLocks, kFirst);
  }).join();
}

}  // namespace
}  // namespace coz::interpose
