#include "coz/supervisor/points/find_points.h"

#include <poll.h>
#include <signal.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "coz/base/clock.h"
#include "coz/points/stack_sampler.h"
#include "coz/points/visit_counter.h"
#include "coz/shared/control_block.h"
#include "coz/sourcemap/binary_info.h"
#include "coz/supervisor/points/code_counters.h"
#include "coz/supervisor/target/attached_process.h"
#include "coz/supervisor/target/attached_tree.h"
#include "coz/supervisor/target/descendants.h"
#include "coz/supervisor/target/file_limit.h"
#include "coz/supervisor/target/mapped_code.h"
#include "coz/supervisor/target/shared_control.h"
#include "coz/supervisor/target/signal_inbox.h"

namespace coz::supervisor {
namespace {

// Long against setting and removing a breakpoint, short against a program's phases.
constexpr uint64_t kSliceNs = 50 * kNsPerMs;
// For functions that are, or may be, called a million times a second.
constexpr uint64_t kShortSliceNs = 5 * kNsPerMs;
// For a yardstick, called seldom, beside a function that slows the program.
constexpr uint64_t kYardstickSliceNs = 20 * kNsPerMs;
constexpr uint64_t kSamplingPeriodNs = 4 * kNsPerMs;  // so that rings hold those of a slice
// Before the first functions are chosen: a tenth of the time, at most this.
constexpr uint64_t kMaxLeadNs = 1 * kNsPerSecond;
// Longest time from exec, as its caller sees it, to the mapping of the program.
constexpr uint64_t kMappingNs = 2 * kNsPerSecond;
constexpr uint64_t kMappingPollNs = 1 * kNsPerMs;
// How long a program has to end after an interrupt (else it is said to run on), and after SIGTERM.
constexpr uint64_t kInterruptNs = 200 * kNsPerMs;
constexpr uint64_t kGraceNs = 5 * kNsPerSecond;
// The program changes its code with its next sample.
constexpr uint64_t kChangingPeriodNs = 2 * kNsPerMs;
// Of each function that changed code counts.
constexpr uint64_t kMostCodeSlices = 2000;
constexpr uint64_t kRestoringNs = 2 * kNsPerSecond;
constexpr uint64_t kRestoringPollNs = 5 * kNsPerMs;
// In which it is seen how much CPU time a process uses, and the shortest period that follows.
constexpr uint64_t kUseNs = 100 * kNsPerMs;
constexpr uint64_t kLeastPeriodNs = 200'000;
// A process waits with an exec until it is looked at.
constexpr uint64_t kAttachedPollNs = 20 * kNsPerMs;
// Where it cannot be measured.
constexpr double kUsualVisitCostNs = 10000;
// In a program that runs already. The other places are left to marks and to the profile that
// follows, for a process keeps them.
constexpr size_t kMostInRunning = 128;

uint64_t CpuTimeNs(pid_t pid) {
  clockid_t clock;
  timespec time;
  if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &time) != 0) return 0;
  return static_cast<uint64_t>(time.tv_sec) * kNsPerSecond + static_cast<uint64_t>(time.tv_nsec);
}

// Each thread is sampled after a period of its own CPU time. A server of many threads that each do
// little would hardly be sampled at all by the usual one.
uint64_t PeriodForUse(uint64_t cpu_ns, uint64_t elapsed_ns) {
  const double used = static_cast<double>(cpu_ns) / static_cast<double>(elapsed_ns);
  return static_cast<uint64_t>(
      std::clamp(used * kSamplingPeriodNs, 1.0 * kLeastPeriodNs, 1.0 * kSamplingPeriodNs));
}

// Whether both have the program's code at the same addresses, as children of fork have.
bool IsAlike(const std::vector<MappedCode>& mapped, const std::vector<MappedCode>& other) {
  return !mapped.empty() && !other.empty() && mapped.front().path == other.front().path &&
         mapped.front().start == other.front().start;
}

// Everything that lives as long as one run.
class Finder {
 public:
  Finder(const FindPointsOptions& options, std::string program,
         std::unique_ptr<PointCandidates> candidates)
      : options_(options), program_(std::move(program)), candidates_(std::move(candidates)) {}

