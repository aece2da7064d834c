// A target that writes anything into the shared memory: between two looks of the supervisor, and
// while it looks. The supervisor neither crashes nor hangs, keeps a bounded list of everything, and
// its profile stays readable.
//
// An input is a list of writes and looks; another thread makes the same writes over and over
// meanwhile, each input in an order of its own. The test is supervisor and target in one, so that
// the one number that the kernel confirms as the target's is its own.
//
// tools/scripts/fuzz.sh 600 hostile_target
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "coz/base/clock.h"
#include "coz/experiment/scheduler.h"
#include "coz/report/format/profile_reader.h"
#include "coz/report/format/profile_writer.h"
#include "coz/shared/control_block.h"
#include "coz/shared/jit_code.h"
#include "coz/sourcemap/scope.h"
#include "coz/sourcemap/unit_table.h"
#include "coz/supervisor/points/counted_functions.h"
#include "coz/supervisor/points/outside_points.h"
#include "coz/supervisor/points/own_calls.h"
#include "coz/supervisor/run/profile_recorder.h"
#include "coz/supervisor/target/live_target.h"
#include "coz/supervisor/target/process_watch.h"
#include "coz/supervisor/target/shared_control.h"
#include "coz/supervisor/target/source_choice.h"
#include "coz/supervisor/target/thread_watch.h"
#include "coz/supervisor/units/perf_map_watch.h"
#include "coz/supervisor/units/unit_index.h"

namespace coz::supervisor {
namespace {

using shared::ControlBlock;

void Require(bool holds, const char* what) {
  if (holds) return;
  fprintf(stderr, "hostile_target_fuzzer: %s\n", what);
  abort();
}

// A process that has nothing to do with the profile, and must not notice it.
class Bystander {
 public:
  Bystander() : pid_(fork()) {
    if (pid_ != 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) pause();
  }
  // Whether it is as it was: no signal has stopped or ended it, and nobody traces it.
  void Check() const {
    Require(waitpid(pid_, nullptr, WNOHANG | WUNTRACED) == 0, "a process of others got a signal");
  }
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_;
};

const Bystander& TheBystander() {
  static const Bystander bystander;
  return bystander;
}

// Numbers for writes: limits of tables and types, numbers of processes, times.
uint64_t Value(uint8_t choice, uint64_t bits) {
  const uint64_t values[] = {0,
                             1,
                             2,
                             3,
                             shared::kMaxProcesses - 1,
                             shared::kMaxProcesses,
                             shared::kMaxThreads,
                             shared::kMaxThreads + 1,
                             shared::kMaxPoints,
                             shared::kMaxModules,
                             shared::kMaxTimedPoints,
                             shared::kMaxTimedFunctions,
                             shared::kMaxApiFunctions,
                             shared::kSampleRingEntries,
                             shared::kMaxEndedThreads,
                             shared::kFirstPathUnit,
                             shared::kUnknownCaller,
                             0x7fffffff,
                             0x80000000,
                             0xffffffff,
                             0x7fffffffffffffff,
                             0x8000000000000000,
                             0xffffffffffffffff,
                             0x7ff8000000000000,  // no number
                             0xfff0000000000000,  // minus infinity
                             MonotonicNowNs(),
                             ~MonotonicNowNs(),
                             static_cast<uint64_t>(getpid()),
                             static_cast<uint64_t>(TheBystander().pid()),
                             static_cast<uint64_t>(-TheBystander().pid()),
                             0x4141414141414141,  // text without an end
                             0xfffefffefffefffe,  // that is no UTF-8
                             bits,
                             bits >> 32,
                             bits % 1024,
                             bits % 65536};
  return values[choice % std::size(values)];
}

struct Region {
  size_t begin;
  size_t bytes;  // that are written to
  size_t stride;
  size_t count;
};

#define COZ_REGION(field) \
  { offsetof(ControlBlock, field), sizeof(ControlBlock::field), 1, 1 }
#define COZ_TABLE(field, used)                                                                     \
  {                                                                                                \
    offsetof(ControlBlock, field), sizeof(ControlBlock::field[0]), sizeof(ControlBlock::field[0]), \
        used                                                                                       \
  }

// Tables begin with what is mostly used.
const Region kRegions[] = {
    {0, offsetof(ControlBlock, ring), 1, 1},
    {offsetof(ControlBlock, target_pid),
     offsetof(ControlBlock, ledger) - offsetof(ControlBlock, target_pid), 1, 1},
    COZ_REGION(counters),
    COZ_REGION(ledger),
    {offsetof(ControlBlock, ring), sizeof(uint64_t), 1, 1},
    {offsetof(ControlBlock, ring.entries), 4096, 1, 1},
    COZ_TABLE(modules, 4),
    COZ_TABLE(processes, 4),
    COZ_TABLE(processes, shared::kMaxProcesses),
    COZ_TABLE(points, 8),
    {offsetof(ControlBlock, points),
     offsetof(ControlBlock, lent_counters) - offsetof(ControlBlock, points), 1, 1},
    COZ_REGION(lent_counters),
    COZ_REGION(spinning_units),
    {offsetof(ControlBlock, patch_request), 64, 1, 1},
    {offsetof(ControlBlock, patch_request.results), 256, 1, 1},
    COZ_REGION(timed_functions),
    {offsetof(ControlBlock, api), 512, 1, 1},
    {offsetof(ControlBlock, latencies), 256, 1, 1},
    {offsetof(ControlBlock, ended_threads), offsetof(shared::EndedThreads, threads), 1, 1},
    {offsetof(ControlBlock, ended_threads.threads), 256, sizeof(shared::EndedThread), 4},
    {offsetof(ControlBlock, threads), 512, sizeof(shared::ThreadSlot), 4},
    {offsetof(ControlBlock, threads) + offsetof(shared::ThreadSlot, figures), 128,
     sizeof(shared::ThreadSlot), 4},
    {offsetof(ControlBlock, paths), 4096, 1, 1},
    {offsetof(ControlBlock, threads_high_water), 8, 1, 1},
    {offsetof(ControlBlock, processes_high_water), 8, 1, 1},
    {offsetof(ControlBlock, module_count), 8, 1, 1},
};

#undef COZ_REGION
#undef COZ_TABLE

// What a write cannot do well by single words.
enum class Move : uint8_t { kWrite, kUnits, kProcess, kModule, kPoint, kEnded, kThreads, kMoves };

struct Step {
  Move move;
  uint8_t choice;
  uint8_t where;
  uint8_t bytes;
  uint64_t bits;
};

class Adversary {
 public:
  explicit Adversary(ControlBlock* control) : control_(*control) {}

