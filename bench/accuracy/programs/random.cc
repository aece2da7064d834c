// A program that is drawn at random: two threads that work, lock, and meet in rounds, by waits of
// all kinds. The same plan is the same program.
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "bench/accuracy/programs/bounded_queue.h"
#include "bench/accuracy/workload.h"

namespace {

// The two lines of interest, and work that is of neither.
enum class Label { kA, kB, kOther };

__attribute__((noinline)) void Work(Label label, uint64_t* state, uint64_t steps) {
  uint64_t x = *state;
  switch (label) {
    case Label::kA:
      WORK(x, steps);  // LINE(a)
      break;
    case Label::kB:
      WORK(x, steps);  // LINE(b)
      break;
    case Label::kOther:
      WORK(x, steps);
      break;
  }
  *state = x;
}

// Counts posts. Wait takes one of them.
class Gate {
 public:
  virtual ~Gate() = default;
  virtual void Post() = 0;
  virtual void Wait() = 0;
};

class SemaphoreGate : public Gate {
 public:
  SemaphoreGate() { sem_init(&semaphore_, 0, 0); }
  void Post() override { sem_post(&semaphore_); }
  void Wait() override {
    while (sem_wait(&semaphore_) != 0) {
    }
  }

 private:
  sem_t semaphore_;
};

class ConditionGate : public Gate {
 public:
  void Post() override {
    const std::lock_guard<std::mutex> lock(mutex_);
    ++count_;
    changed_.notify_one();
  }
  void Wait() override {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return count_ > 0; });
    --count_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int count_ = 0;
};

// Wait reads what Post writes.
class FileGate : public Gate {
 public:
  FileGate(int in, int out, bool polls) : in_(in), out_(out), polls_(polls) {}
  void Post() override {
    const uint64_t one = 1;
    if (write(out_, &one, sizeof(one)) != sizeof(one)) abort();
  }
  void Wait() override {
    if (polls_) {
      pollfd waited = {in_, POLLIN, 0};
      while (poll(&waited, 1, -1) != 1) {
      }
    }
    uint64_t one;
    if (read(in_, &one, sizeof(one)) != sizeof(one)) abort();
  }

 private:
  const int in_;
  const int out_;
  const bool polls_;
};

class FutexGate : public Gate {
 public:
  void Post() override {
    count_.fetch_add(1, std::memory_order_release);
    syscall(SYS_futex, &count_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
  }
  void Wait() override {
    while (count_.load(std::memory_order_acquire) == 0) {
      syscall(SYS_futex, &count_, FUTEX_WAIT_PRIVATE, 0, nullptr, nullptr, 0);
    }
    count_.fetch_sub(1, std::memory_order_relaxed);
  }

 private:
  std::atomic<int> count_{0};
};

class SpinGate : public Gate {
 public:
  void Post() override { count_.fetch_add(1, std::memory_order_release); }
  void Wait() override {
    while (count_.load(std::memory_order_acquire) == 0) __builtin_ia32_pause();
    count_.fetch_sub(1, std::memory_order_relaxed);
  }

 private:
  std::atomic<int> count_{0};
};

class QueueGate : public Gate {
 public:
  explicit QueueGate(size_t capacity) : queue_(capacity) {}
  void Post() override { queue_.Put(1); }
  void Wait() override { queue_.Take(); }

 private:
  workload::BoundedQueue queue_;
};

using Steps = std::vector<std::function<void(uint64_t* state)>>;

[[noreturn]] void Refuse(const std::string& word) {
  fprintf(stderr, "no step of a plan: %s\n", word.c_str());
  exit(2);
}

// The number in the innermost parentheses.
double NumberIn(const std::string& word) {
  const size_t open = word.rfind('(');
  if (open == std::string::npos) Refuse(word);
  return atof(word.c_str() + open + 1);
}

bool StartsWith(const std::string& word, const char* start) { return word.rfind(start, 0) == 0; }

std::unique_ptr<Gate> MakeGate(const std::string& kind) {
  int ends[2];
  if (kind == "semaphore") return std::make_unique<SemaphoreGate>();
  if (kind == "condition") return std::make_unique<ConditionGate>();
  if (kind == "futex") return std::make_unique<FutexGate>();
  if (kind == "spin") return std::make_unique<SpinGate>();
  if (kind == "pipe" || kind == "polled") {
    if (pipe(ends) != 0) abort();
    return std::make_unique<FileGate>(ends[0], ends[1], kind == "polled");
  }
  if (kind == "socket") {
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) abort();
    return std::make_unique<FileGate>(ends[0], ends[1], /*polls=*/false);
  }
  if (kind == "eventfd") {
    const int fd = eventfd(0, EFD_SEMAPHORE);
    return std::make_unique<FileGate>(fd, fd, /*polls=*/false);
  }
  if (!StartsWith(kind, "queue(")) Refuse(kind);
  return std::make_unique<QueueGate>(static_cast<size_t>(NumberIn(kind)));
}