  absl::Status Start();
  absl::Status Join();
  FindPointsOutcome Count();
  ExitState WaitForEnd();

 private:
  void FillBlock(shared::Follow follow);
  absl::Status MakeControl();
  absl::Status Attach();
  absl::Status AttachToRunning();
  void Leave();
  size_t ChildrenLeftOut() const;
  // The process that signals to coz are meant for.
  pid_t Started() const {
    return attached_ != nullptr || child_->exit_state().exited ? 0 : child_->pid();
  }
  void PollCode();
  void RestoreCode();
  void CountSet(const std::vector<size_t>& set);
  bool IsCounting() const;
  void MeasureCostAgain();
  // Until then, or until the program has ended.
  void WaitUntil(uint64_t until_ns);

  const FindPointsOptions& options_;
  const std::string program_;
  std::unique_ptr<PointCandidates> candidates_;
  SignalInbox inbox_;
  std::atomic<int32_t> pid_cell_{0};
  std::optional<SharedControl> control_;    // where code is changed
  std::unique_ptr<AttachedTree> attached_;  // null: the program was started here
  std::optional<CodeCounters> code_;
  uint64_t next_code_slice_ns_ = 0;
  std::optional<ChildProcess> child_;
  std::optional<points::StackSampler> sampler_;
  std::vector<points::VisitCounter> counters_;
  double visit_cost_ns_ = 0;
  uint64_t cost_measured_ns_ = 0;
  uint64_t start_ns_ = 0;
  absl::Status status_;  // of counting
  bool is_left_ = true;  // a process that ran before
};

void Finder::FillBlock(shared::Follow follow) {
  shared::ControlBlock& block = control_->block();
  block.sampling_period_ns = kChangingPeriodNs;
  block.follow = follow;
  block.start_ns = MonotonicNowNs();
  block.heartbeat_ns.store(block.start_ns, std::memory_order_relaxed);
}

absl::Status Finder::MakeControl() {
  absl::StatusOr<SharedControl> control = SharedControl::Create();
  if (!control.ok()) return control.status();
  control_.emplace(*std::move(control));
  FillBlock(shared::Follow::kAll);
  control_->block().guards_breakpoints = 1;
  code_.emplace(&control_->block());
  candidates_->CountByCode(&*code_);
  return absl::OkStatus();
}

absl::Status Finder::Join() {
  visit_cost_ns_ = kUsualVisitCostNs;
  AttachedProcess::Options attach;
  attach.runtime_library = options_.runtime_library;
  attach.sampling_period_ns = kChangingPeriodNs;
  absl::StatusOr<AttachedTree> tree = AttachedTree::Prepare(options_.attach_pid, attach);
  if (!tree.ok()) return tree.status();
  absl::StatusOr<SharedControl> control = SharedControl::CreateIn(tree->TakeControl());
  if (!control.ok()) return control.status();
  control_.emplace(*std::move(control));
  FillBlock(options_.attach_tree ? shared::Follow::kAll : shared::Follow::kOne);
  attached_ = std::make_unique<AttachedTree>(*std::move(tree));
  child_.emplace(ChildProcess::Adopt(options_.attach_pid));
  if (absl::Status joined = attached_->Join(&control_->block()); !joined.ok()) return joined;
  if (options_.attach_tree) {
    for (const std::string& refused : attached_->JoinDescendants(control_->fd())) {
      options_.say(absl::StrCat("a descendant is not looked at: ", refused));
    }
  }
  // The block has the points of earlier sessions now.
  code_.emplace(&control_->block());
  code_->SetLate({[this](pid_t pid) { return attached_->WhyNotChangeCode(pid); },
                  [this](pid_t pid) { attached_->ChangeCode(pid); },
                  [this](pid_t pid) { return !attached_->IsRunning(pid); }});
  candidates_->CountByCodeAlone(&*code_, kMostInRunning);
  start_ns_ = MonotonicNowNs();
  return absl::OkStatus();
}

