// Single-steps real code and compares, at each instruction, the callchain of our stepper with that
// of libunwind.
#include "coz/sampler/unwind/eh_frame_stepper.h"

#include <alloca.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "coz/base/sampling_signal.h"
#include "coz/sampler/unwind/libunwind_stepper.h"
#include "coz/sampler/unwind/object_finder.h"
#include "coz/testing/in_child.h"

namespace coz::sampler {
namespace {

constexpr int kMaxFrames = 64;

struct Callchain {
  uint64_t addresses[kMaxFrames];
  int count = 0;
  bool complete = false;

  bool operator==(const Callchain& other) const {
    return count == other.count && complete == other.complete &&
           std::equal(addresses, addresses + count, other.addresses);
  }
};

Callchain ByEhFrame(const ucontext_t& context) {
  Callchain chain;
  Frame frame = FrameOf(context);
  StackReader stack(frame.registers[kRsp]);
  StepResult result = StepResult::kStepped;
  while (chain.count < kMaxFrames && result == StepResult::kStepped) {
    chain.addresses[chain.count++] = frame.LookupAddress();
    result = StepOut(&stack, &frame);
  }
  chain.complete = result == StepResult::kEnd;
  return chain;
}

Callchain ByLibunwind(const ucontext_t& context) {
  Callchain chain;
  const WalkEnd end = WalkWithLibunwind(
      &context, kMaxFrames,
      +[](uint64_t address, void* argument) {
        auto* to = static_cast<Callchain*>(argument);
        to->addresses[to->count++] = address;
        return false;
      },
      &chain);
  chain.complete = end == WalkEnd::kOutermost;
  return chain;
}

struct Mismatch {
  Callchain ours;
  Callchain oracle;
};

// main and what starts it: a callchain that does not end like this has got lost.
constexpr int kOutermostCount = 3;
Callchain outermost;

int instructions = 0;
int mismatches = 0;
int both_lost = 0;
Mismatch first_mismatch;

bool IsLost(const Callchain& chain) {
  const int start = chain.count - kOutermostCount;
  return !chain.complete || start < 0 ||
         !std::equal(outermost.addresses, outermost.addresses + kOutermostCount,
                     chain.addresses + start);
}

// The kernel's shared code reads the time again where the clock has ticked meanwhile, and would do
// so for ever where steps are slow.
constexpr int kMostInstructions = 20'000;
constexpr greg_t kTrapFlag = 0x100;

void CompareHere(int, siginfo_t*, void* context) {
  auto& registers = *static_cast<ucontext_t*>(context);
  if (++instructions == kMostInstructions) registers.uc_mcontext.gregs[REG_EFL] &= ~kTrapFlag;
  const Callchain ours = ByEhFrame(registers);
  const Callchain oracle = ByLibunwind(registers);
  if (IsLost(oracle)) {
    // The call frame information itself is wrong here, for instance while libgcc's unwinder leaves
    // for a landing pad.
    both_lost += IsLost(ours);
  } else if (!(ours == oracle)) {
    if (mismatches++ == 0) first_mismatch = {ours, oracle};
  }
}

// The trap flag of the processor: SIGTRAP after every instruction of this thread.
asm(R"(
  .text
  .type SetSingleStep, @function
SetSingleStep:
  .cfi_startproc
  pushfq
  .cfi_adjust_cfa_offset 8
  orq $0x100, (%rsp)
  popfq
  .cfi_adjust_cfa_offset -8
  ret
  .cfi_endproc
  .type ClearSingleStep, @function
ClearSingleStep:
  .cfi_startproc
  pushfq
  .cfi_adjust_cfa_offset 8
  andq $~0x100, (%rsp)
  popfq
  .cfi_adjust_cfa_offset -8
  ret
  .cfi_endproc
)");
extern "C" void SetSingleStep();
extern "C" void ClearSingleStep();

std::string Print(const Callchain& chain) {
  std::string text = chain.complete ? "complete:" : "broken off:";
  char number[32];
  for (int i = 0; i < chain.count; ++i) {
    snprintf(number, sizeof(number), " %lx", chain.addresses[i]);
    text += number;
  }
  return text;
}

class EhFrameStepperTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(InitObjectFinder());
    ASSERT_TRUE(InitLibunwind());
    PrepareThreadForLibunwind();
    ucontext_t here;
    ASSERT_EQ(getcontext(&here), 0);
    const Callchain chain = ByLibunwind(here);
    ASSERT_TRUE(chain.complete);
    ASSERT_GT(chain.count, kOutermostCount);
    std::copy(chain.addresses + chain.count - kOutermostCount, chain.addresses + chain.count,
              outermost.addresses);
    instructions = 0;
    mismatches = 0;
    both_lost = 0;
    struct sigaction action = {};
    action.sa_sigaction = &CompareHere;
    action.sa_flags = SA_SIGINFO;
    ASSERT_EQ(sigaction(SIGTRAP, &action, nullptr), 0);
  }

