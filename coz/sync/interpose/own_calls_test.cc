// System calls by the program's own instructions, as Go's runtime makes them.
#include "coz/sync/interpose/own_calls.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <thread>

#include "coz/base/go_moment.h"
#include "coz/patch/code_patcher.h"
#include "coz/patch/place_plan.h"
#include "coz/patch/testing/patched_self.h"
#include "coz/sync/interpose/call_stacks.h"
#include "coz/sync/interpose/goroutines.h"
#include "coz/sync/interpose/testing/fake_process.h"
#include "coz/sync/interpose/testing/wait_scenario.h"
#include "coz/sync/interpose/thread_sync.h"

namespace coz::interpose {
namespace {

using testing::FakeProcess;
using testing::Scenario;

using Word = std::atomic<uint32_t>;

// Sees to it that nothing is written below its stack, where a goroutine may have no room.
extern "C" long OwnCall(long number, long a, long b, long c, long d);
extern "C" const uint8_t kOwnCallInstruction[];
extern "C" const uint8_t kOwnCallEnd[];
asm(R"(
.text
.globl OwnCall
.type OwnCall, @function
OwnCall:
  push %rbp
  mov %rsp,%rbp
  sub $512,%rsp
  mov %rdi,%rax
  mov %rsi,%rdi
  mov %rdx,%rsi
  mov %rcx,%rdx
  mov %r8,%r10
  movabs $0x1122334455667788,%r8
  mov %r8,-8(%rsp)
  mov %r8,-16(%rsp)
  mov %r8,-256(%rsp)
.globl kOwnCallInstruction
kOwnCallInstruction:
  syscall
  cmp %r8,-8(%rsp)
  jne 1f
  cmp %r8,-16(%rsp)
  jne 1f
  cmp %r8,-256(%rsp)
  jne 1f
  leave
  ret
1:
  ud2
.globl kOwnCallEnd
kOwnCallEnd:
.size OwnCall, . - OwnCall
)");

// Has the instruction replaced, as the supervisor does it.
class OwnCallsTest : public ::testing::Test {
 public:
  static void SetUpTestSuite() {
    patch::self::HandleTraps();
    const auto* const begin = reinterpret_cast<const uint8_t*>(&OwnCall);
    const auto bytes = static_cast<size_t>(kOwnCallEnd - begin);
    const patch::PlacePlan plan = patch::PlanSystemCall(
        {begin, bytes, bytes, static_cast<size_t>(kOwnCallInstruction - begin)});
    patch::CallEdge edge = {};
    edge.routine = OwnCallRoutine();
    const auto built = patch::self::PatchFor(plan, reinterpret_cast<uint64_t>(kOwnCallInstruction),
                                             patch::self::CounterOf(0), 0, edge);
    ASSERT_TRUE(built.has_value());
    ASSERT_EQ(patch::InsertPatch(*built), patch::PatchResult::kDone);
  }
  static void TearDownTestSuite() {
    EXPECT_EQ(patch::RemovePatch(reinterpret_cast<uint64_t>(kOwnCallInstruction)),
              patch::PatchResult::kDone);
  }

