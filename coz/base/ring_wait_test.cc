#include "coz/base/ring_wait.h"

#include <linux/io_uring.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <string>

#include "coz/base/interrupted_call.h"
#include "coz/base/sampling_signal.h"
#include "coz/testing/in_child.h"
#include "gtest/gtest.h"

namespace coz {
namespace {

using testing::SharedValue;

constexpr int kSample = SIGUSR2;  // that of a sample, in these tests
constexpr int kSignal = SIGUSR1;  // the program's own
constexpr unsigned kEntries = 4;

volatile sig_atomic_t handled = 0;

SharedValue<std::atomic<int>>& Samples() {
  static SharedValue<std::atomic<int>> samples;
  return samples;
}

void OnSample(int, siginfo_t*, void* context) {
  ++*Samples();
  InterruptedCall call(static_cast<ucontext_t*>(context));
}

void OnSampleThenHandler(int, siginfo_t*, void* context) {
  ++*Samples();
  InterruptedCall call(static_cast<ucontext_t*>(context));
  call.Settle();
}

// Its handler restarts other calls.
void TakeSignal() {
  struct sigaction action = {};
  action.sa_handler = +[](int) { handled = handled + 1; };
  action.sa_flags = SA_RESTART;
  sigaction(kSignal, &action, nullptr);
}

class Ring {
 public:
  Ring() : fd_(static_cast<int>(syscall(SYS_io_uring_setup, kEntries, &parameters_))) {
    if (!ok()) return;
    queue_ = Map(IORING_OFF_SQ_RING, parameters_.sq_off.array + kEntries * sizeof(unsigned));
    completions_ = Map(IORING_OFF_CQ_RING, parameters_.cq_off.cqes);
    requests_ = reinterpret_cast<io_uring_sqe*>(
        Map(IORING_OFF_SQES, parameters_.sq_entries * sizeof(io_uring_sqe)));
  }
  ~Ring() { close(fd_); }
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;

  bool ok() const { return fd_ >= 0; }
  int fd() const { return fd_; }

  // Queues a request to read one byte.
  void AddRead(int from) {
    unsigned& tail = At(queue_, parameters_.sq_off.tail);
    const unsigned place = tail % parameters_.sq_entries;
    io_uring_sqe& request = requests_[place];
    request = {};
    request.opcode = IORING_OP_READ;
    request.fd = from;
    request.addr = reinterpret_cast<uintptr_t>(&byte_);
    request.len = 1;
    At(queue_, parameters_.sq_off.array + place * sizeof(unsigned)) = place;
    __atomic_store_n(&tail, tail + 1, __ATOMIC_RELEASE);
  }

  unsigned Completed() const {
    return __atomic_load_n(&At(completions_, parameters_.cq_off.tail), __ATOMIC_ACQUIRE);
  }

 private:
  char* Map(off_t what, size_t bytes) const {
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, what);
    if (memory == MAP_FAILED) abort();
    return static_cast<char*>(memory);
  }
  static unsigned& At(char* memory, size_t offset) {
    return *reinterpret_cast<unsigned*>(memory + offset);
  }

  io_uring_params parameters_ = {};
  int fd_;
  char* queue_ = nullptr;
  char* completions_ = nullptr;
  io_uring_sqe* requests_ = nullptr;
  char byte_ = 0;
};

using EnterFunction = long (*)(int fd, unsigned submitted, unsigned least);

long EnterByLibc(int fd, unsigned submitted, unsigned least) {
  const long result =
      syscall(SYS_io_uring_enter, fd, submitted, least, IORING_ENTER_GETEVENTS, nullptr, 0);
  return result < 0 ? -errno : result;
}

// As liburing does.
long EnterByInstruction(int fd, unsigned submitted, unsigned least) {
  static_assert(SYS_io_uring_enter == 426);
  long result;
  register long flags asm("r10") = IORING_ENTER_GETEVENTS;
  register long mask asm("r8") = 0;
  register long bytes asm("r9") = 0;
  asm volatile("movl $426, %%eax; syscall"
               : "=a"(result)
               : "D"(fd), "S"(submitted), "d"(least), "r"(flags), "r"(mask), "r"(bytes)
               : "rcx", "r11", "memory");
  return result;
}

bool WaitsForRing(pid_t child) {
  std::ifstream file("/proc/" + std::to_string(child) + "/syscall");
  std::string call;
  std::getline(file, call, ' ');
  return call == std::to_string(SYS_io_uring_enter);
}

struct Outcome {
  long result;
  unsigned completed;
  int handled;
};

// A child that waits for completions gets a sample.
class RingWaitTest : public ::testing::TestWithParam<EnterFunction> {
 protected:
  void SetUp() override {
    if (!Ring().ok()) GTEST_SKIP() << "needs io_uring, which the system refuses";
    if (pipe(bytes_) != 0) abort();
    *Samples() = 0;
  }