  void Make(const Step& step) {
    switch (step.move) {
      case Move::kUnits:
        return PushUnits(step.bits);
      case Move::kProcess:
        return PutProcess(step);
      case Move::kModule:
        return PutModule(step);
      case Move::kPoint:
        return PutPoint(step);
      case Move::kEnded:
        return PutEnded(step);
      case Move::kThreads:
        return PutThreads(step);
      default:
        return Write(step);
    }
  }

 private:
  void Write(const Step& step) {
    const Region& region = kRegions[step.where % std::size(kRegions)];
    constexpr size_t kSizes[] = {1, 2, 4, 8};
    const size_t bytes = kSizes[step.bytes % 4];
    const size_t row = (step.bits >> 20) % region.count;
    const size_t at = (step.bits % region.bytes) / bytes * bytes;
    const uint64_t value = Value(step.choice, step.bits * 0x9e3779b97f4a7c15);
    char* const to = reinterpret_cast<char*>(&control_) + region.begin + row * region.stride + at;
    if (to + bytes > reinterpret_cast<char*>(&control_ + 1)) return;
    memcpy(to, &value, bytes);
  }

  // Half of them are small numbers, which there are, with any kind of wait.
  void PushUnits(uint64_t bits) {
    constexpr uint32_t kSmall = 0xf000001f;
    for (uint32_t i = 0; i < 200; ++i) {
      bits = bits * 6364136223846793005 + 1442695040888963407;
      const auto unit = static_cast<uint32_t>(bits >> 32);
      shared::PushSample(control_.ring, i % 2 == 0 ? unit : unit & kSmall, bits % 300);
      if (i % 10 == 0) shared::AddSpinning(control_.spinning_units, unit & kSmall, bits);
    }
  }

