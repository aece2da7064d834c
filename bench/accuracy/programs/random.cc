// A program that is drawn at random: threads or processes that work, lock, and meet in rounds, by
// waits of all kinds. The same plan is the same program.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "bench/accuracy/programs/gates.h"
#include "bench/accuracy/programs/plan_draw.h"
#include "bench/accuracy/workload.h"

namespace random_program {
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

// What the threads do in a round, in one order. What one waits for comes earlier in it, so no round
// waits for ever. The text of a plan has, between spaces:
//
//   processes          at the beginning: all that is called a thread here is a process
//   threads(6)         then: so many threads, at most 10, that share two CPUs. Without it there are
//                      two, each with a CPU of its own
//   0:a(300)           thread 0 works on line a for 300 us; b and other likewise
//   2-5:a(300)         each thread from 2 to 5 does
//   1:lock0{b(50)}     thread 1 works while it holds the lock 0 or 1
//   1:thread{a(80)}    thread 1 creates a thread that works, and joins it
//   0:sleep(200)       thread 0 sleeps, in us
//   barrier            all threads meet
//   0>1:pipe           thread 1 waits for thread 0; also semaphore, condition, futex, spin, polled,
//                      socket, eventfd, and queue(3) with room for three. 0>pipe: the other of two
//   0>1-5:pipe         each of five threads waits for thread 0, by a pipe of its own; 1-5>0:pipe
//                      waits for five, by one pipe
//   0>1-5:window(3)    thread 0 is at most three rounds ahead of the others; window(3): of the
//                      other of two
//   0>1-5:pool(7)      thread 0 puts five items into one queue with room for seven, of which each
//                      of the others takes one in a round of its own; of several that put items
//                      each puts one. Nothing else may make these wait for each other
class Plan {
 public:
  Plan(const std::string& text, workload::Program* program) : program_(program) {
    std::istringstream words(text);
    std::string word;
    words >> word;
    if (word == "processes") {
      sharers_ = Sharers::kProcesses;
      words >> word;
    }
    if (StartsWith(word, "threads(")) {
      shares_cpus_ = true;
      steps_.resize(static_cast<size_t>(NumberIn(word)));
      if (steps_.size() < 2 || steps_.size() > 10) Refuse(word);
      words >> word;
    }
    shared_ = new Meetings(sharers_, static_cast<unsigned>(steps_.size()));
    for (; words; words >> word) AddWord(word);
  }

  size_t threads() const { return steps_.size(); }
  Sharers sharers() const { return sharers_; }
  // Else each of them makes rounds of its own number, and the end of the first ends all.
  bool ends_together() const { return ends_together_; }
  bool shares_cpus() const { return shares_cpus_; }
  const Steps& Of(size_t thread) const { return steps_[thread]; }

  int CpuOf(size_t thread) const {
    return shares_cpus_ ? workload::kAnyCpu : static_cast<int>(thread);
  }

 private:
  using Set = std::vector<size_t>;  // of threads

  struct Meetings : Shared {
    Meetings(Sharers sharers, unsigned threads)
        : barrier(sharers, threads), locks{Mutex(sharers), Mutex(sharers)} {}

    Barrier barrier;
    Mutex locks[2];
  };

  void AddWord(const std::string& word) {
    static const std::regex signal("(\\d(?:-\\d)?)>(?:(\\d(?:-\\d)?):)?(.+)");
    static const std::regex own("(\\d(?:-\\d)?):(.+)");
    std::smatch parts;
    if (word == "barrier") {
      for (Steps& steps : steps_) {
        steps.emplace_back([this](uint64_t*) { shared_->barrier.Wait(); });
      }
    } else if (StartsWith(word, "window(")) {
      AddSignal({0}, {1}, word);
    } else if (std::regex_match(word, parts, signal)) {
      const Set from = ParseSet(parts[1]);
      AddSignal(from, parts[2].matched ? ParseSet(parts[2]) : Set{from[0] == 0 ? 1u : 0u},
                parts[3]);
    } else if (std::regex_match(word, parts, own)) {
      for (const size_t thread : ParseSet(parts[1])) AddOwn(thread, parts[2]);
    } else {
      Refuse(word);
    }
  }

