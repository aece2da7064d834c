#include "coz/supervisor/points/find_points.h"

#include <poll.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "coz/base/clock.h"
#include "coz/points/stack_sampler.h"
#include "coz/points/visit_counter.h"
#include "coz/shared/control_block.h"
#include "coz/sourcemap/binary_info.h"
#include "coz/supervisor/points/code_counters.h"
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
// Where it cannot be measured.
constexpr double kUsualVisitCostNs = 10000;

// Everything that lives as long as one run.
class Finder {
 public:
  Finder(const FindPointsOptions& options, std::string program,
         std::unique_ptr<PointCandidates> candidates)
      : options_(options), program_(std::move(program)), candidates_(std::move(candidates)) {}

  absl::Status Start();
  FindPointsOutcome Count();
  ExitState WaitForEnd();

 private:
  absl::Status MakeControl();
  absl::Status Attach();
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
  std::optional<SharedControl> control_;  // where code is changed
  std::optional<CodeCounters> code_;
  uint64_t next_code_slice_ns_ = 0;
  std::optional<ChildProcess> child_;
  std::optional<points::StackSampler> sampler_;
  std::vector<points::VisitCounter> counters_;
  double visit_cost_ns_ = 0;
  uint64_t cost_measured_ns_ = 0;
  uint64_t start_ns_ = 0;
  absl::Status status_;  // of counting
};

absl::Status Finder::MakeControl() {
  absl::StatusOr<SharedControl> control = SharedControl::Create();
  if (!control.ok()) return control.status();
  control_.emplace(*std::move(control));
  shared::ControlBlock& block = control_->block();
  block.sampling_period_ns = kChangingPeriodNs;
  block.follow = shared::Follow::kAll;
  block.guards_breakpoints = 1;
  block.heartbeat_ns.store(MonotonicNowNs(), std::memory_order_relaxed);
  code_.emplace(&block);
  candidates_->CountByCode(&*code_);
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
    inbox_.Forward(child_->exit_state().exited ? 0 : child_->pid());
    const uint64_t now_ns = MonotonicNowNs();
    if (child_->Poll().exited || now_ns >= until_ns) return;
    const uint64_t wait_ns = until_ns - now_ns;
    const timespec timeout = {static_cast<time_t>(wait_ns / kNsPerSecond),
                              static_cast<long>(wait_ns % kNsPerSecond)};
    pollfd fds[] = {{inbox_.fd(), POLLIN, 0}, {child_->pidfd(), POLLIN, 0}};
    ppoll(fds, 2, &timeout, nullptr);
  }
}

bool Finder::IsCounting() const {
  return status_.ok() && !child_->exit_state().exited && !inbox_.interrupted() &&
         MonotonicNowNs() < start_ns_ + options_.duration_ns;
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
  status_ = Attach();
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
  // The interrupt reached the program too: it mostly ends.
  if (inbox_.interrupted()) WaitUntil(MonotonicNowNs() + kInterruptNs);
  // Breakpoints and samples end here; the program runs on untouched.
  counters_.clear();
  sampler_.reset();
  RestoreCode();
  FindPointsOutcome outcome = {candidates_->Result(visit_cost_ns_), MonotonicNowNs() - start_ns_,
                               !child_->Poll().exited};
  // A program that is gone before it could be looked at has said so itself.
  if (!status_.ok() && outcome.program_runs) outcome.found = status_;
  return outcome;
}

ExitState Finder::WaitForEnd() {
  if (options_.stop && !child_->Poll().exited) {
    kill(child_->pid(), SIGTERM);
    WaitUntil(MonotonicNowNs() + kGraceNs);
    if (!child_->exit_state().exited) kill(child_->pid(), SIGKILL);
  }
  while (!child_->Poll().exited) WaitUntil(MonotonicNowNs() + kNsPerSecond);
  return child_->exit_state();
}

}  // namespace

absl::StatusOr<ExitState> FindPoints(const FindPointsOptions& options,
                                     const std::function<void(const FindPointsOutcome&)>& report) {
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
