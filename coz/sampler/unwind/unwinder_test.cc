#include "coz/sampler/unwind/unwinder.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "coz/sampler/unwind/testing/go_table.h"
#include "coz/testing/in_child.h"

namespace coz::sampler {
namespace {

using testing::RunInChild;
using testing::SharedValue;

struct Range {
  uint64_t begin = 0;
  uint64_t end = 0;
};

bool IsInRange(uint64_t address, void* argument) {
  const Range& range = *static_cast<Range*>(argument);
  return address >= range.begin && address < range.end;
}

bool IsNever(uint64_t, void*) { return false; }

// Functions whose end is known, in a section of their own.
#define IN_SCOPE __attribute__((noinline, section("in_scope")))
extern "C" char __start_in_scope[];
extern "C" char __stop_in_scope[];

Range Scope() {
  return {reinterpret_cast<uint64_t>(__start_in_scope),
          reinterpret_cast<uint64_t>(__stop_in_scope)};
}

struct Found {
  bool is_found = false;
  uint64_t lookup_address = 0;
  UnwinderCounters counters;
};

Found* found = nullptr;

void FindHere(int, siginfo_t*, void* context) {
  Range scope = Scope();
  found->is_found = FindFirstInScope(static_cast<const ucontext_t*>(context), &IsInRange, &scope,
                                     &found->lookup_address);
}

void FindAtEachSigusr1() {
  struct sigaction action = {};
  action.sa_sigaction = &FindHere;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGUSR1, &action, nullptr);
}

IN_SCOPE int CallRaise() { return raise(SIGUSR1) + 1; }

int CompareAndRaise(const void*, const void*) { return raise(SIGUSR1); }

IN_SCOPE void SortWithCallbackOutOfScope() {
  int numbers[2] = {1, 2};
  qsort(numbers, 2, sizeof(int), &CompareAndRaise);
}

// Ends with its call, so that the return address lies behind the function.
[[noreturn]] IN_SCOPE void LeaveByNoreturnCall() {
  struct Callee {
    [[noreturn]] __attribute__((noinline)) static void Leave() {
      raise(SIGUSR1);
      fflush(nullptr);
      _exit(0);
    }
  };
  Callee::Leave();
}

__attribute__((noinline)) int GoDown(int depth) {
  if (depth == 0) return raise(SIGUSR1);
  int result = GoDown(depth - 1);
  asm volatile("" : "+r"(result));
  return result + 1;
}

IN_SCOPE int GoDownFromScope(int depth) {
  int result = GoDown(depth);
  asm volatile("" : "+r"(result));
  return result;
}

class UnwinderTest : public ::testing::TestWithParam<UnwinderKind> {
 protected:
  void SetUp() override { found = &*shared_; }

  // Runs `body` in a child, with FindHere on SIGUSR1.
  int Run(const std::function<void()>& body) {
    return RunInChild([&body] {
      if (InitUnwinder(GetParam()) != GetParam()) _exit(3);
      FindAtEachSigusr1();
      body();
      found->counters = ReadUnwinderCounters();
    });
  }

  static bool IsWithin(uint64_t address, uint64_t begin, uint64_t bytes) {
    return address >= begin && address < begin + bytes;
  }

