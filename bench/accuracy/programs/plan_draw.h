// Draws the texts of random.cc's plans.
//
// Shape    the same seed gives the same text
// Units    us
// Errors   none
// Threads  safe
#ifndef COZ_BENCH_ACCURACY_PROGRAMS_PLAN_DRAW_H_
#define COZ_BENCH_ACCURACY_PROGRAMS_PLAN_DRAW_H_

#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace random_program {

// What all draws have in common. Each line of interest is in each plan.
class Draw {
 public:
  const std::string& text() const { return text_; }

 protected:
  Draw(uint64_t seed, double least_scale, double most_scale) : random_(seed) {
    scale_ = std::exp(Uniform(std::log(least_scale), std::log(most_scale)));
  }

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
  std::string Work(const std::string& label) {
    return WithNumber(label, scale_ * std::exp(Uniform(std::log(100), std::log(1200))));
  }
  std::string Locked() { return OneOf({"lock0{", "lock1{"}); }

  void Add(const std::string& word) { text_ += (text_.empty() ? "" : " ") + word; }

 private:
  std::mt19937_64 random_;
  double scale_ = 1;
  std::string text_;
};

// Two threads, of which neither is ever ahead of the other by more than a few rounds.
class PairDraw : public Draw {
 public:
  explicit PairDraw(uint64_t seed) : Draw(seed, 0.15, 1.5) {
    AddOwn(Work("a"));
    AddOwn(Work("b"));
    const int steps = 3 + Index(7);
    const int first_end = Index(steps);
    for (int i = 0; i < steps; ++i) {
      if (i == first_end) AddMeeting();
      AddStep();
    }
  }

 private:
  void AddOwn(const std::string& what) { Add(OneOf({"0:", "1:"}) + what); }
  void AddSignal(const std::string& from) {
    const std::string queue = WithNumber("queue", 1 + Index(4));
    Add(from + ">" +
        OneOf({"semaphore", "condition", "futex", "spin", "pipe", "polled", "socket", "eventfd",
               queue}));
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
        return AddOwn(Locked() + work + "}");
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
};

// Three to eight threads: a team that meets, one that gives work to all others, a chain of stages,
// or two stages of which the second is a pool.
class CrowdDraw : public Draw {
 public:
  explicit CrowdDraw(uint64_t seed) : Draw(seed, 0.1, 0.8), threads_(3 + Index(6)) {
    Add(WithNumber("threads", threads_));
    others_ = "1-" + std::to_string(threads_ - 1);
    AddOwn(Work("a"));
    AddOwn(Work("b"));
    const int steps = 2 + Index(5);
    const int met = Index(steps);
    for (int i = 0; i < steps; ++i) {
      if (i == met) AddStructure();
      AddStep();
    }
  }

 private:
  void AddOwn(const std::string& what) {
    const std::string one = std::to_string(Index(threads_));
    Add(OneOf({"0", one, others_, "0-" + std::to_string(threads_ - 1)}) + ":" + what);
  }
  std::string Kind() {
    return OneOf({"semaphore", "condition", "futex", "pipe", "polled", "socket", "eventfd",
                  WithNumber("queue", 1 + Index(4))});
  }
  void AddSignal(const std::string& from, const std::string& to) {
    Add(from + ">" + to + ":" + Kind());
  }

  // No thread goes on before all have come, or nearly so.
  void AddStructure() {
    const std::string window = WithNumber(":window", 1 + Index(3));
    switch (Index(4)) {
      case 0:
        return Add("barrier");
      case 1:
        AddSignal("0", others_);
        AddStep();
        return AddSignal(others_, "0");
      case 2:
        for (int i = 1; i < threads_; ++i) {
          Add(std::to_string(i - 1) + ">" + std::to_string(i) + window);
          if (i + 1 < threads_ && Index(2) == 0) {
            Add(std::to_string(i) + ":" + Work(OneOf({"a", "b", "other"})));
          }
        }
        return;
      default:
        Add("0>" + others_ + window);
    }
  }

  void AddStep() {
    const std::string work = Work(OneOf({"a", "b", "other"}));
    switch (Index(10)) {
      case 0:
      case 1:
        return AddOwn(Locked() + work + "}");
      case 2: {
        const int from = Index(threads_);
        const int to = (from + 1 + Index(threads_ - 1)) % threads_;
        return AddSignal(std::to_string(from), std::to_string(to));
      }
      case 3:
        return AddOwn("thread{" + work + "}");
      case 4:
        return AddOwn(WithNumber("sleep", Uniform(50, 500)));
      default:
        return AddOwn(work);
    }
  }

  const int threads_;
  std::string others_;  // all but thread 0
};

// Three to eight threads, of which most take items from one queue in any order: workers behind one
// that puts them in, or two stages of workers. They share locks besides.
class PoolDraw : public Draw {
 public:
  explicit PoolDraw(uint64_t seed) : Draw(seed, 0.1, 0.8) {
    const int threads = 3 + Index(6);
    Add(WithNumber("threads", threads));
    const int second = threads > 3 && Index(2) == 0 ? 2 + Index(threads - 2) : threads;
    const std::string workers = Range(1, second - 1);
    AddStage("0", "a");
    Add("0>" + workers + WithNumber(":pool", 1 + Index(2 * threads)));
    AddStage(workers, "b");
    if (second == threads) return;
    const std::string last = Range(second, threads - 1);
    Add(workers + ">" + last + WithNumber(":pool", 1 + Index(2 * threads)));
    AddStage(last, OneOf({"a", "b"}));
  }

 private:
  static std::string Range(int first, int last) {
    return std::to_string(first) + (first == last ? "" : "-" + std::to_string(last));
  }

  static std::string AllOf(const std::vector<std::string>& parts) {
    std::string all;
    for (const std::string& part : parts) all += part;
    return all;
  }

  // Work of which a part is on the line.
  void AddStage(const std::string& threads, const std::string& line) {
    const int steps = 1 + Index(3);
    const int of_line = Index(steps);
    for (int i = 0; i < steps; ++i) {
      const std::string work = Work(i == of_line ? line : OneOf({"a", "b", "other"}));
      switch (Index(5)) {
        case 0:
          Add(AllOf({threads, ":", Locked(), work, "}"}));
          break;
        case 1:
          Add(threads + ":" + WithNumber("sleep", Uniform(50, 500)));
          [[fallthrough]];
        default:
          Add(AllOf({threads, ":", work}));
      }
    }
  }
};

}  // namespace random_program

#endif  // COZ_BENCH_ACCURACY_PROGRAMS_PLAN_DRAW_H_