// What the two threads do in a round, in one order. What one waits for comes earlier in it, so no
// round waits for ever. The text of a plan has, between spaces:
//
//   0:a(300)         thread 0 works on line a for 300 us; b and other likewise
//   1:lock0{b(50)}   thread 1 works while it holds the lock 0 or 1
//   1:thread{a(80)}  thread 1 creates a thread that works, and joins it
//   0:sleep(200)     thread 0 sleeps, in us
//   barrier          both threads meet
//   0>pipe           thread 1 waits for thread 0; also semaphore, condition, futex, spin, polled,
//                    socket, eventfd, and queue(3) with room for three
//   window(3)        thread 0 is at most three rounds ahead of thread 1
class Plan {
 public:
  Plan(const std::string& text, workload::Program* program) : program_(program) {
    pthread_barrier_init(&barrier_, nullptr, 2);
    std::istringstream words(text);
    for (std::string word; words >> word;) AddWord(word);
  }

  const Steps& Of(int thread) const { return steps_[thread]; }

 private:
  void AddWord(const std::string& word) {
    if (word == "barrier") {
      for (Steps& steps : steps_) {
        steps.emplace_back([this](uint64_t*) { pthread_barrier_wait(&barrier_); });
      }
    } else if (StartsWith(word, "window(")) {
      AddWindow(static_cast<size_t>(NumberIn(word)));
    } else if (word.size() < 3 || (word[0] != '0' && word[0] != '1')) {
      Refuse(word);
    } else if (word[1] == '>') {
      AddSignal(word[0] - '0', word.substr(2));
    } else {
      AddOwn(word[0] - '0', word.substr(2));
    }
  }

  void AddWindow(size_t capacity) {
    AddSignal(0, "queue(" + std::to_string(capacity) + ")");
    gates_.push_back(std::make_unique<QueueGate>(capacity));
    Gate* const back = gates_.back().get();
    steps_[1].emplace_back([back](uint64_t*) { back->Post(); });
    steps_[0].emplace_back([back, capacity, rounds = size_t{0}](uint64_t*) mutable {
      if (rounds++ >= capacity) back->Wait();
    });
  }

  void AddSignal(int from, const std::string& kind) {
    gates_.push_back(MakeGate(kind));
    Gate* const gate = gates_.back().get();
    steps_[from].emplace_back([gate](uint64_t*) { gate->Post(); });
    steps_[1 - from].emplace_back([gate](uint64_t*) { gate->Wait(); });
  }

  void AddOwn(int thread, const std::string& what) {
    Steps& steps = steps_[thread];
    if (StartsWith(what, "sleep(")) {
      steps.emplace_back(
          [us = static_cast<uint64_t>(NumberIn(what))](uint64_t*) { workload::SleepUs(us); });
    } else if (StartsWith(what, "lock0{") || StartsWith(what, "lock1{")) {
      std::mutex* const lock = &locks_[what[4] - '0'];
      steps.emplace_back([lock, work = MakeWork(what.substr(6))](uint64_t* x) {
        const std::lock_guard<std::mutex> guard(*lock);
        work(x);
      });
    } else if (StartsWith(what, "thread{")) {
      steps.emplace_back([thread, work = MakeWork(what.substr(7))](uint64_t* x) {
        workload::Thread worker(thread, [&work, x] { work(x); });
        worker.join();
      });
    } else {
      steps.push_back(MakeWork(what));
    }
  }

  std::function<void(uint64_t*)> MakeWork(const std::string& what) const {
    const double us = NumberIn(what);
    const auto work = [](Label label, uint64_t count) {
      return [label, count](uint64_t* x) { Work(label, x, count); };
    };
    if (StartsWith(what, "a(")) return work(Label::kA, program_->Steps("a", us));
    if (StartsWith(what, "b(")) return work(Label::kB, program_->Steps("b", us));
    if (!StartsWith(what, "other(")) Refuse(what);
    return work(Label::kOther, program_->OtherSteps(us));
  }