absl::Status Finder::Start() {
  const bool changes_code = options_.changes_code && !options_.runtime_library.empty();
  if (changes_code) {
    if (absl::Status status = MakeControl(); !status.ok()) return status;
  }
  const double cost_ns = points::MeasureBreakpointCostNs();
  visit_cost_ns_ = cost_ns > 0 ? cost_ns : kUsualVisitCostNs;
  StartOptions start;
  start.program = program_;
  start.arguments = options_.command;
  start.preload = options_.runtime_library;
  // Else against lost breakpoints alone.
  start.control_path = changes_code ? control_->Path() : shared::kGuardOnly;
  start.pid_cell = changes_code ? &control_->block().target_pid : &pid_cell_;
  start.signal_mask = &inbox_.original_mask();
  absl::StatusOr<ChildProcess> child = ChildProcess::Start(start);
  if (!child.ok()) return child.status();
  child_.emplace(*std::move(child));
  start_ns_ = MonotonicNowNs();
  return absl::OkStatus();
}

void Finder::WaitUntil(uint64_t until_ns) {
  for (;;) {
    inbox_.Forward(Started());
    if (attached_ != nullptr) attached_->Poll();
    const uint64_t now_ns = MonotonicNowNs();
    if (child_->Poll().exited || now_ns >= until_ns) return;
    uint64_t wait_ns = until_ns - now_ns;
    if (attached_ != nullptr) wait_ns = std::min(wait_ns, kAttachedPollNs);
    const timespec timeout = {static_cast<time_t>(wait_ns / kNsPerSecond),
                              static_cast<long>(wait_ns % kNsPerSecond)};
    pollfd fds[] = {{inbox_.fd(), POLLIN, 0}, {child_->pidfd(), POLLIN, 0}};
    ppoll(fds, 2, &timeout, nullptr);
  }
}

bool Finder::IsCounting() const {
  if (attached_ != nullptr && attached_->Running().empty()) return false;
  return status_.ok() && !child_->exit_state().exited && !inbox_.interrupted() &&
         MonotonicNowNs() < start_ns_ + options_.duration_ns;
}

absl::Status Finder::AttachToRunning() {
  const std::vector<MappedCode> mapped = ReadMappedCode(child_->pid());
  candidates_->SetMapped(mapped);
  const uint64_t cpu_before_ns = CpuTimeNs(child_->pid());
  const uint64_t since_ns = MonotonicNowNs();
  WaitUntil(since_ns + kUseNs);
  const uint64_t period_ns =
      PeriodForUse(CpuTimeNs(child_->pid()) - cpu_before_ns, MonotonicNowNs() - since_ns);
  absl::StatusOr<points::StackSampler> sampler =
      points::StackSampler::Start(child_->pid(), period_ns);
  if (!sampler.ok()) return sampler.status();
  sampler_.emplace(*std::move(sampler));
  for (const pid_t pid : attached_->Running()) {
    if (pid == child_->pid() || !IsAlike(mapped, ReadMappedCode(pid))) continue;
    // One that has ended meanwhile is none the worse.
    (void)sampler_->Add(pid);
  }
  return absl::OkStatus();
}

absl::Status Finder::Attach() {
  const uint64_t until_ns = start_ns_ + kMappingNs;
  while (!candidates_->SetMapped(ReadMappedCode(child_->pid())) && MonotonicNowNs() < until_ns &&
         !child_->Poll().exited) {
    WaitUntil(MonotonicNowNs() + kMappingPollNs);
  }
  absl::StatusOr<points::StackSampler> sampler =
      points::StackSampler::Start(child_->pid(), kSamplingPeriodNs);
  if (!sampler.ok()) return sampler.status();
  sampler_.emplace(*std::move(sampler));
  for (int i = 0; i < points::kBreakpoints; ++i) {
    absl::StatusOr<points::VisitCounter> counter =
        points::VisitCounter::ForBreakpoint(child_->pid(), true);
    if (!counter.ok()) return counter.status();
    counters_.push_back(*std::move(counter));
  }
  return absl::OkStatus();
}

void Finder::PollCode() {
  if (!code_.has_value()) return;
  const uint64_t now_ns = MonotonicNowNs();
  control_->block().heartbeat_ns.store(now_ns, std::memory_order_relaxed);
  candidates_->CountInTurns(code_->Poll());
  if (now_ns < next_code_slice_ns_) return;
  next_code_slice_ns_ = now_ns + std::max(kSliceNs, options_.duration_ns / kMostCodeSlices);
  candidates_->TakeCodeSlices();
}