  void ExpectAgreement(int least_instructions) const {
    EXPECT_GE(instructions, least_instructions);
    printf("%d instructions, at %d of them neither gets out\n", instructions, both_lost);
    EXPECT_EQ(mismatches, 0) << "of " << instructions << " instructions, first:\nours   "
                             << Print(first_mismatch.ours) << "\noracle "
                             << Print(first_mismatch.oracle);
    EXPECT_LE(both_lost * 200, instructions) << both_lost << " of " << instructions;
  }
};

int CompareInts(const void* left, const void* right) {
  return *static_cast<const int*>(left) - *static_cast<const int*>(right);
}

TEST_F(EhFrameStepperTest, AgreesInLibcSortAndItsCallback) {
  int numbers[64];
  for (int i = 0; i < 64; ++i) numbers[i] = i * 37 % 64;
  SetSingleStep();
  qsort(numbers, 64, sizeof(int), &CompareInts);
  ClearSingleStep();
  ExpectAgreement(3000);
}

TEST_F(EhFrameStepperTest, AgreesInFormattedOutput) {
  char text[256];
  SetSingleStep();
  snprintf(text, sizeof(text), "%d %s %.17g %Lf %*d", 42, "text", 0.1, 1.5L, 12, 7);
  ClearSingleStep();
  ExpectAgreement(2000);
}

TEST_F(EhFrameStepperTest, AgreesInStringFunctions) {
  std::vector<char> from(3000, 'x'), to(3000);
  from.back() = '\0';
  volatile size_t sizes[] = {0, 1, 7, 8, 33, 200, 3000};
  SetSingleStep();
  for (const size_t size : sizes) {
    memcpy(to.data(), from.data(), size);
    memmove(to.data() + 1, to.data(), size == 0 ? 0 : size - 1);
    memset(to.data(), 0, size);
    to[1] = static_cast<char>(strlen(from.data() + from.size() - 1 - size / 2));
    to[0] = static_cast<char>(memcmp(to.data(), from.data(), size));
  }
  ClearSingleStep();
  ExpectAgreement(500);
}

TEST_F(EhFrameStepperTest, AgreesInTheAllocator) {
  SetSingleStep();
  for (size_t size = 16; size < 1 << 20; size *= 4) {
    void* volatile memory = malloc(size);
    free(memory);
  }
  ClearSingleStep();
  ExpectAgreement(500);
}

__attribute__((noinline)) int UseAlloca(int size) {
  auto* bytes = static_cast<volatile char*>(alloca(static_cast<size_t>(size)));
  for (int i = 0; i < size; ++i) bytes[i] = static_cast<char>(i);
  return bytes[size / 2];
}

TEST_F(EhFrameStepperTest, AgreesWithVariableFrames) {
  SetSingleStep();
  for (int size = 1; size < 300; size += 97) UseAlloca(size);
  ClearSingleStep();
  ExpectAgreement(500);
}

__attribute__((noinline)) int Recurse(int depth) {
  if (depth == 0) return 0;
  int result = Recurse(depth - 1);
  asm volatile("" : "+r"(result));  // keeps the recursion a recursion
  return result + 1;
}

TEST_F(EhFrameStepperTest, AgreesInPrologueAndEpilogueOfRecursion) {
  SetSingleStep();
  Recurse(30);
  ClearSingleStep();
  ExpectAgreement(200);
}

[[noreturn]] __attribute__((noinline)) void Throw(int value) {
  throw std::runtime_error(std::to_string(value));
}

__attribute__((noinline)) int Catch(int value) {
  std::string local = "destroyed while the exception passes";
  try {
    Throw(value);
  } catch (const std::exception& error) {
    return error.what()[0] + local[0];
  }
}

TEST_F(EhFrameStepperTest, AgreesWhileAnExceptionPasses) {
  Catch(1);
  SetSingleStep();
  Catch(2);
  ClearSingleStep();
  ExpectAgreement(3000);
}