  workload::Program* const program_;
  pthread_barrier_t barrier_;
  std::mutex locks_[2];
  std::vector<std::unique_ptr<Gate>> gates_;
  Steps steps_[2];
};

// Draws the text of a plan. Each line of interest is in it, and neither thread is ever ahead of the
// other by more than a few rounds.
class Draw {
 public:
  explicit Draw(uint64_t seed) : random_(seed) {
    scale_ = std::exp(Uniform(std::log(0.15), std::log(1.5)));
    AddOwn(Work("a"));
    AddOwn(Work("b"));
    const int steps = 3 + Index(7);
    const int first_end = Index(steps);
    for (int i = 0; i < steps; ++i) {
      if (i == first_end) AddMeeting();
      AddStep();
    }
  }

  const std::string& text() const { return text_; }

 private:
  double Uniform(double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random_);
  }
  int Index(int count) { return std::uniform_int_distribution<int>(0, count - 1)(random_); }
  std::string OneOf(const std::vector<std::string>& choices) {
    return choices[static_cast<size_t>(Index(static_cast<int>(choices.size())))];
  }
  static std::string WithNumber(const std::string& what, double number) {
    return what + "(" + std::to_string(std::lround(number)) + ")";
  }

  void Add(const std::string& word) { text_ += (text_.empty() ? "" : " ") + word; }
  void AddOwn(const std::string& what) { Add(OneOf({"0:", "1:"}) + what); }
  void AddSignal(const std::string& from) {
    const std::string queue = WithNumber("queue", 1 + Index(4));
    Add(from + ">" +
        OneOf({"semaphore", "condition", "futex", "spin", "pipe", "polled", "socket", "eventfd",
               queue}));
  }
  std::string Work(const std::string& label) {
    return WithNumber(label, scale_ * std::exp(Uniform(std::log(100), std::log(1200))));
  }

  // Neither goes on before the other has come, or nearly so.
  void AddMeeting() {
    switch (Index(3)) {
      case 0:
        return Add("barrier");
      case 1: {
        const bool first = Index(2) == 0;
        AddSignal(first ? "0" : "1");
        return AddSignal(first ? "1" : "0");
      }
      default:
        return Add(WithNumber("window", 1 + Index(3)));
    }
  }

  void AddStep() {
    const std::string work = Work(OneOf({"a", "b", "other"}));
    switch (Index(12)) {
      case 0:
      case 1:
      case 2:
        return AddOwn(OneOf({"lock0{", "lock1{"}) + work + "}");
      case 3:
        return AddSignal(OneOf({"0", "1"}));
      case 4:
        return AddMeeting();
      case 5:
        return AddOwn("thread{" + work + "}");
      case 6:
        return AddOwn(WithNumber("sleep", Uniform(50, 500)));
      default:
        return AddOwn(work);
    }
  }

  std::mt19937_64 random_;
  double scale_ = 1;
  std::string text_;
};

// A number stands for the plan that is drawn with it.
std::string PlanText(const std::string& plan) {
  const bool is_number = plan.find_first_not_of("0123456789") == std::string::npos;
  return is_number ? Draw(strtoull(plan.c_str(), nullptr, 10)).text() : plan;
}

}  // namespace

int main(int argc, char** argv) {
  workload::Program program(argc, argv);
  const std::string text = PlanText(program.Plan());
  printf("plan: %s\n", text.c_str());
  Plan plan(text, &program);
  program.Start();
  // Both end after the same round. The second is at most one ahead when the first sets it.
  constexpr uint64_t kNever = ~uint64_t{0};
  std::atomic<uint64_t> last_round{kNever};
  workload::Thread second(1, [&] {
    uint64_t x = 1;
    for (uint64_t round = 0; round <= last_round; ++round) {
      for (const auto& step : plan.Of(1)) step(&x);
    }
    workload::Keep(x);
  });
  workload::UseCpu(0);
  uint64_t x = 1;
  for (uint64_t round = 0; round <= last_round; ++round) {
    if (last_round == kNever && !program.Running()) last_round = round + 2;
    for (const auto& step : plan.Of(0)) step(&x);
    VISIT("rounds");
  }
  second.join();
  workload::Keep(x);
  return program.Finish();
}
