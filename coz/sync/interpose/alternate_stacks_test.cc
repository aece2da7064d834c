// Alternate signal stacks: samples use them, but for those that threads share.
#include "coz/sync/interpose/alternate_stacks.h"

#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

#include "coz/base/kernel_sigaction.h"
#include "coz/base/raw_syscall.h"
#include "coz/base/sampling_signal.h"
#include "coz/sync/interpose/signal_shield.h"
#include "coz/sync/interpose/testing/fake_process.h"
#include "coz/sync/interpose/thread_sync.h"
#include "coz/testing/in_child.h"
#include "gtest/gtest.h"

namespace coz::interpose {
namespace {

constexpr int kReserved = SIGTRAP;
constexpr size_t kBytes = 1 << 16;

void OnSample(int /*signo*/, siginfo_t* /*info*/, void* /*context*/) {}

// What a child of fork finds, where the sampling signal is taken.
struct Found {
  bool uses_stacks;  // the handler still runs on alternate stacks
  int failures;
};

Found InSampledChild(const std::function<void(Found*)>& body) {
  testing::SharedValue<Found> found;
  const int status = testing::RunInChild([&] {
    InitSignalShield(kReserved);
    InstallSignalHandler(kReserved, &OnSample);
    body(&*found);
    KernelSigaction action = {};
    GetKernelSigaction(kReserved, &action);
    found->uses_stacks = (action.flags & SA_ONSTACK) != 0;
  });
  EXPECT_EQ(status, 0);
  return *found;
}

stack_t StackIn(std::vector<char>& memory) {
  stack_t stack = {};
  stack.ss_sp = memory.data();
  stack.ss_size = memory.size();
  return stack;
}

stack_t NoStack() {
  stack_t none = {};
  none.ss_flags = SS_DISABLE;
  return none;
}

class AlternateStacksTest : public ::testing::Test {
 protected:
  static int Set(const stack_t& stack) { return sigaltstack(&stack, nullptr); }