TEST_F(EhFrameStepperTest, AgreesInSignalHandlerAndItsReturn) {
  struct sigaction action = {};
  action.sa_handler = +[](int) {
    SetSingleStep();
    Recurse(3);
    // Not cleared: the return from the handler is stepped as well.
  };
  sigaction(SIGUSR1, &action, nullptr);
  SetSingleStep();
  raise(SIGUSR1);
  ClearSingleStep();
  ExpectAgreement(60);
}

TEST_F(EhFrameStepperTest, AgreesInHandlerWhoseReturnHasNoCfi) {
  InstallSignalHandler(
      SIGUSR1, +[](int, siginfo_t*, void*) {
        SetSingleStep();
        Recurse(3);
      });
  SetSingleStep();
  raise(SIGUSR1);
  ClearSingleStep();
  ExpectAgreement(60);
}

TEST_F(EhFrameStepperTest, AgreesInTheKernelsSharedCode) {
  timespec now;
  SetSingleStep();
  clock_gettime(CLOCK_MONOTONIC, &now);
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  time(nullptr);
  ClearSingleStep();
  ExpectAgreement(50);
}

TEST_F(EhFrameStepperTest, WalksFiveThousandFrames) {
  static int frames = 0;
  static StepResult end;
  struct sigaction action = {};
  action.sa_sigaction = +[](int, siginfo_t*, void* context) {
    Frame frame = FrameOf(*static_cast<const ucontext_t*>(context));
    StackReader stack(frame.registers[kRsp]);
    for (frames = 0; (end = StepOut(&stack, &frame)) == StepResult::kStepped; ++frames) {
    }
  };
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGUSR2, &action, nullptr);
  struct Local {
    static int __attribute__((noinline)) Down(int depth) {
      if (depth == 0) return raise(SIGUSR2);
      int result = Down(depth - 1);
      asm volatile("" : "+r"(result));
      return result + 1;
    }
  };
  volatile int depth = 5000;
  EXPECT_EQ(Local::Down(depth), 5000);
  EXPECT_EQ(end, StepResult::kEnd);
  EXPECT_GE(frames, 5000);
}

TEST_F(EhFrameStepperTest, CodeWithoutCfiIsReported) {
  void* code =
      mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(code, MAP_FAILED);
  Frame frame = {};
  frame.is_exact = true;
  frame.registers[kReturnAddress] = reinterpret_cast<uint64_t>(code) + 100;
  StackReader stack(0);
  EXPECT_EQ(StepOut(&stack, &frame), StepResult::kNoCfi);
  munmap(code, 4096);
}

// Registers and stacks as a crash or a hand-made context could leave them.
TEST_F(EhFrameStepperTest, GarbageNeverFaults) {
  const int status = testing::RunInChild([] {
    std::mt19937_64 random(20240229);
    constexpr size_t kWords = 1024;
    auto* stack_words = static_cast<uint64_t*>(mmap(
        nullptr, kWords * 8 + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(stack_words + kWords, 4096, PROT_NONE);
    const uint64_t code[] = {reinterpret_cast<uint64_t>(&qsort), reinterpret_cast<uint64_t>(&Print),
                             reinterpret_cast<uint64_t>(&raise),
                             reinterpret_cast<uint64_t>(&clock_gettime)};
    const auto any_code = [&] { return code[random() % 4] + random() % 65536; };
    const auto any_value = [&]() -> uint64_t {
      switch (random() % 6) {
        case 0:
          return random();
        case 1:
          return random() % 65536;
        case 2:
          return any_code();
        case 3:
          return ~uint64_t{0} - random() % 64;
        default:
          return reinterpret_cast<uint64_t>(stack_words) + random() % (kWords * 8);
      }
    };
    for (int round = 0; round < 40000; ++round) {
      if (round % 64 == 0) {
        for (size_t i = 0; i < kWords; ++i) stack_words[i] = any_value();
      }
      Frame frame;
      for (uint64_t& value : frame.registers) value = any_value();
      if (random() % 8 != 0) frame.registers[kReturnAddress] = any_code();
      frame.is_exact = random() % 2 == 0;
      StackReader stack(frame.registers[kRsp]);
      for (int depth = 0; depth < 50; ++depth) {
        if (StepOut(&stack, &frame) != StepResult::kStepped) break;
      }
    }
  });
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace coz::sampler