  Set ParseSet(const std::string& text) const {
    const size_t first = static_cast<size_t>(text.front() - '0');
    const size_t last = static_cast<size_t>(text.back() - '0');
    if (first > last || last >= threads()) Refuse(text);
    Set set;
    for (size_t thread = first; thread <= last; ++thread) set.push_back(thread);
    return set;
  }

  Gate* AddGate(const std::string& kind) {
    const size_t end = kind.find('(');
    const size_t capacity = end == std::string::npos ? 1 : static_cast<size_t>(NumberIn(kind));
    std::unique_ptr<Gate> gate = MakeGate(kind.substr(0, end), capacity, sharers_);
    if (gate == nullptr || capacity == 0) Refuse(kind);
    gates_.push_back(std::move(gate));
    return gates_.back().get();
  }

  // Of several that wait each has a gate of its own, so that none is ahead by another's post. One
  // that waits for several takes as many posts.
  void AddSignal(const Set& from, const Set& to, const std::string& kind) {
    if (StartsWith(kind, "pool(")) return AddPool(from, to, static_cast<size_t>(NumberIn(kind)));
    if (from.size() > 1 && to.size() > 1) Refuse(kind);
    const bool is_window = StartsWith(kind, "window(");
    if (is_window && from.size() > 1) Refuse(kind);
    for (const size_t thread : to) {
      if (is_window) {
        AddWindow(from[0], thread, static_cast<size_t>(NumberIn(kind)));
      } else {
        AddGateBetween(from, thread, kind);
      }
    }
  }

  void AddGateBetween(const Set& from, size_t to, const std::string& kind) {
    Gate* const gate = AddGate(kind);
    for (const size_t thread : from) {
      steps_[thread].emplace_back([gate](uint64_t*) { gate->Post(); });
    }
    steps_[to].emplace_back([gate, count = from.size()](uint64_t*) {
      for (size_t i = 0; i < count; ++i) gate->Wait();
    });
  }

  void AddWindow(size_t from, size_t to, size_t capacity) {
    const std::string queue = "queue(" + std::to_string(capacity) + ")";
    AddGateBetween({from}, to, queue);
    Gate* const back = AddGate(queue);
    steps_[to].emplace_back([back](uint64_t*) { back->Post(); });
    steps_[from].emplace_back([back, capacity, rounds = size_t{0}](uint64_t*) mutable {
      if (rounds++ >= capacity) back->Wait();
    });
  }

  void AddPool(const Set& from, const Set& to, size_t capacity) {
    ends_together_ = false;
    Gate* const gate = AddGate("queue(" + std::to_string(capacity) + ")");
    const size_t items = from.size() == 1 ? to.size() : 1;
    for (const size_t thread : from) {
      steps_[thread].emplace_back([gate, items](uint64_t*) {
        for (size_t i = 0; i < items; ++i) gate->Post();
      });
    }
    for (const size_t thread : to) {
      steps_[thread].emplace_back([gate](uint64_t*) { gate->Wait(); });
    }
  }

