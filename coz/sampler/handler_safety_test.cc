// Asserts what the headers promise of signal context: no allocation, and a small use of stack.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "coz/base/raw_syscall.h"
#include "coz/sampler/sampler.h"
#include "coz/sampler/unwind/unwinder.h"
#include "coz/testing/in_child.h"

extern "C" {
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* memory, size_t size);
void __libc_free(void* memory);
}

namespace {

bool guard_is_on = false;

// The sampling signal is blocked while its handler runs, and at no other time in these tests.
void AbortInHandler() {
  if (!guard_is_on) return;
  uint64_t mask = 0;
  coz::RawSyscall(SYS_rt_sigprocmask, SIG_BLOCK, nullptr, &mask, sizeof(mask));
  if ((mask >> (coz::sampler::kSamplingSignal - 1) & 1) != 0) abort();
}

}  // namespace

// Every allocation of this program, libstdc++'s and libunwind's among them, comes by here.
extern "C" void* malloc(size_t size) {
  AbortInHandler();
  return __libc_malloc(size);
}
extern "C" void* calloc(size_t count, size_t size) {
  AbortInHandler();
  return __libc_calloc(count, size);
}
extern "C" void* realloc(void* memory, size_t size) {
  AbortInHandler();
  return __libc_realloc(memory, size);
}
extern "C" void free(void* memory) {
  AbortInHandler();
  __libc_free(memory);
}

namespace coz::sampler {
namespace {

using testing::RunInChild;
using testing::SharedValue;

constexpr uint64_t kPeriodNs = 200'000;
constexpr size_t kStackBytes = size_t{256} * 1024;
constexpr unsigned char kPattern = 0xa7;
constexpr size_t kAllowedBytes = 4096;

volatile int sink = 0;

int Compare(const void* left, const void* right) {
  for (int i = 0; i < 1000; ++i) sink = sink + i;
  return *static_cast<const int*>(left) - *static_cast<const int*>(right);
}

// Samples lie in libc, in the procedure linkage table, in the vDSO, and in a callback.
void BurnInLibraries(int milliseconds) {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  const int64_t end = now.tv_sec * 1000 + now.tv_nsec / 1000000 + milliseconds;
  do {
    int numbers[64];
    for (int i = 0; i < 64; ++i) numbers[i] = i * 37 % 64;
    qsort(numbers, 64, sizeof(int), &Compare);
    char text[64];
    snprintf(text, sizeof(text), "%d %f", numbers[3], 0.1);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  } while (now.tv_sec * 1000 + now.tv_nsec / 1000000 < end);
}

bool IsNever(uint64_t, void*) { return false; }

void WalkWithColdRules(const Sample& sample) {
  ForgetUnwindCache();
  uint64_t lookup_address;
  FindFirstInScope(sample.context, &IsNever, nullptr, &lookup_address);
}

void Start(SampleCallback callback) {
  SamplerOptions options;
  options.sampling_period_ns = kPeriodNs;
  options.exclude_kernel = true;
  options.callback = callback;
  StartSampler(options);
}

class HandlerSafetyTest : public ::testing::TestWithParam<UnwinderKind> {};

INSTANTIATE_TEST_SUITE_P(Kinds, HandlerSafetyTest,
                         ::testing::Values(UnwinderKind::kEhFrame, UnwinderKind::kLibunwind),
                         [](const auto& kind) -> std::string {
                           return kind.param == UnwinderKind::kEhFrame ? "eh_frame" : "libunwind";
                         });

TEST(AllocationGuardTest, AllocationInAHandlerAborts) {
  const int status = RunInChild([] {
    guard_is_on = true;
    Start(+[](const Sample&) {
      void* volatile memory = malloc(1);
      free(memory);
    });
    BurnInLibraries(200);
  });
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGABRT);
}

TEST_P(HandlerSafetyTest, SamplesAndWalksAllocateNothing) {
  SharedValue<SamplerCounters> counters;
  ASSERT_EQ(RunInChild([&counters] {
              InitUnwinder(GetParam());
              Start(&WalkWithColdRules);
              guard_is_on = true;
              BurnInLibraries(300);
              std::thread([] {
                PrepareThreadForUnwinding();
                StartThreadSampling();
                BurnInLibraries(100);
                StopThreadSampling();
              }).join();
              StopSampler();
              *counters = ReadSamplerCounters();
            }),
            0);
  EXPECT_GT(counters->samples, 20u);
}

// Bytes of the alternate stack that no longer hold the pattern.
size_t UsedBytes(const unsigned char* stack) {
  size_t untouched = 0;
  while (untouched < kStackBytes && stack[untouched] == kPattern) ++untouched;
  return kStackBytes - untouched;
}

struct StackUse {
  size_t kernel_bytes;  // the frame that the kernel makes, and an empty handler
  size_t bytes;
  uint64_t samples;
};

TEST(HandlerStackTest, SampleAndWalkFitTheirPageOfStack) {
  SharedValue<StackUse> use;
  ASSERT_EQ(RunInChild([&use] {
              InitUnwinder(UnwinderKind::kEhFrame);
              auto* memory =
                  static_cast<unsigned char*>(mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE,
                                                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
              stack_t stack = {};
              stack.ss_sp = memory;
              stack.ss_size = kStackBytes;
              sigaltstack(&stack, nullptr);

              struct sigaction action = {};
              action.sa_sigaction = +[](int, siginfo_t*, void*) {};
              action.sa_flags = SA_SIGINFO | SA_ONSTACK;
              sigaction(SIGUSR1, &action, nullptr);
              memset(memory, kPattern, kStackBytes);
              raise(SIGUSR1);
              use->kernel_bytes = UsedBytes(memory);

              memset(memory, kPattern, kStackBytes);
              Start(&WalkWithColdRules);
              BurnInLibraries(400);
              StopSampler();
              use->bytes = UsedBytes(memory);
              use->samples = ReadSamplerCounters().samples;
            }),
            0);
  EXPECT_GT(use->samples, 20u);
  EXPECT_GT(use->kernel_bytes, 500u);
  EXPECT_GT(use->bytes, use->kernel_bytes);
  EXPECT_LT(use->bytes - use->kernel_bytes, kAllowedBytes);
  RecordProperty("bytes", static_cast<int>(use->bytes - use->kernel_bytes));
  printf("stack of handler and walk: %zu bytes besides the kernel's frame of %zu\n",
         use->bytes - use->kernel_bytes, use->kernel_bytes);
}

}  // namespace
}  // namespace coz::sampler