size_t Finder::ChildrenLeftOut() const {
  if (attached_ == nullptr || options_.attach_tree) return 0;
  const std::vector<MappedCode> mapped = ReadMappedCode(child_->pid());
  const std::vector<pid_t> children = DescendantsOf(child_->pid());
  return static_cast<size_t>(
      std::count_if(children.begin(), children.end(),
                    [&mapped](pid_t child) { return IsAlike(mapped, ReadMappedCode(child)); }));
}

// What has to be undone in a process is done by its threads, so not while it is stopped, unless
// somebody tells coz to end once more.
void Finder::Leave() {
  constexpr timespec kLook = {0, 10 * kNsPerMs};
  const int interrupts = inbox_.interrupts();
  pid_t told = 0;
  while (const pid_t stopped = attached_->Stopped()) {
    if (inbox_.interrupts() != interrupts) break;
    if (stopped != told) {
      options_.say(absl::StrFormat(
          "process %d is stopped, and is left when it goes on; let it with: kill -CONT %d", stopped,
          stopped));
    }
    told = stopped;
    nanosleep(&kLook, nullptr);
    inbox_.Forward(0);
  }
  const absl::Status left = attached_->Leave();
  if (!left.ok()) options_.say(std::string(left.message()));
  for (const pid_t pid : attached_->TakeReplaced()) {
    options_.say(
        absl::StrFormat("process %d has become another program by exec, and was counted until "
                        "then; look at that with: coz points --pid=%d",
                        pid, pid));
  }
  if (child_->Poll().exited) {
    options_.say(absl::StrFormat("process %d has ended", options_.attach_pid));
  }
  is_left_ = (left.ok() || absl::IsCancelled(left)) && attached_->replaced() == 0;
}

// The program goes on with its code as it was, and is not sampled any more.
void Finder::RestoreCode() {
  if (!code_.has_value()) return;
  code_->RemoveAll();
  const uint64_t deadline_ns = MonotonicNowNs() + kRestoringNs;
  do {
    WaitUntil(MonotonicNowNs() + kRestoringPollNs);
    code_->Poll();
  } while (!code_->IsSettled() && MonotonicNowNs() < deadline_ns && !child_->exit_state().exited);
  control_->block().stop.store(1, std::memory_order_relaxed);
  if (attached_ != nullptr) Leave();
}

void Finder::CountSet(const std::vector<size_t>& set) {
  const bool may_be_dear = std::any_of(set.begin(), set.end(), [this](size_t candidate) {
    return candidates_->MayBeDear(candidate);
  });
  std::vector<points::VisitSlice> before;
  for (size_t i = 0; i < set.size(); ++i) {
    before.push_back({counters_[i].Read(), MonotonicNowNs()});
    status_.Update(counters_[i].Arm(candidates_->AddressOf(set[i])));
  }
  const uint64_t slice_ns = candidates_->AwaitsYardstick(set) ? kYardstickSliceNs
                            : may_be_dear                     ? kShortSliceNs
                                                              : kSliceNs;
  WaitUntil(MonotonicNowNs() + slice_ns);
  std::vector<points::VisitSlice> slices;
  for (size_t i = 0; i < set.size(); ++i) {
    counters_[i].Disarm();
    slices.push_back(
        {counters_[i].Read() - before[i].visits, MonotonicNowNs() - before[i].duration_ns});
  }
  // The slice in which the program ended is not whole.
  if (status_.ok() && !child_->exit_state().exited) {
    candidates_->AddSlices(set, slices, visit_cost_ns_);
  }
}

// The cost changes once the program runs, and on a virtual machine with what the others do.
void Finder::MeasureCostAgain() {
  const uint64_t now_ns = MonotonicNowNs();
  if (now_ns < cost_measured_ns_ + kNsPerSecond) return;
  cost_measured_ns_ = now_ns;
  const double cost_ns = points::MeasureBreakpointCostNs();
  if (cost_ns > 0) visit_cost_ns_ = cost_ns;
}

