#include "coz/supervisor/run/one_run.h"

#include <poll.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <memory>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "coz/base/clock.h"
#include "coz/base/command_name.h"
#include "coz/base/inherited_filter.h"
#include "coz/base/sampling_period.h"
#include "coz/experiment/seed.h"
#include "coz/report/analysis/programs_run.h"
#include "coz/report/analysis/sampling_slowdown.h"
#include "coz/report/analysis/session_facts.h"
#include "coz/supervisor/run/earlier_runs.h"
#include "coz/supervisor/run/never_found.h"
#include "coz/supervisor/run/run_checks.h"
#include "coz/supervisor/run/session_description.h"
#include "coz/supervisor/run/thread_patterns.h"
#include "coz/supervisor/run/unit_checks.h"
#include "coz/supervisor/target/cpu_use.h"
#include "coz/supervisor/target/wake_cost.h"

namespace coz::supervisor {
namespace {

// The longest time between two looks at the target: samples in the ring, announcements, sign of
// life.
constexpr uint64_t kPollNs = 20 * kNsPerMs;
// Until the program has announced itself and its table is answered for.
constexpr uint64_t kStartPollNs = 1 * kNsPerMs;
constexpr uint64_t kStartNs = 200 * kNsPerMs;
// Go's runtime has begun by then.
constexpr uint64_t kLongStartNs = 2 * kNsPerSecond;

// While a point is added or removed.
constexpr uint64_t kChangePollNs = 5 * kNsPerMs;

// A process that was forked just before its parent ended has shown itself by then.
constexpr uint64_t kLateChildNs = 200 * kNsPerMs;

// In the profile; a report names one or two.
constexpr size_t kMostNeighbours = 5;

}  // namespace

// Also draws the seed and the sampling period, where they are not given, and measures what the
// session says of the machine before the program runs on it.
absl::Status Run::ChooseSchedule() {
  HaltedWakeNs();
  scheduler_options_.seed = options_.seed.value_or(experiment::DrawSeed());
  if (options_.sampling_period_ns == 0) {
    options_.sampling_period_ns = DefaultSamplingPeriodNs(*scheduler_options_.seed);
  }
  scheduler_options_.sampling_period_ns = options_.sampling_period_ns;
  scheduler_options_.fixed_speedups = options_.fixed_speedups;
  scheduler_options_.end_to_end = options_.end_to_end;
  if (options_.min_experiment_ns) {
    scheduler_options_.min_experiment_ns = *options_.min_experiment_ns;
    scheduler_options_.shortest_experiment_ns = *options_.min_experiment_ns;
    scheduler_options_.max_experiment_ns =
        std::max(scheduler_options_.max_experiment_ns, *options_.min_experiment_ns);
  }
  // Bare intervals and controls do not speed the given unit up, so no baseline compares.
  if (!options_.given.empty()) {
    scheduler_options_.experiments_per_bare_interval = 0;
    scheduler_options_.experiments_per_control = 0;
  }
  return scheduler_options_.Check();
}

void Run::FillBlock() {
  shared::ControlBlock& block = control_.block();
  block.sampling_period_ns = options_.sampling_period_ns;
  block.wanted_source = options_.sampling_source;
  block.wanted_unwinder = options_.unwinder;
  block.exclude_kernel = options_.exclude_kernel ? 1 : 0;
  // Who runs already has inherited nothing from here.
  block.deadly_calls = options_.attach_pid == 0 ? CallsOfInheritedFilter().deadly : 0;
  block.innermost_only = options_.innermost_only ? 1 : 0;
  block.path_callers =
      options_.units.kind == sourcemap::UnitKind::kPath ? options_.units.callers : 0;
  block.waits_are_units = options_.units.kind == sourcemap::UnitKind::kWait ? 1 : 0;
  block.first_wait_kind = units_.first_wait_kind();
  for (const std::string& pattern : options_.threads) {
    absl::SNPrintF(block.thread_scope.patterns[block.thread_scope.patterns_used++],
                   shared::kThreadPatternBytes, "%s", pattern);
  }
  FillThreadGroups(*ParseThreadGroups(options_.thread_groups), &block.thread_groups);
  block.follow = options_.follow;
  block.awaits_breakpoints = outside_->programs_wait() || !counted_->empty() ? 1 : 0;
  units_.Preannounce(control_);
  start_ns_ = MonotonicNowNs();
  duration_from_ns_ = start_ns_;
  block.start_ns = start_ns_;
  block.start_ticks = __builtin_ia32_rdtsc();
  block.heartbeat_ns.store(start_ns_, std::memory_order_relaxed);
}

void Run::TakeSlots() {
  outside_->TakeSlots(&control_.block());
  counted_->TakeSlots(&control_.block());
}

void Run::BeginRecords(report::ProfileWriter writer) {
  target_.emplace(&control_.block(), CpuQuota(options_.attach_pid));
  if (options_.attach_pid != 0) target_->FollowBegunBefore();
  target_->SetUnits([this](experiment::UnitId unit) { return units_.Has(unit); });
  outside_->AddTo(&*target_, &units_);
  counted_->AddTo(&control_.block(), &*target_);
  processes_.emplace(&control_.block());
  threads_.emplace(&control_.block());
  recorder_.emplace(std::move(writer), &units_, &*target_, std::move(series_.earlier));
  if (options_.end_to_end) recorder_->AddEndToEndPoint();
  requests_.emplace(outside_.get(), &*target_, start_ns_);
  requests_->Open({getpid(), child_->pid()});
}

absl::Status Run::Start(const std::string& program, report::ProfileWriter writer) {
  if (absl::Status status = ChooseSchedule(); !status.ok()) return status;
  FillBlock();
  if (source_.IsClock()) {
    if (absl::Status prepared = source_.PrepareClock(); !prepared.ok()) return prepared;
  }
  TakeSlots();
  StartOptions start;
  start.program = program;
  start.arguments = options_.command;
  start.preload = options_.runtime_library;
  start.control_path = control_.Path();
  start.pid_cell = &control_.block().target_pid;
  start.signal_mask = &inbox_.original_mask();
  absl::StatusOr<ChildProcess> child = ChildProcess::Start(start);
  if (!child.ok()) return child.status();
  // Timers of the supervisor are exact; the child's slack was set before.
  prctl(PR_SET_TIMERSLACK, 1);
  // Lets the program and its children copy the lent counters where Yama restricts that.
  if (outside_->programs_wait()) prctl(PR_SET_PTRACER, child->pid());
  child_.emplace(*std::move(child));
  BeginRecords(std::move(writer));
  if (source_.IsClock()) source_.StartClock(&*target_);
  return absl::OkStatus();
}

absl::Status Run::Join(std::unique_ptr<AttachedTree> attached, report::ProfileWriter writer) {
  if (absl::Status status = ChooseSchedule(); !status.ok()) return status;
  FillBlock();
  control_.block().awaits_breakpoints = 0;  // it runs already
  prctl(PR_SET_TIMERSLACK, 1);
  attached_ = std::move(attached);
  child_.emplace(ChildProcess::Adopt(options_.attach_pid));
  if (absl::Status joined = attached_->Join(&control_.block()); !joined.ok()) return joined;
  if (options_.attach_tree) JoinDescendants();
  const LateProcess late = {[this](pid_t pid) { return attached_->WhyNotChangeCode(pid); },
                            [this](pid_t pid) { attached_->ChangeCode(pid); },
                            [this](pid_t pid) { return !attached_->IsRunning(pid); }};
  outside_->SetLate(late);
  counted_->SetLate(late);
  own_calls_.SetLate(late);
  TakeSlots();  // the block has those of earlier sessions now
  BeginRecords(std::move(writer));
  target_->SetOwnEvents([this](bool on) { attached_->SetSampling(on); });
  return source_.Join(attached_.get(), &*target_);
}

void Run::JoinDescendants() {
  for (const std::string& refused : attached_->JoinDescendants(control_.fd())) {
    Say(absl::StrCat("a descendant is not profiled: ", refused));
  }
  const std::vector<pid_t> running = attached_->Running();
  if (running.empty()) return;
  Say(absl::StrFormat("%d process%s in the profile: %s", running.size(),
                      running.size() == 1 ? " is" : "es are", absl::StrJoin(running, ", ")));
}

void Run::PollAttached() {
  attached_->Poll();
  SayReplaced();
  const std::string unsampled = attached_->TakeThreadsWithoutSamples();
  if (!unsampled.empty()) Say(unsampled);
}

void Run::SayReplaced() {
  for (const pid_t pid : attached_->TakeReplaced()) {
    Say(
        absl::StrFormat("process %d has become another program by exec, and is no longer profiled; "
                        "attach again with: %s",
                        pid, ProfilingCommand(options_.attach_tree ? "--tree" : "")));
  }
}

// What has to be undone in a process is done by its threads. Until all can run, or somebody tells
// coz to end once more.
void Run::AwaitStopped() {
  constexpr timespec kLook = {0, 10 * kNsPerMs};
  const int interrupts = inbox_.interrupts();
  pid_t told = 0;
  while (const pid_t stopped = attached_->Stopped()) {
    if (inbox_.interrupts() != interrupts) return;
    if (stopped != told) {
      Say(absl::StrFormat(
          "process %d is stopped, and is left when it goes on; let it with: kill -CONT %d", stopped,
          stopped));
    }
    told = stopped;
    nanosleep(&kLook, nullptr);
    inbox_.Forward(0);
  }
}

absl::Status Run::Leave() {
  if (attached_ == nullptr) return absl::OkStatus();
  AwaitStopped();
  absl::Status left = attached_->Leave();
  SayReplaced();
  const std::vector<pid_t> running = attached_->Running();
  if (!left.ok()) {
    Say(std::string(left.message()));
  } else if (running.size() == 1) {
    Say(
        absl::StrFormat("process %d runs on as before; libcoz.so stays mapped in it and does "
                        "nothing",
                        running.front()));
  } else if (!running.empty()) {
    Say(
        absl::StrFormat("%d processes run on as before; libcoz.so stays mapped in them and does "
                        "nothing",
                        running.size()));
  }
  return absl::IsCancelled(left) ? absl::OkStatus() : left;
}

void Run::WriteHead() {
  head_written_ = true;
  const sampler::SamplerStatus sampler = control_.block().sampler_status;
  recorder_->WriteSession(DescribeSession(options_, series_, scheduler_options_, sampler,
                                          target_->Read().cpus, target_->quota_cpus()),
                          start_ns_);
  // A program that never joined says why itself.
  if (control_.block().sampler_ready.load(std::memory_order_acquire) == 0) return;
  const std::string explanation = sampler::ExplainSamplerStatus(sampler);
  if (!explanation.empty()) Say(explanation);
}

void Run::SayIfItAwaitsHandler() {
  const shared::ControlBlock& block = control_.block();
  if (block.sampler_ready.load(std::memory_order_acquire) != 0) return;
  const sampler::SamplerStatus status = block.sampler_status;
  if (!status.awaits_handler || std::exchange(says_it_awaits_handler_, true)) return;
  Say(sampler::ExplainSamplerStatus(status));
}

// False while a unit that was named is not loaded yet.
bool Run::ChooseUnits() {
  units_known_ = units_.growth();
  if (!MissingUnit(options_, units_).empty()) return false;
  for (const std::string& name : options_.fixed_units) {
    const std::vector<experiment::UnitId> found = units_.Find(name);
    scheduler_options_.fixed_units.insert(scheduler_options_.fixed_units.end(), found.begin(),
                                          found.end());
  }
  if (!options_.given.empty()) {
    const double delay_ns =
        options_.given_speedup * static_cast<double>(options_.sampling_period_ns);
    target_->SpeedUpAlways(units_.Find(options_.given).front(),
                           static_cast<uint64_t>(std::llround(delay_ns)));
  }
  return true;
}

void Run::OnExperimentStarted(experiment::UnitId unit, double virtual_speedup, uint64_t) {
  sourcemap::UnitDescription what = units_.Describe(unit).what;
  what.file.erase(0, what.file.rfind('/') + 1);
  const std::string name = what.Name();
  current_ = virtual_speedup == 0
                 ? absl::StrCat("a baseline for ", name)
                 : absl::StrFormat("%s %.0f %% faster", name, virtual_speedup * 100);
  // Samples so far belong to no experiment, but where one is the whole run.
  if (!options_.end_to_end) recorder_->WriteBetweenExperiments();
}

void Run::OnExperiment(const experiment::ExperimentRecord& record) {
  recorder_->WriteExperiment(record);
  if (options_.verbose && !display_.is_on()) {
    Say(absl::StrFormat("experiment %d: %s, %d selected samples, %.0f ms", record.index, current_,
                        record.selected_samples, static_cast<double>(record.elapsed_ns) / 1e6));
    for (const experiment::Taint& taint : record.taints) Say(absl::StrCat("  ", taint.reason));
  }
  current_.clear();
}

void Run::OnBareIntervalStarted(uint64_t) {
  current_ = "the program without samples";
  recorder_->WriteBetweenExperiments();
}

void Run::OnBareInterval(const experiment::ExperimentRecord& record) {
  recorder_->WriteBareInterval(record);
  current_.clear();
  if (MayChangeSource()) {
    source_.NoteSlowdown(
        report::LeastSlowdownBySampling(recorder_->written(), recorder_->session()),
        processes_->live());
  }
}

void Run::OnControlStarted(uint64_t) {
  current_ = "all threads delayed alike";
  recorder_->WriteBetweenExperiments();
}

void Run::OnControl(const experiment::ExperimentRecord& record) {
  recorder_->WriteControl(record);
  current_.clear();
}

// Of those that a program has had.
std::vector<uint32_t> Run::FoundPoints() const {
  std::vector<uint32_t> points;
  for (uint32_t id = 0; id < target_->points().size(); ++id) {
    if (outside_->IsFound(id)) points.push_back(id);
  }
  return points;
}

std::vector<std::string> Run::PointNames() const {
  std::vector<std::string> names;
  for (uint32_t id : FoundPoints()) names.push_back(target_->points()[id].name);
  return names;
}

void Run::OnNoProgress(uint64_t waited_ns) {
  if (IsWorkerElsewhere() && unpreloaded_.pid != 0) return Say(unpreloaded_.Text());
  const std::vector<std::string> names = PointNames();
  Say(absl::StrFormat(
      "no progress point was visited in the first %.0f s (%s); still waiting",
      static_cast<double>(waited_ns) / 1e9,
      names.empty()
          ? absl::StrCat("the program has none; `coz points",
                         attached_ == nullptr ? ""
                                              : absl::StrCat(" --pid=", options_.named_pid != 0
                                                                            ? options_.named_pid
                                                                            : options_.attach_pid),
                         "` lists functions that would do")
          : absl::StrCat("the program has ", absl::StrJoin(names, ", "))));
}

// Once, before somebody waits for the end of a run to learn of a name that is mistyped.
void Run::SayWhatIsNotFoundYet(uint64_t now_ns) {
  constexpr uint64_t kUsuallyLoadedNs = 3 * kNsPerSecond;
  const bool is_due = now_ns >= duration_from_ns_ + kUsuallyLoadedNs;
  if (!is_due || said_what_is_not_found_ || IsWorkerElsewhere()) return;
  said_what_is_not_found_ = true;
  for (const std::string& sentence : outside_->NotFoundYet()) {
    Say(absl::StrCat(sentence, "; coz goes on looking"));
  }
}

// Only while nothing else is known of what a launcher has started.
void Run::LookForUnpreloaded(uint64_t now_ns) {
  constexpr uint64_t kLookNs = 250 * kNsPerMs;
  if (!options_.is_launcher || unpreloaded_.pid != 0 || now_ns < looked_ns_ + kLookNs) return;
  looked_ns_ = now_ns;
  if (HasUnreachable() || OthersRan() || !target_->unit_samples().empty()) return;
  unpreloaded_ = FindUnpreloaded(control_.block(), child_->pid());
}

bool Run::OthersRan() const {
  const std::vector<ProcessWatch::Process>& all = processes_->processes();
  return std::any_of(all.begin(), all.end(), [&all](const ProcessWatch::Process& process) {
    return !process.program.empty() && process.program != all.front().program;
  });
}

// From these coz itself has taken LD_PRELOAD, or they are in no sight or left the profile, and it
// says why.
bool Run::HasUnreachable() const {
  const RunCounters counters = shared::ReadRunCounters(control_.block().counters);
  return counters.programs_unreachable != 0 || counters.programs_foreign != 0 ||
         counters.processes_elsewhere != 0 || counters.processes_restricted != 0;
}

// Whether the started program has only started others that cannot be profiled, so that all that is
// missing is theirs.
bool Run::IsWorkerElsewhere() const {
  const bool is_explained = unpreloaded_.pid != 0 || HasUnreachable();
  return options_.is_launcher && is_explained && target_->unit_samples().empty() && !OthersRan();
}

void Run::Say(const std::string& message) {
  display_.Clear();
  absl::FPrintF(stderr, "coz: %s\n", WithCommandName(message));
}

void Run::Wait(uint64_t until_ns) {
  const uint64_t now_ns = MonotonicNowNs();
  const uint64_t wait_ns = until_ns > now_ns ? until_ns - now_ns : 0;
  const timespec timeout = {static_cast<time_t>(wait_ns / kNsPerSecond),
                            static_cast<long>(wait_ns % kNsPerSecond)};
  // poll() passes over negative descriptors.
  const int pidfd = child_->exit_state().exited ? -1 : child_->pidfd();
  const int requests = head_written_ ? requests_->fd() : -1;
  pollfd fds[] = {{inbox_.fd(), POLLIN, 0}, {pidfd, POLLIN, 0}, {requests, POLLIN, 0}};
  ppoll(fds, 3, &timeout, nullptr);
  // What is sent to coz is not meant for a process that was there before.
  const bool is_ours = attached_ == nullptr && !child_->exit_state().exited;
  inbox_.Forward(is_ours ? child_->pid() : 0);
  child_->Poll();
  target_->set_stops(child_->stops());
}

void Run::RefreshDisplay() {
  LiveDisplay::State state;
  state.elapsed_ns = MonotonicNowNs() - duration_from_ns_;
  state.duration_ns = options_.duration_ns;
  state.experiments = static_cast<uint64_t>(recorder_->written().experiment_size());
  state.waiting_for_progress = scheduler_ && scheduler_->waiting_for_progress();
  state.current = current_;
  if (series_.most > 1)
    state.run = absl::StrFormat("run %d of at most %d", series_.run, series_.most);
  if (until_ && !ended_by_goal_) state.goal = until_->Text();
  display_.Refresh(state, recorder_->written());
}

// Tells the scheduler what --until still lacks, and ends the profile when it lacks nothing. Without
// --until, tells it which lines lack a verdict.
void Run::PursueGoal(bool at_end) {
  if (verdicts_ && verdicts_->Update(recorder_->written(), MonotonicNowNs())) {
    scheduler_->Focus(verdicts_->focus());
  }
  if (!until_ || !until_->Update(recorder_->written(), MonotonicNowNs(), at_end)) return;
  scheduler_->Focus(until_->focus());
  if (!until_->state().reached) return;
  ended_by_goal_ = true;
  SayGoalIsReached(at_end);
}

void Run::SayGoalIsReached(bool at_end) {
  Say(absl::StrFormat(
      "chance makes the intervals of the top lines at most %g points wide%s%s; %s",
      100 * options_.until_width, until_->WhatStays(),
      series_.most > 1 ? absl::StrFormat(" after %d run%s of at most %d", series_.run,
                                         series_.run == 1 ? "" : "s", series_.most)
                       : "",
      at_end ? "the program has ended" : "profiling has ended, the program runs on"));
}

void Run::StartExperiments() {
  // To attach takes time of its own.
  if (attached_ != nullptr) duration_from_ns_ = MonotonicNowNs();
  const std::vector<experiment::UnitId> fixed_units = scheduler_options_.fixed_units;
  // End to end, a unit that is sped up from the start tells more than one found by first samples.
  if (options_.end_to_end && fixed_units.empty()) {
    const std::optional<experiment::UnitId> drawn =
        DrawFromEarlierRuns(recorder_->written(), units_, options_.given, *scheduler_options_.seed);
    if (drawn.has_value()) scheduler_options_.fixed_units = {*drawn};
  }
  if (recorder_->written().experiment_size() != 0) {
    scheduler_options_.dealt_before = DealtInEarlierRuns(recorder_->written(), units_);
  }
  scheduler_.emplace(scheduler_options_, &*target_, this);
  const auto is_here = [this](experiment::UnitId id, const report::UnitRow& unit) {
    return IsUnit(units_, id, unit);
  };
  if (options_.until_width != 0) {
    until_.emplace(options_.until_width, scheduler_options_.uniform_share, fixed_units, is_here);
  } else if (!options_.end_to_end && fixed_units.empty()) {
    verdicts_.emplace(VerdictsGoal(scheduler_options_.uniform_share), FocusOrder::kLeastNeedFirst,
                      fixed_units, is_here);
  }
  // What earlier runs lack is in focus from the start.
  PursueGoal();
}

// Until the first process has ended; or the last, where that is asked for and nobody interrupts. Of
// those that were there before, until none is profiled any more.
bool Run::IsToGoOn() {
  if (attached_ != nullptr) {
    const bool is_told_to_end = inbox_.interrupted() || ended_by_duration_ || ended_by_goal_;
    return !child_->exit_state().exited && !attached_->Running().empty() &&
           !(is_told_to_end && (!scheduler_ || scheduler_->done()));
  }
  if (!child_->exit_state().exited) return true;
  if (!options_.until_last || inbox_.interrupted() || ended_by_duration_ || ended_by_goal_) {
    return false;
  }
  const uint64_t now_ns = MonotonicNowNs();
  if (processes_->live() > 0 || alone_since_ns_ == 0) alone_since_ns_ = now_ns;
  return now_ns < alone_since_ns_ + kLateChildNs;
}

// Points come and go only in a profile that has begun.
void Run::AnswerRequests() {
  if (!head_written_) return;
  const bool is_over = scheduler_ && scheduler_->done();
  requests_->Poll(control_.block(), is_over, [this](const PointCame& came) {
    recorder_->WritePointChange(came);
    if (options_.verbose) Say(came.said);
  });
}

void Run::Loop() {
  shared::ControlBlock& block = control_.block();
  while (IsToGoOn()) {
    const uint64_t now_ns = MonotonicNowNs();
    units_.Answer(control_);
    perf_maps_.Poll(control_, now_ns);
    for (const std::string& warning : perf_maps_.TakeWarnings()) Say(warning);
    const bool others_release = outside_->programs_wait() || !counted_->empty();
    own_calls_.Poll(block, now_ns, /*releases=*/!others_release && attached_ == nullptr);
    for (const std::string& warning : own_calls_.TakeWarnings()) Say(warning);
    counted_->Poll(block, now_ns, /*releases=*/!outside_->programs_wait());
    outside_->Poll(block, now_ns);
    for (const std::string& warning : counted_->TakeWarnings()) Say(warning);
    for (const std::string& warning : outside_->TakeWarnings()) Say(warning);
    target_->Poll();
    processes_->Poll();
    threads_->Poll();
    LookForUnpreloaded(now_ns);
    if (attached_ != nullptr) PollAttached();
    uint64_t next_ns = now_ns + (now_ns < start_ns_ + kStartNs ? kStartPollNs : kPollNs);
    const bool attached = block.sampler_ready.load(std::memory_order_acquire) != 0;
    if (attached && !head_written_) WriteHead();
    if (!attached && now_ns > start_ns_ + kLongStartNs) SayIfItAwaitsHandler();
    AnswerRequests();
    if (requests_->is_changing()) next_ns = now_ns + kChangePollNs;
    if (head_written_ && neighbours_.IsDue(now_ns)) LookForNeighbours();
    ChooseSource(now_ns);
    source_.VaryClock(now_ns);
    // A unit that was named may belong to a library that is opened later.
    if (attached && !scheduler_ && units_known_ != units_.growth() && ChooseUnits()) {
      StartExperiments();
    }
    if (scheduler_) {
      next_ns = std::min(next_ns, scheduler_->Step());
      const bool is_interrupted = attached_ != nullptr && inbox_.interrupted();
      const bool time_is_up =
          is_interrupted ||
          (options_.duration_ns != 0 && now_ns >= duration_from_ns_ + options_.duration_ns);
      const bool ended = ended_by_duration_ || ended_by_goal_;
      if (!ended && time_is_up) ended_by_duration_ = true;
      if (!ended && !time_is_up) PursueGoal();
      SayWhatIsNotFoundYet(now_ns);
      if (!ended && (ended_by_duration_ || ended_by_goal_)) {
        scheduler_->Stop();
        next_ns = now_ns;
      }
      SayWhetherItIsWritten();
      if (scheduler_->done()) block.stop.store(1, std::memory_order_relaxed);
    }
    RefreshDisplay();
    Wait(next_ns);
  }
}

// A run of hours is not to end before it says that the disk is full.
void Run::SayWhetherItIsWritten() {
  const bool is_written = recorder_->status().ok();
  if (is_written == is_written_) return;
  is_written_ = is_written;
  Say(is_written ? absl::StrCat("all that was measured is in ", recorder_->path(), " now")
                 : absl::StrCat(recorder_->status().message(),
                                "; coz goes on, and writes what it measures once it can"));
}

// What was suspended resumes as it was.
bool Run::MayChangeSource() const {
  return head_written_ && !target_->samples_are_suspended() && source_.MayChange();
}

void Run::ChooseSource(uint64_t now_ns) {
  if (!MayChangeSource()) return;
  const std::optional<RunSource::Change> change =
      source_.Poll(now_ns, processes_->live(), &*target_);
  if (!change.has_value()) return;
  if (scheduler_) scheduler_->StartAfresh();
  recorder_->WriteSourceChange(change->finding, change->source, now_ns);
  Say(report::DescribeSourceChange(*recorder_->written().source_change().rbegin()));
}

// Beside the profiled processes and the one that was started, which may not be profiled yet.
void Run::LookForNeighbours() {
  std::set<pid_t> own = {child_->pid()};
  for (const pid_t pid : processes_->Running()) own.insert(pid);
  const uint64_t now_ns = MonotonicNowNs();
  neighbours_.Look(now_ns, own);
  processes_->CountPageFaults(now_ns);
  target_->SetBeside(neighbours_.CpusOfTireless());
}

// Measures where samples come by perf events. kPerfSigtrap has one for all threads of a process.
SwitchLoad Run::SwitchesOfRun(const experiment::TargetSnapshot& last) const {
  const uint64_t switches = SwitchesOfChildren() - switches_before_;
  if (!source_.UsesPerfEvents()) return {switches, 0};
  const sampler::SamplingSource source = control_.block().sampler_status.source;
  const bool one_event = source == sampler::SamplingSource::kPerfSigtrap && processes_->seen() <= 1;
  return MeasureSwitchLoad(switches, last.now_ns - start_ns_, options_.sampling_period_ns,
                           one_event ? Switched::kThreads : Switched::kProcesses);
}

// What was named and never came. Of a program that failed before it could come, that tells nothing.
void Run::SayWhatIsMissing(const std::vector<ThreadUse>& threads) {
  if (report::FailedEarly(recorder_->written()) || IsWorkerElsewhere()) return;
  const std::string worker = report::FindProgramsRun(recorder_->written()).worker;
  for (const std::string& missing : counted_->Missing()) Say(missing);
  for (const std::string& missing : NeverFound(options_, units_, *outside_, *target_, worker)) {
    Say(missing);
  }
  for (const std::string& missing : ThreadsNeverSeen("--thread", options_.threads, threads)) {
    Say(missing);
  }
  const auto groups = ParseThreadGroups(options_.thread_groups);
  for (const std::string& missing : GroupsNeverSeen(*groups, threads)) Say(missing);
}

RunResult Run::Finish() {
  display_.Clear();
  target_->Poll();
  // A signal that came with the program's end.
  inbox_.Forward(child_->exit_state().exited ? 0 : child_->pid());
  RunResult result;
  result.exit = child_->exit_state();
  result.runtime_attached = control_.block().images.load(std::memory_order_relaxed) != 0;
  SayIfItAwaitsHandler();
  const bool cannot_sample =
      control_.block().sampler_ready.load(std::memory_order_acquire) != 0 &&
      control_.block().sampler_status.source == sampler::SamplingSource::kNone;
  result.why_is_said = cannot_sample || says_it_awaits_handler_ ||
                       control_.block().has_complained.load(std::memory_order_relaxed) != 0 ||
                       IsWorkerElsewhere();
  if (IsWorkerElsewhere()) result.unpreloaded = unpreloaded_;
  if (const UnitIndex::Object* const object = units_.NotShared()) {
    result.not_shared = object->path;
    result.why_not_shared = object->why_no_table;
  }
  if (scheduler_ && !scheduler_->done()) scheduler_->Finish();
  if (!ended_by_goal_) PursueGoal(/*at_end=*/true);
  result.precise_enough = ended_by_goal_;
  if (until_) result.precision = until_->Text();
  if (!head_written_) WriteHead();
  // Processes that run on are not profiled any more.
  control_.block().stop.store(1, std::memory_order_relaxed);
  processes_->Poll();
  // One that is attached to was there before.
  result.processes_left = attached_ != nullptr ? 0 : processes_->live();
  const RunCounters counters = shared::ReadRunCounters(control_.block().counters);
  result.processes_unprofiled =
      static_cast<uint32_t>(counters.processes_without_slot + counters.processes_without_sampling);
  result.programs_foreign = counters.programs_foreign != 0;
  result.processes_restricted = static_cast<uint32_t>(counters.processes_restricted);
  result.processes_elsewhere = counters.processes_elsewhere != 0;
  result.programs_unreachable = counters.programs_unreachable != 0;
  result.processes_unfollowed = static_cast<uint32_t>(counters.processes_unfollowed);
  result.threads_by_clone = static_cast<uint32_t>(counters.threads_by_clone);
  if (!scheduler_) result.missing_unit = MissingUnit(options_, units_);
  const bool is_interrupted = attached_ != nullptr && inbox_.interrupted();
  const profile::EndReason reason = is_interrupted         ? profile::END_REASON_INTERRUPTED
                                    : ended_by_duration_   ? profile::END_REASON_DURATION_REACHED
                                    : ended_by_goal_       ? profile::END_REASON_PRECISION_REACHED
                                    : inbox_.interrupted() ? profile::END_REASON_INTERRUPTED
                                    : attached_ != nullptr && !child_->exit_state().exited
                                        ? profile::END_REASON_TARGET_REPLACED
                                        : profile::END_REASON_TARGET_EXITED;
  LookForNeighbours();
  const experiment::TargetSnapshot last = target_->Read();
  recorder_->WriteProcesses(*processes_, attached_ != nullptr ? attached_->replaced() : 0);
  const std::vector<ThreadUse> threads = threads_->Threads();
  recorder_->WriteThreads(threads, ThreadCounters(control_.block()));
  for (const experiment::PointCounts& point : last.points) {
    result.visited_points |= point.visits + point.arrivals + point.departures != 0;
  }
  if (!result.visited_points) recorder_->WriteUnvisited(FoundPoints());
  recorder_->WriteEnd(reason, result.exit, last, SwitchesOfRun(last), counters,
                      neighbours_.Busiest(kMostNeighbours));
  SayWhatIsMissing(threads);
  result.sampled = last.total_samples != 0;
  result.end_to_end = options_.end_to_end;
  result.sampled_in_scope = !target_->unit_samples().empty();
  result.profile = recorder_->written();
  result.profile_path = recorder_->path();
  result.profile_status = recorder_->status();
  result.points = PointNames();
  return result;
}

}  // namespace coz::supervisor