  // Two reads are under way where nothing is `submitted` by the call that waits.
  void StartChild(unsigned submitted, unsigned least, void (*prepare)()) {
    child_ = fork();
    if (child_ != 0) return;
    prepare();
    Ring ring;
    for (unsigned reads = submitted == 0 ? 2 : submitted; reads > 0; --reads) {
      ring.AddRead(bytes_[0]);
    }
    if (submitted == 0) EnterByLibc(ring.fd(), 2, 0);
    const long result = GetParam()(ring.fd(), submitted, least);
    *outcome_ = {result, ring.Completed(), handled};
    _exit(0);
  }

  // Both signals come at once, the sample's first: a thread's own go before those of the process.
  void SendSample(bool with_signal) const {
    while (!WaitsForRing(child_)) {
    }
    kill(child_, SIGSTOP);
    waitpid(child_, nullptr, WUNTRACED);
    syscall(SYS_tgkill, child_, child_, kSample);
    if (with_signal) SendSignal();
    kill(child_, SIGCONT);
    while (*Samples() == 0) {
    }
  }

  void SendSignal() const { kill(child_, kSignal); }

  // False where it has ended.
  bool WaitsAgain() const {
    for (;;) {
      siginfo_t ended = {};
      if (WaitsForRing(child_)) return true;
      waitid(P_PID, static_cast<id_t>(child_), &ended, WEXITED | WNOHANG | WNOWAIT);
      if (ended.si_pid == child_) return false;
    }
  }

  void Complete() const {
    if (write(bytes_[1], "x", 1) != 1) abort();
  }

  Outcome End() const {
    waitpid(child_, nullptr, 0);
    return *outcome_;
  }

  void TearDown() override {
    if (child_ == 0) return;
    close(bytes_[0]);
    close(bytes_[1]);
  }

 private:
  int bytes_[2] = {};
  pid_t child_ = 0;
  SharedValue<Outcome> outcome_;
};

void OnlySample() { InstallSignalHandler(kSample, &OnSample); }

void SampleAndSignal() {
  TakeSignal();
  InstallSignalHandler(kSample, &OnSample);
  HoldSignalsThatEndRingWaits();
}

TEST_P(RingWaitTest, GoesOnAfterASample) {
  StartChild(0, 1, &OnlySample);
  SendSample(false);
  ASSERT_TRUE(WaitsAgain()) << "it returned " << End().result;
  Complete();
  const Outcome outcome = End();
  EXPECT_EQ(outcome.result, 0);
  EXPECT_EQ(outcome.completed, 1u);
}

TEST_P(RingWaitTest, WaitsForAllThoughSomeHaveCompleted) {
  StartChild(0, 2, &OnlySample);
  Complete();
  SendSample(false);
  ASSERT_TRUE(WaitsAgain()) << "it returned " << End().result;
  Complete();
  const Outcome outcome = End();
  EXPECT_EQ(outcome.result, 0);
  EXPECT_EQ(outcome.completed, 2u);
}

TEST_P(RingWaitTest, WaitsForWhatItHasSubmittedAndSubmitsItOnce) {
  StartChild(1, 1, &OnlySample);
  SendSample(false);
  ASSERT_TRUE(WaitsAgain()) << "it returned " << End().result;
  Complete();
  const Outcome outcome = End();
  EXPECT_EQ(outcome.result, 1);
  EXPECT_EQ(outcome.completed, 1u);
}

TEST_P(RingWaitTest, AnySignalOfTheProgramEndsIt) {
  StartChild(0, 1, &SampleAndSignal);
  SendSample(true);
  ASSERT_FALSE(WaitsAgain());
  const Outcome outcome = End();
  EXPECT_EQ(outcome.result, -EINTR);
  EXPECT_EQ(outcome.handled, 1);
}

TEST_P(RingWaitTest, ASignalEndsWhatGoesOn) {
  for (const unsigned submitted : {0u, 1u}) {
    *Samples() = 0;
    StartChild(submitted, 1, &SampleAndSignal);
    SendSample(false);
    ASSERT_TRUE(WaitsAgain());
    SendSignal();
    const Outcome outcome = End();
    EXPECT_EQ(outcome.result, submitted == 0 ? -EINTR : 1);
    EXPECT_EQ(outcome.completed, 0u);
    EXPECT_EQ(outcome.handled, 1);
  }
}

TEST_P(RingWaitTest, EndsBeforeAHandlerOfTheProgramIsCalled) {
  StartChild(
      0, 1, +[] { InstallSignalHandler(kSample, &OnSampleThenHandler); });
  SendSample(false);
  ASSERT_FALSE(WaitsAgain());
  EXPECT_EQ(End().result, -EINTR);
}

INSTANTIATE_TEST_SUITE_P(Callers, RingWaitTest,
                         ::testing::Values(&EnterByLibc, &EnterByInstruction));

}  // namespace
}  // namespace coz