FindPointsOutcome Finder::Count() {
  status_ = attached_ != nullptr ? AttachToRunning() : Attach();
  const uint64_t lead_ns = std::min(kMaxLeadNs, options_.duration_ns / 10);
  if (status_.ok()) WaitUntil(start_ns_ + lead_ns);
  while (IsCounting()) {
    MeasureCostAgain();
    sampler_->Drain([this](uint64_t ip, const std::vector<uint64_t>& stack) {
      candidates_->AddSample(ip, stack);
    });
    candidates_->Admit();
    PollCode();
    const std::vector<size_t> set = candidates_->NextSet(points::kBreakpoints);
    if (set.empty()) {
      WaitUntil(MonotonicNowNs() + kSliceNs);
    } else {
      CountSet(set);
    }
  }
  const size_t children = ChildrenLeftOut();
  // The interrupt reached the program too: it mostly ends.
  if (inbox_.interrupted() && attached_ == nullptr) WaitUntil(MonotonicNowNs() + kInterruptNs);
  // Breakpoints and samples end here; the program runs on untouched.
  counters_.clear();
  sampler_.reset();
  RestoreCode();
  FindPointsOutcome outcome = {candidates_->Result(visit_cost_ns_), MonotonicNowNs() - start_ns_,
                               !child_->Poll().exited && is_left_, children};
  // A program that is gone before it could be looked at has said so itself.
  if (!status_.ok() && outcome.program_runs) outcome.found = status_;
  return outcome;
}

ExitState Finder::WaitForEnd() {
  if (attached_ != nullptr) return {};
  if (options_.stop && !child_->Poll().exited) {
    kill(child_->pid(), SIGTERM);
    WaitUntil(MonotonicNowNs() + kGraceNs);
    if (!child_->exit_state().exited) kill(child_->pid(), SIGKILL);
  }
  while (!child_->Poll().exited) WaitUntil(MonotonicNowNs() + kNsPerSecond);
  return child_->exit_state();
}

absl::StatusOr<ExitState> FindPointsInRunning(
    const FindPointsOptions& options, const std::function<void(const FindPointsOutcome&)>& report) {
  if (absl::Status room = MakeRoomToAttach(options.attach_pid); !room.ok()) return room;
  const absl::StatusOr<RunningProgram> program =
      FindRunningProgram(options.attach_pid, options.runtime_library);
  if (!program.ok()) return program.status();
  absl::StatusOr<std::unique_ptr<PointCandidates>> candidates =
      PointCandidates::Open(program->path);
  if (absl::IsFailedPrecondition(candidates.status())) {
    return absl::FailedPreconditionError(absl::StrFormat(
        "%s has no symbols (stripped), so its functions have no names to count them by; install "
        "its debug symbols, or count calls into a library, as with: coz attach "
        "--progress='libc.so*!sendmsg' %d",
        program->path, options.attach_pid));
  }
  if (!candidates.ok()) return candidates.status();
  Finder finder(options, program->path, *std::move(candidates));
  if (absl::Status status = finder.Join(); !status.ok()) return status;
  report(finder.Count());
  return finder.WaitForEnd();
}

}  // namespace

absl::StatusOr<ExitState> FindPoints(const FindPointsOptions& options,
                                     const std::function<void(const FindPointsOutcome&)>& report) {
  if (options.attach_pid != 0) return FindPointsInRunning(options, report);
  if (options.command.empty()) {
    return absl::InvalidArgumentError(
        "no program was named; write: coz points --- PROGRAM ARGUMENTS");
  }
  absl::StatusOr<std::string> program = FindProgram(options.command.front());
  if (!program.ok()) return program.status();
  const absl::StatusOr<sourcemap::BinaryInfo> info = sourcemap::DescribeBinary(*program);
  if (!info.ok()) return info.status();
  if (absl::Status status = sourcemap::CheckProfilable(*info, false); !status.ok()) return status;
  absl::StatusOr<std::unique_ptr<PointCandidates>> candidates = PointCandidates::Open(*program);
  if (!candidates.ok()) return candidates.status();
  if (absl::Status status = points::CheckBreakpoints(); !status.ok()) return status;
  Finder finder(options, *program, *std::move(candidates));
  if (absl::Status status = finder.Start(); !status.ok()) return status;
  report(finder.Count());
  return finder.WaitForEnd();
}

}  // namespace coz::supervisor