  FakeProcess process_;
};

long Address(const void* object) { return static_cast<long>(reinterpret_cast<uintptr_t>(object)); }

long WaitOn(Word* word) { return OwnCall(SYS_futex, Address(word), FUTEX_WAIT_PRIVATE, 0, 0); }
long WakeOne(Word* word) { return OwnCall(SYS_futex, Address(word), FUTEX_WAKE_PRIVATE, 1, 0); }

TEST_F(OwnCallsTest, WakerPaysAndWaiterIsCredited) {
  testing::ExpectWakerPaysAndWaiterIsCredited(process_, {"OwnFutex", [] {
                                                           auto word = std::make_shared<Word>(0);
                                                           return Scenario(
                                                               [=] {
                                                                 long result = -1;
                                                                 while (*word == 0)
                                                                   result = WaitOn(word.get());
                                                                 return result == 0;
                                                               },
                                                               [=](std::thread&) {
                                                                 *word = 1;
                                                                 EXPECT_EQ(WakeOne(word.get()), 1);
                                                               });
                                                         }});
}

TEST_F(OwnCallsTest, ReaderOfAPipeIsCredited) {
  testing::ExpectWakerPaysAndWaiterIsCredited(
      process_, {"OwnRead", [] {
                   auto fds = std::make_shared<std::array<int, 2>>();
                   EXPECT_EQ(pipe(fds->data()), 0);
                   return Scenario(
                       [=] {
                         char byte = 0;
                         return OwnCall(SYS_read, (*fds)[0], Address(&byte), 1, 0) == 1 &&
                                byte == 'x' && OwnCall(SYS_close, (*fds)[0], 0, 0, 0) == 0;
                       },
                       [=](std::thread&) {
                         EXPECT_EQ(OwnCall(SYS_write, (*fds)[1], Address("x"), 1, 0), 1);
                         EXPECT_EQ(OwnCall(SYS_close, (*fds)[1], 0, 0, 0), 0);
                       });
                 }});
}

TEST_F(OwnCallsTest, ErrorsAreThoseOfTheKernel) {
  errno = 77;
  Word word = 1;
  EXPECT_EQ(WaitOn(&word), -EAGAIN);
  EXPECT_EQ(OwnCall(SYS_read, -1, 0, 0, 0), -EBADF);
  EXPECT_EQ(OwnCall(SYS_epoll_ctl, 0, EPOLL_CTL_ADD, 0, 0), -EFAULT);
  EXPECT_EQ(errno, 77) << "the program's own";
}

int g_filters = 0;

// Under one, calls of ours could end the process.
TEST_F(OwnCallsTest, FilterOfSystemCallsIsNoticedBeforeItIsInstalled) {
  sync_internal::g_hooks.before_restriction = [] { ++g_filters; };
  const long nowhere = 8;  // the kernel refuses it
  EXPECT_LT(OwnCall(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, nowhere, 0), 0);
  EXPECT_EQ(g_filters, 1);
  EXPECT_LT(OwnCall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, nowhere, 0), 0);
  EXPECT_EQ(g_filters, 2);
  EXPECT_EQ(OwnCall(SYS_prctl, PR_GET_SECCOMP, 0, 0, 0), 0);
  EXPECT_EQ(g_filters, 2);
}

TEST_F(OwnCallsTest, OtherCallsAreLeftAlone) {
  EXPECT_EQ(OwnCall(SYS_gettid, 0, 0, 0, 0), gettid());
  EXPECT_EQ(OwnCall(100'000, 0, 0, 0, 0), -ENOSYS);
  EXPECT_EQ(OwnCall(-1, 0, 0, 0, 0), -ENOSYS);
}

// Not the one that was given at its start.
TEST_F(OwnCallsTest, ThreadWithoutStacksMakesItsCallsAsTheyWere) {
  long result = 0;
  std::thread([&] {
    FreeCallStacks();
    Word word = 1;
    result = WaitOn(&word);
  }).join();
  EXPECT_EQ(result, -EAGAIN);
}

extern "C" void coz_note_goroutine(uint64_t moment, uint64_t first, uint64_t second);

std::atomic<uint32_t> g_notes_goroutines = 0;

void Note(GoMoment moment, uint64_t goroutine) {
  coz_note_goroutine(static_cast<uint64_t>(moment), goroutine, 0);
}

class OwnCallsOfGoroutinesTest : public OwnCallsTest {
 protected:
  static constexpr uint64_t kGoroutine = 0xc000001000;
  static constexpr uint64_t kDelayNs = 2'000'000;

  void SetUp() override {
    GoroutineRoutine(&g_notes_goroutines);
    g_notes_goroutines = 1;
  }
  void TearDown() override { g_notes_goroutines = 0; }

  // Leaves a goroutine that has found nothing to read, and goes on with it after `meanwhile`, which
  // another thread does.
  void WaitForInput(int fd, const std::function<void()>& meanwhile) {
    std::atomic<bool> is_done = false;
    std::thread other([&] {
      const delay::ThreadLedger& reader = process_.main_ledger();
      testing::WaitUntil("the first thread seeks", [&] { return reader.blocked != 0; });
      process_.Impose(kDelayNs);
      Note(GoMoment::kExecute, kGoroutine + 1);
      meanwhile();
      is_done = true;
    });
    Note(GoMoment::kExecute, kGoroutine);
    char byte = 0;
    EXPECT_EQ(OwnCall(SYS_read, fd, Address(&byte), 1, 0), -EAGAIN);
    Note(GoMoment::kParks, kGoroutine);
    Note(GoMoment::kPolls, kGoroutine);
    while (!is_done) std::this_thread::yield();
    Note(GoMoment::kExecute, kGoroutine);
    other.join();
  }
  uint64_t paused_ns() { return process_.main_ledger().paused_ns; }
};

TEST_F(OwnCallsOfGoroutinesTest, WaitForAnotherThreadsOutputIsCredited) {
  int fds[2];
  ASSERT_EQ(pipe2(fds, O_NONBLOCK), 0);
  WaitForInput(fds[0], [&] {
    EXPECT_EQ(OwnCall(SYS_write, fds[1], Address("x"), 1, 0), 1);  // pays
  });
  EXPECT_EQ(paused_ns(), 0u);
  EXPECT_GE(process_.main_ledger().local_delay_ns, process_.global().global_delay_ns);
}

TEST_F(OwnCallsOfGoroutinesTest, WaitForTheOutsideIsPaid) {
  int fds[2];
  ASSERT_EQ(pipe2(fds, O_NONBLOCK), 0);
  WaitForInput(fds[0], [] { usleep(100); });
  EXPECT_GE(paused_ns(), kDelayNs);
}

// It is about to hand what others need to another thread.
TEST_F(OwnCallsOfGoroutinesTest, ThreadThatRunsNoGoroutineOwesNothing) {
  std::thread([this] {
    process_.Impose(kDelayNs);
    Word word = 0;
    EXPECT_EQ(WakeOne(&word), 0);
    const delay::ThreadLedger& thread = *CurrentThreadLedger();
    EXPECT_EQ(thread.paused_ns.load(), 0u);
    EXPECT_GE(thread.local_delay_ns.load(), process_.global().global_delay_ns.load());
  }).join();
}

volatile sig_atomic_t g_nested = 0;
volatile long g_nested_result = 0;
int g_depth = 0;

// Each interrupts the one before within its call.
void InterruptOnce(int) {
  Word word = 1;
  const int depth = ++g_depth;
  if (depth <= 3) {
    raise(SIGUSR1);
    g_nested_result = WaitOn(&word);
    g_nested = g_nested + 1;
  }
  --g_depth;
}

// Handlers may make calls while the thread is in one.
TEST_F(OwnCallsTest, HandlersThatInterruptACallMakeTheirOwn) {
  struct sigaction action = {};
  action.sa_handler = InterruptOnce;
  action.sa_flags = SA_NODEFER;
  ASSERT_EQ(sigaction(SIGUSR1, &action, nullptr), 0);
  std::atomic<pid_t> tid = 0;
  Word word = 0;
  long result = 0;
  std::thread waiter([&] {
    tid = gettid();
    while (word == 0) result = WaitOn(&word);
  });
  testing::WaitUntil("the waiter sleeps", [&] { return testing::SleepsInKernel(tid); });
  ASSERT_EQ(tgkill(getpid(), tid, SIGUSR1), 0);
  testing::WaitUntil("the handlers are done", [] { return g_nested == 3; });
  testing::WaitUntil("the waiter sleeps", [&] { return testing::SleepsInKernel(tid); });
  word = 1;
  EXPECT_EQ(WakeOne(&word), 1);
  waiter.join();
  EXPECT_EQ(result, 0);
  EXPECT_EQ(g_nested_result, -EAGAIN);
}

}  // namespace
}  // namespace coz::interpose