  void AddOwn(size_t thread, const std::string& what) {
    Steps& steps = steps_[thread];
    if (StartsWith(what, "sleep(")) {
      steps.emplace_back(
          [us = static_cast<uint64_t>(NumberIn(what))](uint64_t*) { workload::SleepUs(us); });
    } else if (StartsWith(what, "lock0{") || StartsWith(what, "lock1{")) {
      Mutex* const lock = &shared_->locks[what[4] - '0'];
      steps.emplace_back([lock, work = MakeWork(what.substr(6))](uint64_t* x) {
        const std::lock_guard<Mutex> guard(*lock);
        work(x);
      });
    } else if (StartsWith(what, "thread{")) {
      steps.emplace_back([cpu = CpuOf(thread), work = MakeWork(what.substr(7))](uint64_t* x) {
        workload::Thread worker(cpu, [&work, x] { work(x); });
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
  Sharers sharers_ = Sharers::kThreads;
  Meetings* shared_ = nullptr;
  std::vector<std::unique_ptr<Gate>> gates_;
  bool shares_cpus_ = false;
  bool ends_together_ = true;
  std::vector<Steps> steps_ = std::vector<Steps>(2);
};

// A number stands for the plan of two threads that is drawn with it, crowd(NUMBER) and pool(NUMBER)
// for those of more.
std::string PlanText(const std::string& plan) {
  constexpr char kProcesses[] = "processes ";
  if (StartsWith(plan, kProcesses)) return kProcesses + PlanText(plan.substr(strlen(kProcesses)));
  if (plan.find_first_not_of("0123456789") == std::string::npos) {
    return PairDraw(strtoull(plan.c_str(), nullptr, 10)).text();
  }
  if (StartsWith(plan, "crowd(")) return CrowdDraw(static_cast<uint64_t>(NumberIn(plan))).text();
  if (StartsWith(plan, "pool(")) return PoolDraw(static_cast<uint64_t>(NumberIn(plan))).text();
  return plan;
}

// All that end together do so after the same round. The others are at most one ahead when the first
// sets it.
struct LastRound : Shared {
  static constexpr uint64_t kNever = ~uint64_t{0};
  std::atomic<uint64_t> number{kNever};
};

void RunOther(const Plan& plan, size_t thread, const LastRound& last) {
  uint64_t x = 1;
  for (uint64_t round = 0; round <= last.number || !plan.ends_together(); ++round) {
    for (const auto& step : plan.Of(thread)) step(&x);
  }
  workload::Keep(x);
}

void RunFirst(const Plan& plan, const workload::Program& program, LastRound* last) {
  workload::UseCpu(plan.CpuOf(0));
  uint64_t x = 1;
  for (uint64_t round = 0; round <= last->number; ++round) {
    if (last->number == LastRound::kNever && !program.Running()) last->number = round + 2;
    for (const auto& step : plan.Of(0)) step(&x);
    VISIT("rounds");
  }
  workload::Keep(x);
}

void RunThreads(const Plan& plan, const workload::Program& program, LastRound* last) {
  std::vector<workload::Thread> others;
  for (size_t thread = 1; thread < plan.threads(); ++thread) {
    others.emplace_back(plan.CpuOf(thread), [&, thread] { RunOther(plan, thread, *last); });
  }
  RunFirst(plan, program, last);
  for (workload::Thread& thread : others) {
    if (plan.ends_together()) {
      thread.join();
    } else {
      thread.detach();
    }
  }
}

void RunProcesses(const Plan& plan, const workload::Program& program, LastRound* last) {
  fflush(stdout);
  std::vector<pid_t> others;
  for (size_t process = 1; process < plan.threads(); ++process) {
    others.push_back(fork());
    if (others.back() < 0) abort();
    if (others.back() > 0) continue;
    workload::UseCpu(plan.CpuOf(process));
    RunOther(plan, process, *last);
    _exit(0);
  }
  RunFirst(plan, program, last);
  for (const pid_t process : others) {
    if (!plan.ends_together()) kill(process, SIGKILL);
    waitpid(process, nullptr, 0);
  }
}

int Main(int argc, char** argv) {
  workload::Program program(argc, argv);
  const std::string text = PlanText(program.Plan());
  printf("plan: %s\n", text.c_str());
  const Plan plan(text, &program);
  if (plan.shares_cpus()) workload::ShareCpus(2);
  const std::unique_ptr<LastRound> last(new LastRound);
  program.Start();
  const auto run = plan.sharers() == Sharers::kProcesses ? RunProcesses : RunThreads;
  run(plan, program, last.get());
  exit(program.Finish());  // what others still use stays
}

}  // namespace
}  // namespace random_program

int main(int argc, char** argv) { return random_program::Main(argc, argv); }
