// The programs that simulated threads run: a small instruction set for work, waits and progress.
//
// Shape    straight-line instructions with jumps on integer variables; indices name the objects
// Units    ns of simulated time; work in ns of CPU time
// Errors   none here: the simulator checks indices when it runs the program
// Threads  compatible
// Signals  none
// Source   docs/testing.md, "The simulator"
#ifndef COZ_TESTING_SIM_PROGRAM_H_
#define COZ_TESTING_SIM_PROGRAM_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "coz/experiment/target.h"

namespace coz::sim {

enum class OpKind : uint8_t {
  kWork,       // line `a` for `ns` of CPU time, uniformly spread by `b` thousandths to either side
  kSpinUntil,  // line `a`, on the CPU, until variable `b` >= `value`
  kLock,       // mutex `a`
  kUnlock,
  kCondWait,  // condition `a` with mutex `b`; gives up after `ns` unless 0
  kSignal,    // condition `a`
  kBroadcast,
  kBarrier,  // barrier `a`
  kSemWait,  // semaphore `a`
  kSemPost,
  kReadLock,  // reader-writer lock `a`
  kWriteLock,
  kRwUnlock,
  kSleep,       // `ns`; with `b`, an exponential time of that mean; with `value`, it is line `a`
  kReadInput,   // takes one event of input `a`, which come from outside of the program
  kSpawn,       // a thread that runs code `a`, known to its creator as child `b`
  kJoin,        // child `b`
  kProgress,    // a visit of point `a`
  kBegin,       // an arrival at point `a`
  kEnd,         // a departure
  kAdd,         // `value` to variable `a`
  kJumpIfLess,  // to instruction `b` if variable `a` < `value`
  kJump,        // to instruction `b`
};

struct Op {
  OpKind kind;
  uint32_t a = 0;
  uint32_t b = 0;
  uint64_t ns = 0;
  int64_t value = 0;
};

using Code = std::vector<Op>;

// Each thread has its own copy of the variables from this one on.
inline constexpr uint32_t kFirstLocalVariable = 1u << 20;
inline constexpr uint32_t kLocalVariables = 4;

// Events that come from outside, at times that the program does not influence.
struct Input {
  uint64_t interval_ns = 0;
  uint32_t spread_permille = 0;
};

struct Program {
  std::vector<Code> codes;
  std::vector<uint32_t> threads;  // the codes of the threads that exist from the start
  uint32_t lines = 0;
  uint32_t points = 0;
  uint32_t variables = 0;
  uint32_t mutexes = 0;
  uint32_t conditions = 0;
  uint32_t rwlocks = 0;
  std::vector<uint32_t> barriers;    // how many threads each waits for
  std::vector<uint32_t> semaphores;  // initial values
  std::vector<Input> inputs;
};

// Appends instructions to one code.
class CodeBuilder {
 public:
  explicit CodeBuilder(Code* code) : code_(code) {}

  uint32_t Here() const { return static_cast<uint32_t>(code_->size()); }

  CodeBuilder& Work(uint32_t line, uint64_t ns, uint32_t spread_permille = 0) {
    return Add({OpKind::kWork, line, spread_permille, ns, 0});
  }
  CodeBuilder& SpinUntil(uint32_t line, uint32_t variable, int64_t value) {
    return Add({OpKind::kSpinUntil, line, variable, 0, value});
  }
  CodeBuilder& On(OpKind kind, uint32_t object) { return Add({kind, object, 0, 0, 0}); }
  CodeBuilder& CondWait(uint32_t condition, uint32_t mutex, uint64_t timeout_ns = 0) {
    return Add({OpKind::kCondWait, condition, mutex, timeout_ns, 0});
  }
  CodeBuilder& Sleep(uint64_t ns) { return Add({OpKind::kSleep, 0, 0, ns, 0}); }
  // A wait that the outside ends, as a unit: it can be made shorter as a line's work can.
  CodeBuilder& WaitOutside(uint32_t line, uint64_t ns) {
    return Add({OpKind::kSleep, line, 0, ns, 1});
  }
  // Sleeps for an exponential time, as until the next event of a Poisson process.
  CodeBuilder& SleepRandom(uint64_t mean_ns) { return Add({OpKind::kSleep, 0, 1, mean_ns, 0}); }
  CodeBuilder& Spawn(uint32_t code, uint32_t child) {
    return Add({OpKind::kSpawn, code, child, 0, 0});
  }
  CodeBuilder& Join(uint32_t child) { return Add({OpKind::kJoin, 0, child, 0, 0}); }
  CodeBuilder& Increase(uint32_t variable, int64_t by) {
    return Add({OpKind::kAdd, variable, 0, 0, by});
  }
  CodeBuilder& Jump(uint32_t to) { return Add({OpKind::kJump, 0, to, 0, 0}); }

  // while (variable < value) body. WhileNotLess has the opposite condition.
  template <typename Body>
  CodeBuilder& WhileLess(uint32_t variable, int64_t value, Body body) {
    const uint32_t start = Here();
    Add({OpKind::kJumpIfLess, variable, start + 2, 0, value});
    const uint32_t leave = Here();
    Jump(0);
    body(*this);
    Jump(start);
    (*code_)[leave].b = Here();
    return *this;
  }
  template <typename Body>
  CodeBuilder& WhileNotLess(uint32_t variable, int64_t value, Body body) {
    const uint32_t start = Here();
    Add({OpKind::kJumpIfLess, variable, 0, 0, value});
    body(*this);
    Jump(start);
    (*code_)[start].b = Here();
    return *this;
  }

 private:
  CodeBuilder& Add(const Op& op) {
    code_->push_back(op);
    return *this;
  }

  Code* code_;
};

// A queue of a mutex, two conditions and a count, as programs make them. All indices are those of
// the program's objects.
struct BoundedQueue {
  uint32_t mutex;
  uint32_t not_empty;
  uint32_t not_full;
  uint32_t size;  // variable
  int64_t capacity;

  static BoundedQueue In(Program& program, int64_t capacity) {
    const BoundedQueue queue = {program.mutexes, program.conditions, program.conditions + 1,
                                program.variables, capacity};
    program.mutexes += 1;
    program.conditions += 2;
    program.variables += 1;
    return queue;
  }

  void Put(CodeBuilder& code) const {
    code.On(OpKind::kLock, mutex);
    code.WhileNotLess(size, capacity, [this](CodeBuilder& c) { c.CondWait(not_full, mutex); });
    code.Increase(size, 1).On(OpKind::kSignal, not_empty).On(OpKind::kUnlock, mutex);
  }
  void Take(CodeBuilder& code) const {
    code.On(OpKind::kLock, mutex);
    code.WhileLess(size, 1, [this](CodeBuilder& c) { c.CondWait(not_empty, mutex); });
    code.Increase(size, -1).On(OpKind::kSignal, not_full).On(OpKind::kUnlock, mutex);
  }
};

}  // namespace coz::sim

#endif  // COZ_TESTING_SIM_PROGRAM_H_