  testing::FakeProcess process_;
  std::vector<char> memory_ = std::vector<char>(kBytes);
  std::vector<char> other_ = std::vector<char>(kBytes);
  const stack_t stack_ = StackIn(memory_);
  const stack_t other_stack_ = StackIn(other_);
};

TEST_F(AlternateStacksTest, OfEachThreadsOwnAreUsed) {
  const Found found = InSampledChild([this](Found* result) {
    result->failures += Set(stack_) != 0 ? 1 : 0;
    std::thread([&] { result->failures += Set(other_stack_) != 0 ? 1 : 0; }).join();
    result->failures += Set(stack_) != 0 ? 1 : 0;  // again
  });
  EXPECT_EQ(found.failures, 0);
  EXPECT_TRUE(found.uses_stacks);
}

TEST_F(AlternateStacksTest, ThatThreadsShareAreNotUsed) {
  const Found found = InSampledChild([this](Found* result) {
    result->failures += Set(stack_) != 0 ? 1 : 0;
    std::thread([&] {
      result->failures += Set(stack_) != 0 ? 1 : 0;
      stack_t told = {};
      sigaltstack(nullptr, &told);
      result->failures += told.ss_sp != stack_.ss_sp ? 1 : 0;
    }).join();
  });
  EXPECT_EQ(found.failures, 0);
  EXPECT_FALSE(found.uses_stacks);
}

TEST_F(AlternateStacksTest, ThatAreGoneAreNotUsed) {
  const Found found = InSampledChild([this](Found* result) {
    stack_t stack = stack_;
    stack.ss_sp = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    result->failures += Set(stack) != 0 ? 1 : 0;
    result->failures += munmap(stack.ss_sp, kBytes) != 0 ? 1 : 0;
    UnblockSignal(kReserved);
    kill(getpid(), kReserved);
  });
  EXPECT_EQ(found.failures, 0);
  EXPECT_FALSE(found.uses_stacks);
}

std::atomic<bool> g_is_in_handler{false};
std::atomic<bool> g_may_leave_handler{false};

void OnSampleThatTakesLong(int /*signo*/, siginfo_t* /*info*/, void* /*context*/) {
  g_is_in_handler = true;
  while (!g_may_leave_handler) sched_yield();
}

TEST_F(AlternateStacksTest, StayWhereAThreadUnmapsThatOfAnotherWithAHandlerOnIt) {
  const Found found = InSampledChild([this](Found* result) {
    InstallSignalHandler(kReserved, &OnSampleThatTakesLong);
    stack_t stack = stack_;
    stack.ss_sp = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    std::thread unmaps([&] {
      while (!g_is_in_handler) sched_yield();
      result->failures += munmap(stack.ss_sp, kBytes) != 0 ? 1 : 0;
      g_may_leave_handler = true;
    });
    result->failures += Set(stack) != 0 ? 1 : 0;
    UnblockSignal(kReserved);
    RawSyscall(SYS_tgkill, getpid(), gettid(), kReserved);
    unmaps.join();
  });
  EXPECT_EQ(found.failures, 0);
  EXPECT_FALSE(found.uses_stacks);
}

TEST_F(AlternateStacksTest, ThatAreGoneChangeNothingInAProcessThatIsLeft) {
  const Found found = InSampledChild([this](Found* result) {
    stack_t stack = stack_;
    stack.ss_sp = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    result->failures += Set(stack) != 0 ? 1 : 0;
    LeaveThreadSyncForGood();
    result->failures += munmap(stack.ss_sp, kBytes) != 0 ? 1 : 0;
  });
  EXPECT_EQ(found.failures, 0);
  EXPECT_TRUE(found.uses_stacks);
}

TEST_F(AlternateStacksTest, ThatAreThereStillAreUsedWhenOtherMemoryGoes) {
  const Found found = InSampledChild([this](Found* result) {
    char* const two = static_cast<char*>(
        mmap(nullptr, 2 * kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    stack_t stack = stack_;
    stack.ss_sp = two + kBytes;
    result->failures += Set(stack) != 0 ? 1 : 0;
    result->failures += munmap(two, kBytes) != 0 ? 1 : 0;
    result->failures += Set(NoStack()) != 0 ? 1 : 0;
    result->failures += munmap(two + kBytes, kBytes) != 0 ? 1 : 0;
  });
  EXPECT_EQ(found.failures, 0);
  EXPECT_TRUE(found.uses_stacks);
}

TEST_F(AlternateStacksTest, ThatThreadsShareBySystemCallAreNotUsed) {
  const Found found = InSampledChild([this](Found* result) {
    result->failures += syscall(SYS_sigaltstack, &stack_, nullptr) != 0 ? 1 : 0;
    std::thread([&] {
      result->failures += syscall(SYS_sigaltstack, &stack_, nullptr) != 0 ? 1 : 0;
    }).join();
  });
  EXPECT_EQ(found.failures, 0);
  EXPECT_FALSE(found.uses_stacks);
}

TEST_F(AlternateStacksTest, ThatWereSharedBeforeTheSampledSignalWasTakenAreNotUsed) {
  testing::SharedValue<Found> found;
  testing::RunInChild([&] {
    Set(stack_);
    std::thread([&] { Set(stack_); }).join();
    InitSignalShield(kReserved);
    InstallSignalHandler(kReserved, &OnSample);
    KernelSigaction action = {};
    GetKernelSigaction(kReserved, &action);
    found->uses_stacks = (action.flags & SA_ONSTACK) != 0;
    found->failures = action.handler == reinterpret_cast<uint64_t>(&OnSample) ? 0 : 1;
  });
  EXPECT_EQ(found->failures, 0);
  EXPECT_FALSE(found->uses_stacks);
}

TEST_F(AlternateStacksTest, LeaveTheProgramsActionAloneWhereItHasThatBack) {
  const Found found = InSampledChild([this](Found* result) {
    LiftSignalShield();
    result->failures += Set(stack_) != 0 ? 1 : 0;
    std::thread([&] { result->failures += Set(stack_) != 0 ? 1 : 0; }).join();
    KernelSigaction action = {};
    GetKernelSigaction(kReserved, &action);
    result->failures += action.handler != 0 ? 1 : 0;  // SIG_DFL
  });
  EXPECT_EQ(found.failures, 0);
}

TEST_F(AlternateStacksTest, ThatAThreadHandsOnAreUsed) {
  const Found found = InSampledChild([this](Found* result) {
    result->failures += Set(stack_) != 0 ? 1 : 0;
    result->failures += Set(NoStack()) != 0 ? 1 : 0;
    for (int i = 0; i < 2; ++i) {
      std::thread([&] {
        result->failures += Set(stack_) != 0 ? 1 : 0;
        ForgetAlternateStackHere();  // as its exit does
      }).join();
    }
  });
  EXPECT_EQ(found.failures, 0);
  EXPECT_TRUE(found.uses_stacks);
}

TEST_F(AlternateStacksTest, OfTheParentsOtherThreadsMayBeTakenInAChildOfFork) {
  const Found found = InSampledChild([this](Found* result) {
    result->failures += Set(other_stack_) != 0 ? 1 : 0;
    std::thread([&] {
      result->failures += Set(stack_) != 0 ? 1 : 0;
      const int status = testing::RunInChild([&] {
        OnForkInAlternateStacks();
        std::thread([&] { result->failures += Set(other_stack_) != 0 ? 1 : 0; }).join();
        KernelSigaction action = {};
        GetKernelSigaction(kReserved, &action);
        result->failures += (action.flags & SA_ONSTACK) == 0 ? 1 : 0;
        std::thread([&] { result->failures += Set(stack_) != 0 ? 1 : 0; }).join();
        GetKernelSigaction(kReserved, &action);
        result->failures += (action.flags & SA_ONSTACK) != 0 ? 1 : 0;
      });
      result->failures += status != 0 ? 1 : 0;
    }).join();
  });
  EXPECT_EQ(found.failures, 0);
  EXPECT_TRUE(found.uses_stacks);
}

TEST_F(AlternateStacksTest, ThatTheKernelRefusesAreNotNoted) {
  const Found found = InSampledChild([this](Found* result) {
    stack_t small = stack_;
    small.ss_size = 1;
    result->failures += Set(small) != -1 || errno != ENOMEM ? 1 : 0;
    std::thread([&] { result->failures += Set(stack_) != 0 ? 1 : 0; }).join();
    const auto* const unreadable = reinterpret_cast<const stack_t*>(uintptr_t{8});
    result->failures += sigaltstack(unreadable, nullptr) != -1 || errno != EFAULT ? 1 : 0;
  });
  EXPECT_EQ(found.failures, 0);
  EXPECT_TRUE(found.uses_stacks);
}

TEST_F(AlternateStacksTest, ThatWereThereBeforeTheLibraryAreNoted) {
  const Found found = InSampledChild([this](Found* result) {
    const auto set_unseen = [&] { RawSyscall(SYS_sigaltstack, &stack_, nullptr); };
    set_unseen();
    NoteAlternateStackHere();
    std::thread([&] {
      KernelSigaction action = {};
      GetKernelSigaction(kReserved, &action);
      result->failures += (action.flags & SA_ONSTACK) == 0 ? 1 : 0;
      set_unseen();
      NoteAlternateStackHere();
    }).join();
  });
  EXPECT_EQ(found.failures, 0);
  EXPECT_FALSE(found.uses_stacks);
}

}  // namespace
}  // namespace coz::interpose