  void PutProcess(const Step& step) {
    const uint32_t at = step.where % 8;
    shared::ProcessSlot& slot = control_.processes[at];
    slot.pid = static_cast<int32_t>(Value(step.choice, step.bits));
    slot.image.store(static_cast<uint32_t>(step.bits));
    slot.start_ns = step.bits >> 8;
    slot.program = step.bytes;
    slot.counters_fs_offset = static_cast<int32_t>(step.bits >> 16);
    slot.event.fd_plus_1 = static_cast<int32_t>(step.bits % 16);
    control_.processes_high_water = std::max(control_.processes_high_water.load(), at + 1);
    slot.state.store(static_cast<shared::ProcessState>(2 + step.bits % 2));
  }

  void PutModule(const Step& step) {
    constexpr const char* kPaths[] = {"/proc/self/exe", "/dev/zero", "/dev/tty",  "/",
                                      "/etc/passwd",    "",          "/bin/true", "/proc/kmsg"};
    const uint32_t at = step.where % 6;
    shared::ModuleSlot& slot = control_.modules[at];
    if (step.bits % 4 == 0) {
      memset(slot.path, 'a', sizeof(slot.path));
    } else {
      snprintf(slot.path, sizeof(slot.path), "%s", kPaths[step.choice % std::size(kPaths)]);
    }
    slot.is_program = step.bytes % 2;
    control_.module_count = std::max(control_.module_count.load(), at + 1);
    slot.state.store(shared::ModuleState::kAnnounced);
  }

  void PutPoint(const Step& step) {
    shared::PointSlot& slot = control_.points[step.where % 12];
    slot.kind = static_cast<shared::PointKind>(step.bits % 7);
    memset(slot.name, step.choice, sizeof(slot.name));
    if (step.bytes % 2 == 0) slot.name[step.bits % sizeof(slot.name)] = '\0';
    slot.timed_cell = step.bytes;
    slot.state.store(shared::PointState::kReady);
  }

  void PutEnded(const Step& step) {
    shared::EndedThreads& ring = control_.ended_threads;
    const uint64_t read = step.choice % 4 == 0 ? step.bits : ring.read.load();
    for (uint64_t number = read; number < read + 64; ++number) {
      shared::EndedThread& ended = ring.threads[number % shared::kMaxEndedThreads];
      ended.name = {{step.bits + number, step.bits}};
      ended.start_ns = step.bits;
      ended.written.store(number + 1);
    }
    ring.next.store(step.choice % 3 == 0 ? step.bits : read + 64);
  }

  void PutThreads(const Step& step) {
    const uint32_t at = step.where % 32;
    shared::ThreadSlot& slot = control_.threads[at];
    slot.pid = static_cast<int32_t>(Value(step.choice, step.bits));
    slot.tid = static_cast<int32_t>(Value(step.bytes, step.bits));
    slot.process = static_cast<uint32_t>(step.bits);
    slot.timed[step.bytes % shared::kMaxTimedPoints].changes = 1;
    control_.threads_high_water = std::max(control_.threads_high_water.load(), at + 1);
    slot.state.store(shared::ThreadState::kRunning);
  }

  ControlBlock& control_;
};

// What a run has, but for the program and its signals.
class Supervisor : public experiment::ExperimentSink {
 public:
  explicit Supervisor(uint8_t choice)
      : control_(*SharedControl::Create()),
        units_(sourcemap::BinaryScope({"MAIN"}), sourcemap::SourceScope(std::vector<std::string>()),
               RulesOf(choice)) {
    ControlBlock& block = control_.block();
    block.sampling_period_ns = kPeriodNs;
    block.start_ns = MonotonicNowNs();
    block.waits_are_units = units_.rules().kind == sourcemap::UnitKind::kWait ? 1 : 0;
    block.first_wait_kind = units_.first_wait_kind();
    if (choice / 64 % 2 == 1) units_.SplitByThreadGroup({"io"});
    Require(units_.Prepare("/bin/true", nullptr, true).ok(), "no program to read");
    units_.Preannounce(control_);
    PreparePoints(choice);
    target_.emplace(&block);
    target_->SetUnits([this](experiment::UnitId unit) { return units_.Has(unit); });
    if (outside_ != nullptr) outside_->AddTo(&*target_, &units_);
    if (counted_ != nullptr) counted_->AddTo(&block, &*target_);
    processes_.emplace(&block);
    threads_.emplace(&block);
    recorder_.emplace(*report::ProfileWriter::Open("/dev/null", report::ProfileOpenMode::kAppend),
                      &units_, &*target_);
    recorder_->WriteSession(profile::Session(), block.start_ns);
    scheduler_.emplace(Options(), &*target_, this);
  }