  SharedValue<Found> shared_;
};

INSTANTIATE_TEST_SUITE_P(Kinds, UnwinderTest,
                         ::testing::Values(UnwinderKind::kEhFrame, UnwinderKind::kLibunwind),
                         [](const auto& kind) -> std::string {
                           return kind.param == UnwinderKind::kEhFrame ? "eh_frame" : "libunwind";
                         });

TEST_P(UnwinderTest, CallerOfALibraryFunctionIsFound) {
  ASSERT_EQ(Run([] { CallRaise(); }), 0);
  EXPECT_TRUE(found->is_found);
  EXPECT_TRUE(IsWithin(found->lookup_address, reinterpret_cast<uint64_t>(&CallRaise), 32));
  EXPECT_EQ(found->counters.found, 1u);
}

TEST_P(UnwinderTest, CallerBeyondACallbackOutOfScopeIsFound) {
  ASSERT_EQ(Run([] { SortWithCallbackOutOfScope(); }), 0);
  EXPECT_TRUE(found->is_found);
  EXPECT_TRUE(IsWithin(found->lookup_address,
                       reinterpret_cast<uint64_t>(&SortWithCallbackOutOfScope), 512));
}

TEST_P(UnwinderTest, CallAtTheEndOfAFunctionBelongsToThatFunction) {
  ASSERT_EQ(Run([] { LeaveByNoreturnCall(); }), 0);
  EXPECT_TRUE(found->is_found);
  EXPECT_TRUE(
      IsWithin(found->lookup_address, reinterpret_cast<uint64_t>(&LeaveByNoreturnCall), 32));
}

TEST_P(UnwinderTest, LeafIsLookedUpByItsExactAddress) {
  ASSERT_EQ(Run([] {
              ucontext_t context;
              getcontext(&context);
              const auto leaf = reinterpret_cast<uint64_t>(&CallRaise);
              context.uc_mcontext.gregs[REG_RIP] = static_cast<greg_t>(leaf);
              Range exactly = {leaf, leaf + 1};
              found->is_found =
                  FindFirstInScope(&context, &IsInRange, &exactly, &found->lookup_address);
            }),
            0);
  EXPECT_TRUE(found->is_found);
  EXPECT_EQ(found->lookup_address, reinterpret_cast<uint64_t>(&CallRaise));
}

TEST_P(UnwinderTest, CallerIsFoundBeyondFiveThousandFrames) {
  ASSERT_EQ(Run([] { GoDownFromScope(5000); }), 0);
  EXPECT_TRUE(found->is_found);
}

TEST_P(UnwinderTest, CallerBeyondTheBoundIsCounted) {
  ASSERT_EQ(Run([] { GoDownFromScope(kMaxUnwindFrames + 10); }), 0);
  EXPECT_FALSE(found->is_found);
  EXPECT_EQ(found->counters.too_deep, 1u);
}

TEST_P(UnwinderTest, CallchainOutOfScopeEndsAtTheStartOfTheThread) {
  ASSERT_EQ(Run([] {
              std::thread([] {
                PrepareThreadForUnwinding();
                raise(SIGUSR1);
              }).join();
              raise(SIGUSR1);
            }),
            0);
  EXPECT_FALSE(found->is_found);
  EXPECT_EQ(found->counters.reached_end, 2u);
}

// 0 bytes and far too many say nothing, and are not relied on.
TEST_P(UnwinderTest, NewThreadThatKnowsItsStackIsWalked) {
  for (const uint64_t stack_bytes : {uint64_t{0}, uint64_t{1} << 20, ~uint64_t{0}}) {
    ASSERT_EQ(Run([stack_bytes] {
                std::thread([stack_bytes] {
                  PrepareNewThreadForUnwinding(stack_bytes);
                  GoDownFromScope(3000);
                }).join();
              }),
              0);
    EXPECT_TRUE(found->is_found) << stack_bytes;
    *found = {};
  }
}

TEST_P(UnwinderTest, ThreadThatWasNotPreparedIsWalkedToo) {
  ASSERT_EQ(Run([] { std::thread([] { GoDownFromScope(3000); }).join(); }), 0);
  EXPECT_TRUE(found->is_found);
}

TEST_P(UnwinderTest, StackThatIsNotThereIsCountedAndHarmless) {
  ASSERT_EQ(Run([] {
              ucontext_t context;
              getcontext(&context);
              context.uc_mcontext.gregs[REG_RSP] = 16;
              context.uc_mcontext.gregs[REG_RBP] = 16;
              context.uc_mcontext.gregs[REG_RIP] = reinterpret_cast<greg_t>(&qsort);
              FindFirstInScope(&context, &IsNever, nullptr, &found->lookup_address);
            }),
            0);
  EXPECT_EQ(found->counters.bad_memory + found->counters.bad_cfi, 1u);
  EXPECT_EQ(found->lookup_address, 0u);
}

// A stack of the program's own making, as coroutines have.
TEST_P(UnwinderTest, CallerOnACoroutineStackIsFound) {
  ASSERT_EQ(Run([] {
              static ucontext_t back, coroutine;
              static std::vector<char> stack(size_t{256} * 1024);
              getcontext(&coroutine);
              coroutine.uc_stack.ss_sp = stack.data();
              coroutine.uc_stack.ss_size = stack.size();
              coroutine.uc_link = &back;
              makecontext(&coroutine, reinterpret_cast<void (*)()>(&CallRaise), 0);
              swapcontext(&back, &coroutine);
            }),
            0);
  EXPECT_TRUE(found->is_found);
}

// push rbp; mov rbp, rsp; call rdi; pop rbp; ret
constexpr unsigned char kCallWithFramePointer[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3};

void RaiseOnce() { raise(SIGUSR1); }

// The code between has no call frame information, as it was made while the program runs.
IN_SCOPE void CallThroughMadeCode() {
  void* const code =
      mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memcpy(code, kCallWithFramePointer, sizeof(kCallWithFramePointer));
  mprotect(code, 4096, PROT_READ | PROT_EXEC);
  reinterpret_cast<void (*)(void (*)())>(code)(&RaiseOnce);
  munmap(code, 4096);
}

TEST(UnwinderFramePointerTest, CodeWithoutCallFrameInformationIsLeftByItsFramePointer) {
  for (const bool follows : {false, true}) {
    SharedValue<Found> shared;
    found = &*shared;
    ASSERT_EQ(RunInChild([follows] {
                InitUnwinder(UnwinderKind::kEhFrame);
                if (follows) FollowFramePointers();
                FindAtEachSigusr1();
                CallThroughMadeCode();
                found->counters = ReadUnwinderCounters();
              }),
              0);
    EXPECT_EQ(found->is_found, follows);
    EXPECT_EQ(found->counters.no_cfi, follows ? 0u : 1u);
  }
}

TEST(UnwinderFramePointerTest, RegisterThatHoldsNoFrameEndsTheWalk) {
  for (const uint64_t pointer : {uint64_t{0}, uint64_t{16}, uint64_t{3}, ~uint64_t{0} - 7}) {
    SharedValue<Found> shared;
    found = &*shared;
    ASSERT_EQ(RunInChild([pointer] {
                InitUnwinder(UnwinderKind::kEhFrame);
                FollowFramePointers();
                ucontext_t context;
                getcontext(&context);
                context.uc_mcontext.gregs[REG_RBP] = static_cast<greg_t>(pointer);
                context.uc_mcontext.gregs[REG_RIP] = 16;
                FindFirstInScope(&context, &IsNever, nullptr, &found->lookup_address);
                found->counters = ReadUnwinderCounters();
              }),
              0);
    EXPECT_EQ(found->counters.no_cfi, 1u);
  }
}

// sub rsp, 24; call rdi; add rsp, 24; ret
constexpr unsigned char kGosCall[] = {0x48, 0x83, 0xec, 0x18, 0xff, 0xd7,
                                      0x48, 0x83, 0xc4, 0x18, 0xc3};

// As Go's linker describes it, at the place where it is.
std::vector<uint8_t>* table_of_gos_call = nullptr;

IN_SCOPE void CallThroughGosCode() {
  void* const code =
      mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memcpy(code, kGosCall, sizeof(kGosCall));
  mprotect(code, 4096, PROT_READ | PROT_EXEC);
  const auto entry = reinterpret_cast<uint64_t>(code);
  *table_of_gos_call = testing::MakeGoTable(testing::kGoVersions[2], entry,
                                            {{entry, {{0, 4}, {24, 6}, {0, 1}}}}, entry + 4096);
  FollowGoFunctions(table_of_gos_call->data(), table_of_gos_call->size());
  reinterpret_cast<void (*)(void (*)())>(code)(&RaiseOnce);
  munmap(code, 4096);
}

TEST(UnwinderGoTest, CodeOfGoIsLeftByItsTable) {
  SharedValue<Found> shared;
  found = &*shared;
  ASSERT_EQ(RunInChild([] {
              InitUnwinder(UnwinderKind::kEhFrame);
              FindAtEachSigusr1();
              table_of_gos_call = new std::vector<uint8_t>();
              CallThroughGosCode();
              found->counters = ReadUnwinderCounters();
            }),
            0);
  EXPECT_TRUE(found->is_found);
  EXPECT_EQ(found->counters.no_cfi, 0u);
}

// libunwind defines backtrace and _Unwind_* as well, and must not stand before libc and libgcc.
TEST(UnwinderLibraryTest, LibunwindStaysOutOfTheProgramsScope) {
  SharedValue<Found> shared;
  ASSERT_EQ(RunInChild([&shared] {
              void* const before = dlsym(RTLD_DEFAULT, "backtrace");
              if (InitUnwinder(UnwinderKind::kLibunwind) != UnwinderKind::kLibunwind) _exit(3);
              if (dlsym(RTLD_DEFAULT, "_ULx86_64_step") != nullptr) _exit(4);
              if (before == nullptr || dlsym(RTLD_DEFAULT, "backtrace") != before) _exit(5);
              try {
                throw 7;
              } catch (int value) {
                shared->lookup_address = static_cast<uint64_t>(value);
              }
            }),
            0);
  EXPECT_EQ(shared->lookup_address, 7u);
}

TEST(UnwinderCacheTest, ForgottenRulesAreDecodedAgain) {
  SharedValue<Found> shared;
  found = &*shared;
  ASSERT_EQ(RunInChild([] {
              InitUnwinder(UnwinderKind::kEhFrame);
              FindAtEachSigusr1();
              for (int i = 0; i < 3; ++i) {
                CallRaise();
                ForgetUnwindCache();
              }
              found->counters = ReadUnwinderCounters();
            }),
            0);
  EXPECT_EQ(found->counters.found, 3u);
}

}  // namespace
}  // namespace coz::sampler
