#include "coz/testing/sim/study_programs.h"

#include <utility>

#include "coz/base/clock.h"

namespace coz::sim {
namespace {

// Work varies by this, because a loop on a real machine never takes the same time twice.
constexpr uint32_t kSpreadPermille = 20;

StudyProgram Named(const char* name, std::vector<std::string> lines, size_t codes) {
  StudyProgram study;
  study.name = name;
  study.lines = std::move(lines);
  study.program.lines = static_cast<uint32_t>(study.lines.size());
  study.program.points = 1;
  study.program.codes.resize(codes);
  return study;
}

class Builder : public CodeBuilder {
 public:
  using CodeBuilder::CodeBuilder;
  Builder& Us(uint32_t line, uint64_t us) {
    Work(line, us * kNsPerUs, kSpreadPermille);
    return *this;
  }
};

// Two threads that contend for a mutex.
StudyProgram Mutex() {
  StudyProgram study = Named("mutex", {"inside", "outside"}, 1);
  study.program.mutexes = 1;
  Builder loop(&study.program.codes[0]);
  loop.On(OpKind::kLock, 0);
  loop.Us(0, 600).On(OpKind::kUnlock, 0);
  loop.Us(1, 400).On(OpKind::kProgress, 0).Jump(0);
  study.program.threads = {0, 0};
  return study;
}

// Each thread waits for the other twice a round.
StudyProgram Barrier() {
  StudyProgram study = Named("barrier", {"heavy", "light"}, 2);
  study.program.barriers = {2};
  Builder heavy(&study.program.codes[0]);
  heavy.Us(0, 1000).On(OpKind::kBarrier, 0).On(OpKind::kProgress, 0);
  heavy.On(OpKind::kBarrier, 0).Jump(0);
  Builder light(&study.program.codes[1]);
  light.Us(1, 700).On(OpKind::kBarrier, 0).On(OpKind::kBarrier, 0).Jump(0);
  study.program.threads = {0, 1};
  return study;
}

// A round together, and work alone by the one that has more to do in it.
StudyProgram BarrierSerial() {
  StudyProgram study = Named("barrier_serial", {"starter", "helping", "serial"}, 2);
  study.program.barriers = {2};
  Builder starter(&study.program.codes[0]);
  starter.On(OpKind::kBarrier, 0);
  starter.Us(0, 900).On(OpKind::kBarrier, 0);
  starter.Us(2, 300).On(OpKind::kProgress, 0).Jump(0);
  Builder helper(&study.program.codes[1]);
  helper.On(OpKind::kBarrier, 0);
  helper.Us(1, 600).On(OpKind::kBarrier, 0).Jump(0);
  study.program.threads = {0, 1};
  return study;
}

// The same with a count under a mutex, which the starter waits for until it is 0.
StudyProgram CountSerial() {
  StudyProgram study = Named("count_serial", {"starter", "helping", "serial"}, 2);
  study.program.variables = 1;
  study.program.mutexes = 1;
  study.program.conditions = 1;
  study.program.semaphores = {0};
  Builder starter(&study.program.codes[0]);
  starter.Increase(0, 1).On(OpKind::kSemPost, 0);
  starter.Us(0, 900).On(OpKind::kLock, 0);
  starter.WhileNotLess(0, 1, [](CodeBuilder& c) { c.CondWait(0, 0); });
  starter.On(OpKind::kUnlock, 0);
  starter.Work(2, 300 * kNsPerUs, kSpreadPermille).On(OpKind::kProgress, 0).Jump(0);
  Builder helper(&study.program.codes[1]);
  helper.On(OpKind::kSemWait, 0);
  helper.Us(1, 600).On(OpKind::kLock, 0).Increase(0, -1);
  helper.On(OpKind::kSignal, 0).On(OpKind::kUnlock, 0).Jump(0);
  study.program.threads = {0, 1};
  return study;
}

StudyProgram RwLock() {
  StudyProgram study = Named("rwlock", {"update", "lookup", "writer", "reader"}, 2);
  study.program.rwlocks = 1;
  Builder writer(&study.program.codes[0]);
  writer.On(OpKind::kWriteLock, 0);
  writer.Us(0, 900).On(OpKind::kRwUnlock, 0);
  writer.Us(2, 300).Jump(0);
  Builder reader(&study.program.codes[1]);
  reader.On(OpKind::kReadLock, 0);
  reader.Us(1, 400).On(OpKind::kRwUnlock, 0);
  reader.Us(3, 400).On(OpKind::kProgress, 0).Jump(0);
  study.program.threads = {0, 1};
  return study;
}

StudyProgram Semaphore() {
  StudyProgram study = Named("semaphore", {"produce", "consume"}, 2);
  study.program.semaphores = {4, 0};
  Builder producer(&study.program.codes[0]);
  producer.Us(0, 700).On(OpKind::kSemWait, 0).On(OpKind::kSemPost, 1).Jump(0);
  Builder consumer(&study.program.codes[1]);
  consumer.On(OpKind::kSemWait, 1).On(OpKind::kSemPost, 0);
  consumer.Us(1, 1000).On(OpKind::kProgress, 0).Jump(0);
  study.program.threads = {0, 1};
  return study;
}

StudyProgram Pipeline() {
  StudyProgram study = Named("pipeline", {"produce", "consume"}, 2);
  const BoundedQueue queue = BoundedQueue::In(study.program, 4);
  Builder producer(&study.program.codes[0]);
  producer.Us(0, 1000);
  queue.Put(producer);
  producer.Jump(0);
  Builder consumer(&study.program.codes[1]);
  queue.Take(consumer);
  consumer.Us(1, 700).On(OpKind::kProgress, 0).Jump(0);
  study.program.threads = {0, 1};
  return study;
}

StudyProgram Rounds(const char* name, uint64_t leader_us, uint64_t helper_us) {
  StudyProgram study = Named(name, {"leader", "helper"}, 2);
  study.program.semaphores = {0, 0};
  Builder leader(&study.program.codes[0]);
  leader.On(OpKind::kSemPost, 0);
  leader.Us(0, leader_us).On(OpKind::kSemWait, 1).On(OpKind::kProgress, 0).Jump(0);
  Builder helper(&study.program.codes[1]);
  helper.On(OpKind::kSemWait, 0);
  helper.Us(1, helper_us).On(OpKind::kSemPost, 1).Jump(0);
  study.program.threads = {0, 1};
  return study;
}

StudyProgram ForkJoin() {
  StudyProgram study = Named("fork_join", {"long_half", "short_half"}, 2);
  Builder creator(&study.program.codes[0]);
  creator.Spawn(1, 0);
  creator.Us(0, 1000).Join(0).On(OpKind::kProgress, 0).Jump(0);
  Builder(&study.program.codes[1]).Us(1, 700);
  study.program.threads = {0};
  return study;
}

StudyProgram Join() {
  StudyProgram study = Named("join", {"slow", "fast"}, 3);
  Builder creator(&study.program.codes[0]);
  creator.Spawn(1, 0).Spawn(2, 1).Join(0).Join(1).On(OpKind::kProgress, 0).Jump(0);
  Builder(&study.program.codes[1]).Us(0, 3000);
  Builder(&study.program.codes[2]).Us(1, 2000);
  study.program.threads = {0};
  return study;
}

// The main thread gives two others eight tasks, waits for all tasks, and merges.
StudyProgram ThreadPool() {
  constexpr uint32_t kTasks = 0;  // variables
  constexpr uint32_t kUnfinished = 1;
  StudyProgram study = Named("thread_pool", {"task", "merge"}, 2);
  study.program.variables = 2;
  study.program.mutexes = 1;
  study.program.conditions = 2;
  Code& main_code = study.program.codes[0];
  Builder main_thread(&main_code);
  for (int i = 0; i < 8; ++i) {
    main_thread.On(OpKind::kLock, 0).Increase(kTasks, 1).Increase(kUnfinished, 1);
    main_thread.On(OpKind::kSignal, 0).On(OpKind::kUnlock, 0);
  }
  main_thread.On(OpKind::kLock, 0);
  main_thread.WhileNotLess(kUnfinished, 1, [](CodeBuilder& c) { c.CondWait(1, 0); });
  main_thread.On(OpKind::kUnlock, 0);
  main_thread.Us(1, 400).On(OpKind::kProgress, 0).Jump(0);
  Code& worker_code = study.program.codes[1];
  Builder worker(&worker_code);
  worker.On(OpKind::kLock, 0);
  worker.WhileLess(kTasks, 1, [](CodeBuilder& c) { c.CondWait(0, 0); });
  worker.Increase(kTasks, -1).On(OpKind::kUnlock, 0);
  worker.Us(0, 300).On(OpKind::kLock, 0).Increase(kUnfinished, -1);
  const uint32_t here = worker.Here();
  worker_code.push_back({OpKind::kJumpIfLess, kUnfinished, here + 2, 0, 1});
  worker.Jump(here + 3).On(OpKind::kSignal, 1).On(OpKind::kUnlock, 0).Jump(0);
  study.program.threads = {0, 1, 1};
  return study;
}

}  // namespace

StudyProgram SpinWait() {
  StudyProgram study = Named("spin_wait", {"leader", "helper", "spin"}, 2);
  study.program.variables = 2;
  Builder leader(&study.program.codes[0]);
  leader.Increase(0, 1);
  leader.Us(0, 700).SpinUntil(2, 1, 1).Increase(1, -1).On(OpKind::kProgress, 0).Jump(0);
  Builder helper(&study.program.codes[1]);
  helper.SpinUntil(2, 0, 1).Increase(0, -1);
  helper.Us(1, 1000).Increase(1, 1).Jump(0);
  study.program.threads = {0, 1};
  return study;
}

namespace {

// Five threads, each with its own work and a little work under a common lock.
StudyProgram CrowdedMutex() {
  StudyProgram study = Named("crowded_mutex", {"inside", "outside"}, 1);
  study.program.mutexes = 1;
  Builder loop(&study.program.codes[0]);
  loop.Us(1, 2000).On(OpKind::kLock, 0);
  loop.Us(0, 700).On(OpKind::kProgress, 0).On(OpKind::kUnlock, 0).Jump(0);
  study.program.threads = {0, 0, 0, 0, 0};
  return study;
}

// Four threads meet after each round. One has more to do.
StudyProgram CrowdedBarrier() {
  StudyProgram study = Named("crowded_barrier", {"heavy", "light"}, 2);
  study.program.barriers = {4};
  Builder heavy(&study.program.codes[0]);
  heavy.Us(0, 5000).On(OpKind::kBarrier, 0).On(OpKind::kProgress, 0).Jump(0);
  Builder light(&study.program.codes[1]);
  light.Us(1, 3000).On(OpKind::kBarrier, 0).Jump(0);
  study.program.threads = {0, 1, 1, 1};
  return study;
}

// Eight workers take the items that one thread makes.
StudyProgram CrowdedQueue() {
  StudyProgram study = Named("crowded_queue", {"make", "work"}, 2);
  const BoundedQueue queue = BoundedQueue::In(study.program, 16);
  Builder maker(&study.program.codes[0]);
  maker.Us(0, 300);
  queue.Put(maker);
  maker.Jump(0);
  Builder worker(&study.program.codes[1]);
  queue.Take(worker);
  worker.Us(1, 700).On(OpKind::kProgress, 0).Jump(0);
  study.program.threads = {0, 1, 1, 1, 1, 1, 1, 1, 1};
  return study;
}

// Three stages of two threads each.
StudyProgram CrowdedPipeline() {
  StudyProgram study = Named("crowded_pipeline", {"first", "second", "third"}, 3);
  const BoundedQueue first = BoundedQueue::In(study.program, 8);
  const BoundedQueue second = BoundedQueue::In(study.program, 8);
  Builder reader(&study.program.codes[0]);
  reader.Us(0, 500);
  first.Put(reader);
  reader.Jump(0);
  Builder middle(&study.program.codes[1]);
  first.Take(middle);
  middle.Us(1, 900);
  second.Put(middle);
  middle.Jump(0);
  Builder writer(&study.program.codes[2]);
  second.Take(writer);
  writer.Us(2, 400).On(OpKind::kProgress, 0).Jump(0);
  study.program.threads = {0, 0, 1, 1, 2, 2};
  return study;
}

// Six threads share a loop. Then one of them works alone.
StudyProgram CrowdedLoop() {
  StudyProgram study = Named("crowded_loop", {"loop", "serial"}, 2);
  study.program.barriers = {6};
  Builder starter(&study.program.codes[0]);
  starter.On(OpKind::kBarrier, 0);
  starter.Us(0, 2000).On(OpKind::kBarrier, 0);
  starter.Us(1, 1500).On(OpKind::kProgress, 0).Jump(0);
  Builder helper(&study.program.codes[1]);
  helper.On(OpKind::kBarrier, 0);
  helper.Us(0, 2000).On(OpKind::kBarrier, 0).Jump(0);
  study.program.threads = {0, 1, 1, 1, 1, 1};
  return study;
}

}  // namespace

StudyProgram CrowdedSpin() {
  constexpr uint32_t kGiven = 0;  // variables
  constexpr uint32_t kDone = 1;
  constexpr uint32_t kRequests = 0;  // semaphores
  constexpr uint32_t kReplies = 1;
  StudyProgram study = Named("crowded_spin", {"execute", "transfer", "ask", "spin"}, 3);
  study.program.variables = 2;
  study.program.semaphores = {0, 2};
  Builder server(&study.program.codes[0]);
  server.On(OpKind::kSemWait, kRequests);
  server.Increase(kGiven, 1);
  server.Us(1, 80).SpinUntil(3, kDone, 1).Increase(kDone, -1);
  server.Us(0, 900).Increase(kGiven, 1);
  server.Us(1, 80).SpinUntil(3, kDone, 1).Increase(kDone, -1);
  server.On(OpKind::kProgress, 0).Jump(0);
  Builder helper(&study.program.codes[1]);
  helper.SpinUntil(3, kGiven, 1).Increase(kGiven, -1);
  helper.Us(1, 80).Increase(kDone, 1);
  helper.SpinUntil(3, kGiven, 1).Increase(kGiven, -1);
  helper.Us(1, 80).On(OpKind::kSemPost, kReplies).Increase(kDone, 1).Jump(0);
  Builder client(&study.program.codes[2]);
  client.On(OpKind::kSemWait, kReplies);
  client.Us(2, 320).On(OpKind::kSemPost, kRequests).Jump(0);
  study.program.threads = {0, 1, 2};
  return study;
}

std::vector<StudyProgram> CrowdedPrograms() {
  return {CrowdedMutex(),    CrowdedBarrier(), CrowdedQueue(),
          CrowdedPipeline(), CrowdedLoop(),    CrowdedSpin()};
}

StudyProgram SpinThenSleep() {
  constexpr uint32_t kGiven = 0;    // a variable
  constexpr uint32_t kAnswers = 0;  // semaphores
  constexpr uint32_t kRequests = 1;
  StudyProgram study = Named("spin_then_sleep", {"answer", "other", "spin"}, 2);
  study.program.variables = 1;
  study.program.semaphores = {0, 0};
  Builder client(&study.program.codes[0]);
  client.Us(1, 90).SpinUntil(2, kGiven, 1).Increase(kGiven, -1).Sleep(130 * kNsPerUs);
  client.Us(1, 190);
  client.On(OpKind::kSemWait, kAnswers).On(OpKind::kSemPost, kRequests);
  client.On(OpKind::kProgress, 0).Jump(0);
  Builder server(&study.program.codes[1]);
  server.Us(0, 120).Us(1, 170).Increase(kGiven, 1);
  server.Us(1, 160).On(OpKind::kSemPost, kAnswers).On(OpKind::kSemWait, kRequests).Jump(0);
  study.program.threads = {0, 1};
  return study;
}

StudyProgram SemaphoreThenSerial() {
  constexpr uint32_t kReady = 0;  // semaphores
  constexpr uint32_t kGo = 1;
  StudyProgram study = Named("semaphore_serial", {"late", "early", "serial"}, 2);
  study.program.semaphores = {0, 0};
  study.program.barriers = {2};
  Builder early(&study.program.codes[0]);
  early.Us(1, 310).On(OpKind::kSemPost, kReady).On(OpKind::kSemWait, kGo);
  early.On(OpKind::kBarrier, 0).On(OpKind::kProgress, 0).Jump(0);
  Builder late(&study.program.codes[1]);
  late.Us(0, 380).On(OpKind::kSemWait, kReady).On(OpKind::kSemPost, kGo);
  late.Us(2, 1060).On(OpKind::kBarrier, 0).Jump(0);
  study.program.threads = {0, 1};
  return study;
}

StudyProgram Stages() {
  StudyProgram study = Named("stages", {"check", "decode", "compress"}, 2);
  const BoundedQueue queue = BoundedQueue::In(study.program, 8);
  Builder first(&study.program.codes[0]);
  first.Us(1, 960).Us(0, 640);
  queue.Put(first);
  first.Jump(0);
  Builder second(&study.program.codes[1]);
  queue.Take(second);
  second.Us(2, 1120).On(OpKind::kProgress, 0).Jump(0);
  study.program.threads = {0, 1};
  return study;
}

StudyProgram Latency() {
  constexpr uint32_t kOrders = 0;  // variable
  StudyProgram study = Named("latency", {"serve", "receive"}, 2);
  study.program.variables = 1;
  study.program.mutexes = 1;
  study.program.conditions = 1;
  Builder server(&study.program.codes[0]);
  server.On(OpKind::kLock, 0);
  server.WhileLess(kOrders, 1, [](CodeBuilder& c) { c.CondWait(0, 0); });
  server.Increase(kOrders, -1).On(OpKind::kUnlock, 0);
  server.Us(0, 500).On(OpKind::kEnd, 0).Jump(0);
  Builder receiver(&study.program.codes[1]);
  receiver.SleepRandom(1500 * kNsPerUs);
  receiver.Us(1, 60).On(OpKind::kBegin, 0).On(OpKind::kLock, 0).Increase(kOrders, 1);
  receiver.On(OpKind::kSignal, 0).On(OpKind::kUnlock, 0).Jump(0);
  study.program.threads = {0, 1};
  return study;
}

std::vector<StudyProgram> StudyPrograms() {
  return {Mutex(),
          Barrier(),
          BarrierSerial(),
          CountSerial(),
          RwLock(),
          Semaphore(),
          Pipeline(),
          Rounds("rounds", 1000, 700),
          Rounds("short_rounds", 100, 150),
          ForkJoin(),
          Join(),
          ThreadPool(),
          Latency()};
}

}  // namespace coz::sim