  ControlBlock& block() const { return control_.block(); }

  void Look() {
    const uint64_t now_ns = MonotonicNowNs();
    units_.Answer(control_);
    perf_maps_.Poll(control_, now_ns);
    own_calls_.Poll(block(), now_ns, outside_ == nullptr && counted_ == nullptr);
    if (counted_ != nullptr) counted_->Poll(block(), now_ns, outside_ == nullptr);
    if (outside_ != nullptr) outside_->Poll(block(), now_ns);
    target_->Poll();
    processes_->Poll();
    threads_->Poll();
    source_.Poll(now_ns);
    scheduler_->Step();
    Check();
  }

  void Finish() {
    scheduler_->Finish();
    const experiment::TargetSnapshot last = target_->Read();
    recorder_->WriteProcesses(*processes_, /*replaced=*/0);
    recorder_->WriteThreads(threads_->Threads(), ThreadCounters(block()));
    recorder_->WriteEnd(profile::END_REASON_TARGET_EXITED, ExitState(), last, SwitchLoad(),
                        shared::ReadRunCounters(block().counters), {});
    Check();
    std::string bytes;
    Require(recorder_->written().SerializeToString(&bytes), "the profile cannot be written");
    Require(profile::Profile().ParseFromString(bytes), "the profile cannot be read");
  }

 private:
  static constexpr uint64_t kPeriodNs = kNsPerMs / 10;

  static sourcemap::UnitRules RulesOf(uint8_t choice) {
    constexpr sourcemap::UnitKind kKinds[] = {
        sourcemap::UnitKind::kLibrary, sourcemap::UnitKind::kPath, sourcemap::UnitKind::kFunction,
        sourcemap::UnitKind::kWait};
    sourcemap::UnitRules rules;
    rules.kind = kKinds[choice % std::size(kKinds)];
    return rules;
  }

  static experiment::SchedulerOptions Options() {
    experiment::SchedulerOptions options;
    options.seed = 1;
    options.sampling_period_ns = kPeriodNs;
    options.min_experiment_ns = kNsPerMs;
    options.shortest_experiment_ns = kNsPerMs;
    options.max_experiment_ns = 2 * kNsPerMs;
    options.lead_in_ns = 0;
    options.cooloff_ns = kNsPerMs / 10;
    options.drain_limit_ns = kNsPerMs;
    options.experiments_per_bare_interval = 2;
    options.experiments_per_control = 2;
    Require(options.Check().ok(), "options");
    return options;
  }

  // In libc, which the only member of the profile has mapped.
  void PreparePoints(uint8_t choice) {
    if (choice / 4 % 4 == 0) {
      OutsidePointOptions points;
      points.progress = {"libc.so*!getppid", "mark:AAAA"};
      points.latency = {"libc.so*!random,libc.so*!srandom"};
      auto outside = OutsidePoints::Prepare(points, "/bin/true", false, true);
      if (outside.ok()) outside_ = *std::move(outside);
    }
    if (choice / 4 % 4 == 1) {
      CountedFunctionOptions counted;
      counted.count = {"libc.so*!getppid"};
      counted.time = {"libc.so*!random"};
      counted.api = {"libc.so*:getenv"};
      counted.latencies = {"api:libc.so*:putenv"};
      auto prepared = CountedFunctions::Prepare(counted, "/bin/true", false);
      if (prepared.ok()) counted_ = *std::move(prepared);
    }
    if (outside_ != nullptr) outside_->TakeSlots(&block());
    if (counted_ != nullptr) counted_->TakeSlots(&block());
  }

