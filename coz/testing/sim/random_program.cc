#include "coz/testing/sim/random_program.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "coz/base/clock.h"

namespace coz::sim {
namespace {

uint64_t Between(Random& random, uint64_t low, uint64_t high) {
  return low + random.Below(high - low + 1);
}

uint64_t Milliseconds(Random& random, uint64_t low, uint64_t high) {
  return Between(random, low * 1000, high * 1000) * kNsPerUs;
}

// Adds one to three pieces of work on lines of the program.
void AddWork(const Program& program, Random& random, CodeBuilder& code, uint64_t low_ms,
             uint64_t high_ms) {
  const uint64_t pieces = Between(random, 1, 3);
  for (uint64_t i = 0; i < pieces; ++i) {
    const uint64_t piece_ns = Milliseconds(random, low_ms, high_ms) / pieces;
    code.Work(static_cast<uint32_t>(random.Below(program.lines)), piece_ns);
  }
}

uint32_t AddCode(Program& program) {
  program.codes.emplace_back();
  return static_cast<uint32_t>(program.codes.size() - 1);
}

void AddThread(Program& program, uint32_t code) { program.threads.push_back(code); }

void Serial(Program& program, Random& random) {
  const uint32_t worker = AddCode(program);
  CodeBuilder code(&program.codes[worker]);
  AddWork(program, random, code, 5, 40);
  code.Sleep(Milliseconds(random, 1, 20));
  AddWork(program, random, code, 5, 40);
  code.On(OpKind::kProgress, 0).Jump(0);
  AddThread(program, worker);
  const uint64_t bystanders = random.Below(4);
  for (uint64_t i = 0; i < bystanders; ++i) {
    const uint32_t bystander = AddCode(program);
    CodeBuilder other(&program.codes[bystander]);
    AddWork(program, random, other, 5, 40);
    if (random.Below(2) == 0) other.Sleep(Milliseconds(random, 1, 20));
    other.Jump(0);
    AddThread(program, bystander);
  }
}

void BarrierRounds(Program& program, Random& random) {
  const uint64_t threads = Between(random, 2, 8);
  program.barriers.push_back(static_cast<uint32_t>(threads));
  for (uint64_t i = 0; i < threads; ++i) {
    const uint32_t worker = AddCode(program);
    CodeBuilder code(&program.codes[worker]);
    AddWork(program, random, code, 20, 80);
    code.On(OpKind::kBarrier, 0);
    if (i == 0) code.On(OpKind::kProgress, 0);
    code.Jump(0);
    AddThread(program, worker);
  }
}

void ForkJoin(Program& program, Random& random) {
  const uint64_t tasks = Between(random, 2, 6);
  const uint32_t main = AddCode(program);
  std::vector<uint32_t> children;
  for (uint64_t i = 0; i < tasks; ++i) {
    children.push_back(AddCode(program));
    CodeBuilder code(&program.codes[children.back()]);
    AddWork(program, random, code, 20, 80);
  }
  CodeBuilder code(&program.codes[main]);
  AddWork(program, random, code, 1, 20);
  for (uint32_t i = 0; i < tasks; ++i) code.Spawn(children[i], i);
  AddWork(program, random, code, 1, 40);
  for (uint32_t i = 0; i < tasks; ++i) code.Join(i);
  code.On(OpKind::kProgress, 0).Jump(0);
  AddThread(program, main);
}

void Pipeline(Program& program, Random& random) {
  const uint64_t stages = Between(random, 2, 5);
  std::vector<BoundedQueue> queues;
  for (uint64_t i = 0; i + 1 < stages; ++i) {
    queues.push_back(BoundedQueue::In(program, static_cast<int64_t>(Between(random, 1, 8))));
  }
  for (uint64_t stage = 0; stage < stages; ++stage) {
    const uint64_t threads = Between(random, 1, 2);
    const uint32_t worker = AddCode(program);
    CodeBuilder code(&program.codes[worker]);
    if (stage > 0) queues[stage - 1].Take(code);
    AddWork(program, random, code, 20 * threads, 60 * threads);
    if (stage + 1 < stages) {
      queues[stage].Put(code);
    } else {
      code.On(OpKind::kProgress, 0);
    }
    code.Jump(0);
    for (uint64_t i = 0; i < threads; ++i) AddThread(program, worker);
  }
}

void Mutexes(Program& program, Random& random) {
  program.mutexes = static_cast<uint32_t>(Between(random, 1, 2));
  const uint64_t threads = Between(random, 2, 6);
  for (uint64_t i = 0; i < threads; ++i) {
    const uint32_t worker = AddCode(program);
    CodeBuilder code(&program.codes[worker]);
    for (uint32_t mutex = 0; mutex < program.mutexes; ++mutex) {
      AddWork(program, random, code, 5, 60);
      code.On(OpKind::kLock, mutex);
      AddWork(program, random, code, 5, 30);
      code.On(OpKind::kUnlock, mutex);
    }
    code.On(OpKind::kProgress, 0).Jump(0);
    AddThread(program, worker);
  }
}

void Semaphores(Program& program, Random& random) {
  program.semaphores = {static_cast<uint32_t>(Between(random, 1, 6)), 0};
  for (const bool producer : {true, false}) {
    const uint64_t threads = Between(random, 1, 3);
    const uint32_t worker = AddCode(program);
    CodeBuilder code(&program.codes[worker]);
    code.On(OpKind::kSemWait, producer ? 0 : 1);
    AddWork(program, random, code, 10 * threads, 50 * threads);
    code.On(OpKind::kSemPost, producer ? 1 : 0);
    if (!producer) code.On(OpKind::kProgress, 0);
    code.Jump(0);
    for (uint64_t i = 0; i < threads; ++i) AddThread(program, worker);
  }
}

void RwLocks(Program& program, Random& random) {
  program.rwlocks = 1;
  const uint64_t threads = Between(random, 2, 6);
  for (uint64_t i = 0; i < threads; ++i) {
    const uint32_t worker = AddCode(program);
    CodeBuilder code(&program.codes[worker]);
    AddWork(program, random, code, 5, 60);
    code.On(i == 0 || random.Below(4) == 0 ? OpKind::kWriteLock : OpKind::kReadLock, 0);
    AddWork(program, random, code, 5, 40);
    code.On(OpKind::kRwUnlock, 0).On(OpKind::kProgress, 0).Jump(0);
    AddThread(program, worker);
  }
}

void TimedWait(Program& program, Random& random) {
  program.mutexes = program.conditions = 1;
  const uint32_t waiter = AddCode(program);
  CodeBuilder waiting(&program.codes[waiter]);
  AddWork(program, random, waiting, 5, 40);
  waiting.On(OpKind::kLock, 0).CondWait(0, 0, Milliseconds(random, 5, 60));
  waiting.On(OpKind::kUnlock, 0).On(OpKind::kProgress, 0).Jump(0);
  AddThread(program, waiter);
  const uint32_t notifier = AddCode(program);
  CodeBuilder notifying(&program.codes[notifier]);
  AddWork(program, random, notifying, 10, 60);
  notifying.On(OpKind::kLock, 0).On(OpKind::kSignal, 0).On(OpKind::kUnlock, 0).Jump(0);
  AddThread(program, notifier);
}

// Two threads that pass a turn to each other and spin until they have it.
void Spin(Program& program, Random& random) {
  program.variables = 2;
  const uint32_t spin_line = program.lines++;
  for (uint32_t side = 0; side < 2; ++side) {
    const uint32_t worker = AddCode(program);
    CodeBuilder code(&program.codes[worker]);
    AddWork(program, random, code, 10, 60);
    code.Increase(side, 1).SpinUntil(spin_line, 1 - side, 1).Increase(1 - side, -1);
    if (side == 0) code.On(OpKind::kProgress, 0);
    code.Jump(0);
    AddThread(program, worker);
  }
}

void PacedByInput(Program& program, Random& random) {
  program.inputs.push_back({Milliseconds(random, 30, 60), 200});
  const uint32_t worker = AddCode(program);
  CodeBuilder code(&program.codes[worker]);
  code.On(OpKind::kReadInput, 0);
  AddWork(program, random, code, 10, 80);
  code.On(OpKind::kProgress, 0).Jump(0);
  AddThread(program, worker);
}

// Makes the times of work vary, so that a program does not keep step with the sampling period.
// Threads that take turns at a lock may do so in several orders, each with its own speed. Their
// work varies so much that the program soon leaves each order, because the truth must be one
// number.
void SpreadWork(Program& program, Kind kind) {
  const bool takes_turns =
      kind == Kind::kMutex || kind == Kind::kRwLock || kind == Kind::kTimedWait;
  for (Code& code : program.codes) {
    for (Op& op : code) {
      if (op.kind == OpKind::kWork) op.b = takes_turns ? 700 : 200;
    }
  }
}

// The largest number of threads that the program has at once.
uint32_t ThreadCount(const Program& program) {
  size_t threads = program.threads.size();
  for (const Code& code : program.codes) {
    threads += static_cast<size_t>(std::count_if(
        code.begin(), code.end(), [](const Op& op) { return op.kind == OpKind::kSpawn; }));
  }
  return static_cast<uint32_t>(threads);
}

// Moves the indices in `op` behind the objects of `before`.
void MoveBehind(const Program& before, Op& op) {
  const auto move_variable = [&before](uint32_t& variable) {
    if (variable < kFirstLocalVariable) variable += before.variables;
  };
  switch (op.kind) {
    case OpKind::kSpinUntil:
      move_variable(op.b);
      break;
    case OpKind::kAdd:
    case OpKind::kJumpIfLess:
      move_variable(op.a);
      break;
    case OpKind::kLock:
    case OpKind::kUnlock:
      op.a += before.mutexes;
      break;
    case OpKind::kCondWait:
      op.a += before.conditions;
      op.b += before.mutexes;
      break;
    case OpKind::kSignal:
    case OpKind::kBroadcast:
      op.a += before.conditions;
      break;
    case OpKind::kBarrier:
      op.a += static_cast<uint32_t>(before.barriers.size());
      break;
    case OpKind::kSemWait:
    case OpKind::kSemPost:
      op.a += static_cast<uint32_t>(before.semaphores.size());
      break;
    case OpKind::kReadLock:
    case OpKind::kWriteLock:
    case OpKind::kRwUnlock:
      op.a += before.rwlocks;
      break;
    case OpKind::kReadInput:
      op.a += static_cast<uint32_t>(before.inputs.size());
      break;
    case OpKind::kSpawn:
      op.a += static_cast<uint32_t>(before.codes.size());
      break;
    default:
      break;
  }
}

template <typename T>
void Append(std::vector<T>& to, const std::vector<T>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

void PutBeside(Program& program, Program added) {
  for (Code& code : added.codes) {
    for (Op& op : code) MoveBehind(program, op);
  }
  for (uint32_t& code : added.threads) code += static_cast<uint32_t>(program.codes.size());
  Append(program.codes, added.codes);
  Append(program.threads, added.threads);
  Append(program.barriers, added.barriers);
  Append(program.semaphores, added.semaphores);
  Append(program.inputs, added.inputs);
  program.lines = std::max(program.lines, added.lines);
  program.points = std::max(program.points, added.points);
  program.variables += added.variables;
  program.mutexes += added.mutexes;
  program.conditions += added.conditions;
  program.rwlocks += added.rwlocks;
}

}  // namespace

std::string_view KindName(Kind kind) {
  constexpr std::string_view kNames[kKinds] = {"serial", "barrier",   "fork-join", "pipeline",
                                               "mutex",  "semaphore", "rwlock",    "timed-wait",
                                               "spin",   "input"};
  return kNames[static_cast<int>(kind)];
}

bool PredictionIsExact(Kind kind) { return kind != Kind::kSpin && kind != Kind::kInput; }

Program RandomProgram(Kind kind, Random& random) {
  Program program;
  program.lines = static_cast<uint32_t>(Between(random, 2, 6));
  program.points = 1;
  switch (kind) {
    case Kind::kSerial:
      Serial(program, random);
      break;
    case Kind::kBarrier:
      BarrierRounds(program, random);
      break;
    case Kind::kForkJoin:
      ForkJoin(program, random);
      break;
    case Kind::kPipeline:
      Pipeline(program, random);
      break;
    case Kind::kMutex:
      Mutexes(program, random);
      break;
    case Kind::kSemaphore:
      Semaphores(program, random);
      break;
    case Kind::kRwLock:
      RwLocks(program, random);
      break;
    case Kind::kTimedWait:
      TimedWait(program, random);
      break;
    case Kind::kSpin:
      Spin(program, random);
      break;
    case Kind::kInput:
      PacedByInput(program, random);
      break;
  }
  SpreadWork(program, kind);
  return program;
}

void DivideTimes(Program& program, uint64_t parts) {
  for (Code& code : program.codes) {
    for (Op& op : code) op.ns /= parts;
  }
  for (Input& input : program.inputs) input.interval_ns /= parts;
}

Program RandomCrowd(Kind kind, Random& random, uint32_t threads) {
  Program program;
  for (uint32_t so_far = 0; so_far < threads;) {
    Program added = RandomProgram(kind, random);
    so_far += ThreadCount(added);
    PutBeside(program, std::move(added));
  }
  return program;
}

}  // namespace coz::sim