  // No list grows with what the target writes.
  void Check() const {
    size_t units = shared::kMaxCallPaths;
    for (const UnitIndex::Object& object : units_.objects()) {
      if (object.has_units()) units += object.unit_count();
    }
    Require(target_->unit_samples().size() <= units + delay::kWaitKinds, "units are too many");
    Require(target_->own_waits().size() <= units + delay::kWaitKinds, "own waits are too many");
    Require(units_.objects().size() <= shared::kMaxModules + 1, "objects are too many");
    Require(target_->points().size() <= shared::kMaxPoints + 4, "points are too many");
    Require(processes_->processes().size() <= ProcessWatch::kMostKept, "processes are too many");
  }

  void OnExperimentStarted(experiment::UnitId unit, double, uint64_t) override {
    (void)units_.Describe(unit);
    recorder_->WriteBetweenExperiments();
  }
  void OnExperiment(const experiment::ExperimentRecord& record) override {
    recorder_->WriteExperiment(record);
  }
  void OnExperimentDropped() override {}
  void OnBareIntervalStarted(uint64_t) override { recorder_->WriteBetweenExperiments(); }
  void OnControlStarted(uint64_t) override { recorder_->WriteBetweenExperiments(); }
  void OnControl(const experiment::ExperimentRecord& record) override {
    recorder_->WriteControl(record);
  }
  void OnBareInterval(const experiment::ExperimentRecord& record) override {
    recorder_->WriteBareInterval(record);
  }
  void OnNoProgress(uint64_t) override {}

  SharedControl control_;
  UnitIndex units_;
  PerfMapWatch perf_maps_{&units_};
  std::unique_ptr<OutsidePoints> outside_;
  std::unique_ptr<CountedFunctions> counted_;
  OwnCalls own_calls_;
  std::optional<LiveTarget> target_;
  std::optional<ProcessWatch> processes_;
  std::optional<ThreadWatch> threads_;
  std::optional<ProfileRecorder> recorder_;
  std::optional<experiment::Scheduler> scheduler_;
  SourceChoice source_{&control_.block(), 1000, nullptr};
};

std::vector<Step> StepsOf(const uint8_t* data, size_t size) {
  constexpr size_t kStepBytes = 8;
  std::vector<Step> steps;
  for (; size >= kStepBytes; data += kStepBytes, size -= kStepBytes) {
    Step step = {static_cast<Move>(data[0] % static_cast<uint8_t>(Move::kMoves)), data[1], data[2],
                 data[3], 0};
    memcpy(&step.bits, data + 4, 4);
    step.bits = step.bits << 32 | (step.bits * 2654435761u & 0xffffffff);
    steps.push_back(step);
  }
  return steps;
}

void TestOneInput(const uint8_t* data, size_t size) {
  constexpr size_t kStepsPerLook = 8;
  constexpr int kLooksAtEnd = 4;
  if (size < 2) return;
  const Bystander& bystander = TheBystander();
  const std::vector<Step> steps = StepsOf(data + 1, std::min<size_t>(size - 1, 1024));
  Supervisor supervisor(data[0]);
  Adversary adversary(&supervisor.block());
  std::atomic<bool> is_over{false};
  std::thread meanwhile([&] {
    Adversary another(&supervisor.block());
    for (size_t i = data[0]; !is_over && !steps.empty(); i += 7)
      another.Make(steps[i % steps.size()]);
  });
  for (size_t i = 0; i < steps.size(); ++i) {
    adversary.Make(steps[i]);
    if (i % kStepsPerLook == kStepsPerLook - 1) supervisor.Look();
  }
  for (int i = 0; i < kLooksAtEnd; ++i) supervisor.Look();
  is_over = true;
  meanwhile.join();
  supervisor.Finish();
  bystander.Check();
}

}  // namespace
}  // namespace coz::supervisor

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  coz::supervisor::TestOneInput(data, size);
  return 0;
}
