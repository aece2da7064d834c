#include "coz/supervisor/target/attached_process.h"

#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "coz/attach/process_view.h"
#include "coz/attach/refusals.h"
#include "coz/attach/traced_thread.h"
#include "coz/base/clock.h"
#include "coz/base/signal_mask.h"
#include "coz/base/spared_calls.h"
#include "coz/shared/slot_loops.h"
#include "coz/sourcemap/binary_info.h"

namespace coz::supervisor {
namespace {

// How often no new thread is found before none is sought.
constexpr int kLooksForThreads = 5;

// After so many, an exec is looked for that nobody has announced.
constexpr int kLooksWithoutExec = 50;

// CPU time that a thread has used, and whether it might go on now.
struct Progress {
  bool is_runnable = false;
  uint64_t ran_ns = 0;
};

Progress ProgressOf(pid_t pid, pid_t tid) {
  Progress progress;
  const attach::StatusFields status = attach::ReadThreadStatus(pid, tid);
  const auto state = status.find("State");
  progress.is_runnable = state != status.end() && absl::StartsWith(state->second, "R");
  std::ifstream(absl::StrFormat("/proc/%d/task/%d/schedstat", pid, tid)) >> progress.ran_ns;
  return progress;
}

// Without it nobody would know when the process ends.
absl::StatusOr<UniqueFd> OpenPidfd(pid_t pid) {
  UniqueFd pidfd(SparedCall<SYS_pidfd_open>(pid, 0));
  if (pidfd.ok()) return pidfd;
  const int error = errno;
  return absl::UnavailableError(
      absl::StrFormat("cannot attach to process %d: it cannot be watched (pidfd_open: %s); %s", pid,
                      strerror(error),
                      error == EMFILE ? std::string("let coz open more files with: ulimit -n 1024")
                                      : absl::StrFormat("see: ps %d", pid)));
}

// While a thread waits for signals (sigwait), its mask lacks those that it waits for.
uint64_t SignalsWaitedFor(pid_t pid, pid_t tid) {
  const attach::SleepingCall call = attach::ReadSleepingCall(pid, tid);
  uint64_t signals = 0;
  const bool is_read = call.number == SYS_rt_sigtimedwait &&
                       attach::ReadMemory(pid, call.arguments[0], &signals, sizeof(signals));
  return is_read ? signals : 0;
}

// It may wake up, or go to sleep, between two looks.
bool LetsSignalIn(pid_t pid, pid_t tid) {
  const uint64_t waited_for = SignalsWaitedFor(pid, tid);
  const attach::StatusFields status = attach::ReadThreadStatus(pid, tid);
  const uint64_t blocked =
      waited_for | attach::SignalsIn(status, "SigBlk") | SignalsWaitedFor(pid, tid);
  return (blocked & SignalMaskOf(SIGTRAP)) == 0;
}

// In a thread that only ever waits, as jemalloc's in the background does. Not where it waits for
// signals: the kernel gives it back the mask that it had before the wait.
bool LetSignalIn(pid_t pid, pid_t tid, bool lets_in) {
  absl::StatusOr<attach::TracedThread> thread = attach::TracedThread::Stop(pid, tid);
  if (!thread.ok() || thread->WaitingCall() == SYS_rt_sigtimedwait) return false;
  const uint64_t others = thread->blocked_signals() & ~SignalMaskOf(SIGTRAP);
  return thread->BlockSignals(lets_in ? others : others | SignalMaskOf(SIGTRAP)).ok();
}

bool HasPendingSample(pid_t pid) {
  for (const pid_t tid : attach::ReadThreads(pid)) {
    const attach::StatusFields status = attach::ReadThreadStatus(pid, tid);
    const uint64_t pending =
        attach::SignalsIn(status, "SigPnd") | attach::SignalsIn(status, "ShdPnd");
    if ((pending & SignalMaskOf(SIGTRAP)) != 0) return true;
  }
  return false;
}

// What CPU timers and stopped threads have sent is delivered before its thread runs any code of the
// program. So none is under way once each thread has slept or run since. One that has come amid a
// handler of samples is pending until that returns.
bool AwaitLastSamples(pid_t pid) {
  constexpr timespec kLook = {0, 2 * kNsPerMs};
  constexpr int kMostLooks = 1000;
  std::map<pid_t, uint64_t> runnable;
  for (const pid_t tid : attach::ReadThreads(pid)) {
    const Progress progress = ProgressOf(pid, tid);
    if (progress.is_runnable) runnable[tid] = progress.ran_ns;
  }
  for (int i = 0; i < kMostLooks; ++i) {
    nanosleep(&kLook, nullptr);
    for (auto it = runnable.begin(); it != runnable.end();) {
      const Progress progress = ProgressOf(pid, it->first);
      const bool has_moved = !progress.is_runnable || progress.ran_ns > it->second;
      it = has_moved ? runnable.erase(it) : std::next(it);
    }
    if (runnable.empty() && !HasPendingSample(pid)) return true;
  }
  return false;
}

}  // namespace

absl::StatusOr<RunningProgram> FindRunningProgram(pid_t pid, const std::string& runtime_library) {
  const attach::Facts facts = attach::GatherFacts(pid, runtime_library);
  if (absl::Status refused = attach::WhyNotAttach(facts, runtime_library); !refused.ok()) {
    return refused;
  }
  RunningProgram program;
  program.path = facts.executable;
  if (absl::EndsWith(program.path, " (deleted)")) {
    return absl::FailedPreconditionError(
        absl::StrFormat("cannot attach to process %d: its program file has been replaced since it "
                        "was started (%s), "
                        "so its code would be read wrongly; restart it",
                        pid, program.path));
  }
  if (std::error_code error; !std::filesystem::exists(program.path, error) && !error) {
    return absl::FailedPreconditionError(absl::StrFormat(
        "cannot attach to process %d: what it has mounted since it was started hides its program "
        "file (%s); start it with: coz run --- PROGRAM",
        pid, program.path));
  }
  std::ifstream file(absl::StrFormat("/proc/%d/cmdline", pid));
  std::ostringstream arguments;
  arguments << file.rdbuf();
  std::ifstream comm_file(absl::StrFormat("/proc/%d/comm", pid));
  std::string comm;
  std::getline(comm_file, comm);
  program.path = NameOfProgram(program.path, comm);
  program.command = CommandOf(program.path, arguments.str());
  return program;
}

// Debian's redis-server is a link to another name. The kernel knows a program by the name that was
// started, unless it has given itself another.
std::string NameOfProgram(const std::string& executable, const std::string& comm) {
  if (comm.empty() || absl::StrContains(comm, '/')) return executable;
  const std::string started = executable.substr(0, executable.rfind('/') + 1) + comm;
  std::error_code error;
  return std::filesystem::equivalent(started, executable, error) ? started : executable;
}

// Programs write their titles over their arguments, as one text with blanks and zeros behind it.
std::vector<std::string> CommandOf(const std::string& program, const std::string& arguments) {
  std::vector<std::string> command = absl::StrSplit(absl::string_view(arguments), '\0');
  while (command.size() > 1 && command.back().empty()) command.pop_back();
  const std::string& first = command.front();
  std::error_code error;
  const bool is_title = first.empty() || (absl::StrContains(first, ' ') && first != program &&
                                          !std::filesystem::exists(first, error));
  if (is_title) command.resize(1);
  command.front() = program;
  return command;
}

absl::StatusOr<AttachedProcess> AttachedProcess::Prepare(pid_t pid, const Options& options,
                                                         int control) {
  absl::StatusOr<UniqueFd> pidfd = OpenPidfd(pid);
  if (!pidfd.ok()) return pidfd.status();
  AttachedProcess process(pid, *std::move(pidfd), nullptr);
  if (absl::Status chosen = process.ChooseSource(options); !chosen.ok()) return chosen;
  attach::InjectorOptions injected;
  injected.library = options.runtime_library;
  injected.control = control;
  injected.join_limit_s = options.join_limit_s;
  injected.on_step = options.on_step;
  absl::StatusOr<std::unique_ptr<attach::Injector>> injector =
      attach::Injector::Prepare(pid, injected);
  if (!injector.ok()) return injector.status();
  process.injector_ = *std::move(injector);
  return process;
}

absl::Status AttachedProcess::ChooseSource(const Options& options) {
  had_events_ = options.source != sampler::SamplingSource::kCpuTimer;
  if (options.source == sampler::SamplingSource::kCpuClock) {
    events_ = std::make_unique<ThreadEvents>();
    absl::Status opened = events_->OpenForClocks(pid_, options.expiry);
    status_ = events_->status();
    return opened;
  }
  if (options.source != sampler::SamplingSource::kCpuTimer) {
    events_ = std::make_unique<ThreadEvents>();
    // As in the runtime: Go's exec is not seen before it happens.
    const bool exclude_kernel =
        options.exclude_kernel || sourcemap::IsGoProgram(absl::StrFormat("/proc/%d/exe", pid_));
    absl::Status opened = events_->Open(pid_, options.sampling_period_ns, exclude_kernel);
    status_ = events_->status();
    if (opened.ok() || options.source == sampler::SamplingSource::kPerfSigtrap) return opened;
    events_.reset();
  }
  had_events_ = false;
  timers_ = std::make_unique<ThreadTimers>(pid_);
  status_.source = sampler::SamplingSource::kCpuTimer;
  status_.kernel_included = true;
  return absl::OkStatus();
}

// It may be in an exec already: then no sample may come. See shared::kWithoutEvents. With timers it
// has made its own, or began when the profile still used events.
absl::StatusOr<AttachedProcess> AttachedProcess::Adopt(pid_t pid, shared::ProcessSlot* slot,
                                                       const Options& options,
                                                       shared::ControlBlock* control) {
  absl::StatusOr<UniqueFd> pidfd = OpenPidfd(pid);
  if (!pidfd.ok()) return pidfd.status();
  attach::InjectorOptions injected;
  injected.library = options.runtime_library;
  injected.on_step = options.on_step;
  AttachedProcess process(pid, *std::move(pidfd), attach::Injector::Adopt(pid, injected));
  process.control_ = control;
  process.is_adopted_ = true;
  process.had_events_ = true;  // its threads may have opened some before it was seen
  if (options.source == sampler::SamplingSource::kCpuTimer) {
    process.timers_ = std::make_unique<ThreadTimers>(pid);
    process.looks_without_thread_ = kLooksForThreads;
    if (slot->uses_timers.load() == 0) (void)process.SampleByTimers();
    return process;
  }
  slot->armed.store(slot->image.load(std::memory_order_relaxed) + 1);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (absl::Status opened = process.ChooseSource(options); !opened.ok()) return opened;
  process.Poll();
  if (!process.is_in_exec_) process.SetSampling(true);
  return process;
}

bool AttachedProcess::HasEnded() const {
  pollfd fd = {pidfd_.get(), POLLIN, 0};
  return poll(&fd, 1, 0) == 1;
}

absl::Status AttachedProcess::Join(shared::ControlBlock* control) {
  control->exclude_kernel = status_.kernel_included ? 0 : 1;
  control->use_cpu_timers.store(timers_ != nullptr ? 1 : 0);
  control->target_pid.store(pid_, std::memory_order_release);
  if (absl::Status joined = JoinToo(control); !joined.ok()) return joined;
  control->sampler_status = status_;
  control->sampler_ready.fetch_add(1, std::memory_order_release);
  return absl::OkStatus();
}

absl::Status AttachedProcess::JoinToo(shared::ControlBlock* control) {
  control_ = control;
  if (absl::Status joined = injector_->Join(); !joined.ok()) return joined;
  if (injector_->HasNewFilters()) return EndProfiling();
  if (timers_ == nullptr) {
    for (const pid_t tid : attach::ReadThreads(pid_)) {
      const Progress progress = ProgressOf(pid_, tid);
      if (!progress.is_runnable) ran_before_[tid] = progress.ran_ns;
    }
    events_->LookForThreads();
    events_->Enable();
    return absl::OkStatus();
  }
  absl::Status timed = SampleByTimers();
  if (!timed.ok()) (void)Leave();
  return timed;
}

// What the process does itself before it limits its system calls, where it does not see that it
// does. No call of ours may be made in it.
absl::Status AttachedProcess::EndProfiling() {
  if (shared::ProcessSlot* const slot = Slot()) {
    constexpr char kLeft = 1;
    (void)injector_->image().Write(slot->left_for_good, &kLeft, sizeof(kLeft));
    slot->state.store(shared::ProcessState::kChanging, std::memory_order_release);
  }
  shared::Add(control_->counters.processes_restricted);
  return absl::FailedPreconditionError(absl::StrFormat(
      "process %d has limited its system calls while coz came, and a call of coz's might end it "
      "from then on; libcoz.so stays mapped in it and does nothing",
      pid_));
}

// More than one call where there are very many threads, or where some begin that nobody sees.
absl::Status AttachedProcess::SampleByTimers() {
  constexpr int kMostCalls = 100;
  for (int i = 0; i < kMostCalls && timers_->Look(control_); ++i) {
    if (absl::Status made = injector_->SampleByTimers(); !made.ok()) return made;
    timers_->NoteAnswer(*control_);
  }
  if (timers_->refusal() == 0) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrFormat(
      "cannot sample process %d: a CPU timer for each thread is refused (timer_create: %s); see: "
      "prlimit --sigpending --pid %d",
      pid_, strerror(-timers_->refusal()), pid_));
}

shared::ProcessSlot* AttachedProcess::Slot() const {
  shared::ProcessSlot* found = nullptr;
  shared::ForEachProcess(*control_, [&](shared::ProcessSlot& slot) {
    if (slot.state.load(std::memory_order_acquire) != shared::ProcessState::kFree &&
        slot.pid == pid_) {
      found = &slot;
    }
    return found == nullptr;
  });
  return found;
}

bool AttachedProcess::knows_threads() const {
  return looks_without_thread_ >= kLooksForThreads || HasEnded();
}

// The new program has no handler of samples. Events do not survive an exec, and none is to come
// back. Nobody waits for what its threads owed.
void AttachedProcess::LookForExec() {
  looks_without_exec_ = 0;
  if (has_left_by_exec_ || !injector_->image().HasBecomeAnother() || HasEnded()) return;
  has_left_by_exec_ = true;
  is_in_exec_ = true;
  looks_without_thread_ = kLooksForThreads;
  SampleByEvents(false);
  shared::ProcessSlot* const slot = Slot();
  if (slot != nullptr) slot->state.store(shared::ProcessState::kChanging);
}

void AttachedProcess::Poll() {
  if (HasEnded()) return;
  if (is_in_exec_ || ++looks_without_exec_ >= kLooksWithoutExec) LookForExec();
  if (has_left_by_exec_) return;
  shared::ProcessSlot* const slot = Slot();
  if (slot == nullptr) return;
  const bool is_in_exec =
      slot->state.load(std::memory_order_acquire) == shared::ProcessState::kChanging;
  if (!is_in_exec && looks_without_thread_ < kLooksForThreads) {
    looks_without_thread_ = LookForThreads() ? 0 : looks_without_thread_ + 1;
  }
  if (is_in_exec == is_in_exec_) return;
  is_in_exec_ = is_in_exec;
  if (is_in_exec) {
    LetExecGoOn(slot);
  } else {
    slot->armed.store(slot->image.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    if (!is_suspended_) SampleByEvents(true);
  }
}

bool AttachedProcess::LookForThreads() {
  if (timers_ == nullptr) return events_->LookForThreads();
  if (!timers_->Look(control_)) return false;
  if (injector_->SampleByTimers().ok()) timers_->NoteAnswer(*control_);
  return true;
}

void AttachedProcess::LetExecGoOn(shared::ProcessSlot* slot) {
  is_in_exec_ = true;
  SampleByEvents(false);
  slot->armed.store(shared::kArmedForExec, std::memory_order_release);
}

// One that has begun an exec waits until its events are off, but not for ever: it may be about to
// be the new program, which a sample would end.
void AttachedProcess::SampleByEvents(bool on) {
  if (events_ == nullptr) return;
  shared::ProcessSlot* const slot = on ? Slot() : nullptr;
  const bool is_in_exec = slot != nullptr && slot->state.load(std::memory_order_acquire) ==
                                                 shared::ProcessState::kChanging;
  if (is_in_exec) return LetExecGoOn(slot);
  if (on) {
    events_->Enable();
  } else {
    events_->Disable();
  }
}

// No event is on while it makes the timers: one of them would be a second source.
bool AttachedProcess::ChangeToCpuTimers() {
  if (timers_ != nullptr || is_in_exec_ || HasEnded()) return true;
  SampleByEvents(false);
  timers_ = std::make_unique<ThreadTimers>(pid_);
  if (SampleByTimers().ok()) {
    events_.reset();
    looks_without_thread_ = 0;
    return true;
  }
  timers_.reset();
  SampleByEvents(true);
  return false;
}

// No old event is on beside a new one, or threads would be sampled twice.
bool AttachedProcess::ChangeToCpuClock(const sampler::ClockExpiry& expiry) {
  if (timers_ != nullptr || is_in_exec_ || HasEnded()) return true;
  if (!status_.kernel_included) return false;  // a clock also finds threads in the kernel
  auto events = std::make_unique<ThreadEvents>();
  if (!events->OpenForClocks(pid_, expiry).ok()) return false;
  SampleByEvents(false);
  events_ = std::move(events);
  looks_without_thread_ = 0;
  if (!is_suspended_) SampleByEvents(true);
  return true;
}

void AttachedProcess::SetSampling(bool on) {
  is_suspended_ = !on;
  if (!is_in_exec_) SampleByEvents(on);
}

std::string AttachedProcess::WhyNotChangeCode() {
  constexpr timespec kLook = {0, 2 * kNsPerMs};
  constexpr int kMostLooks = 2500;
  constexpr int kMostInVain = 50;
  if (has_left_by_exec_) return "it has become another program by exec";
  if (!changes_code_) {
    const absl::Status prepared = injector_->ChangeCode(/*is_first=*/true);
    if (!prepared.ok()) return std::string(prepared.message());
    changes_code_ = true;
  }
  // A thread that lets it in once goes on to do so. One that is in a handler of it, or in libc
  // where that blocks all signals, comes to no int3 meanwhile.
  std::map<pid_t, uint64_t> blocking;  // with the CPU time that it had at the last look
  for (const pid_t tid : attach::ReadThreads(pid_)) blocking[tid] = 0;
  int looks_in_vain = 0;
  for (int i = 0; i < kMostLooks && looks_in_vain < kMostInVain; ++i) {
    bool waits_for_cpu = false;
    for (auto it = blocking.begin(); it != blocking.end();) {
      if (LetsSignalIn(pid_, it->first)) {
        it = blocking.erase(it);
        continue;
      }
      const Progress progress = ProgressOf(pid_, it->first);
      waits_for_cpu |= progress.is_runnable && progress.ran_ns == it->second;
      it->second = progress.ran_ns;
      ++it;
    }
    if (blocking.empty()) return "";
    // One that does not run, amid a handler perhaps, says nothing.
    if (!waits_for_cpu) ++looks_in_vain;
    nanosleep(&kLook, nullptr);
  }
  for (const auto& [tid, ran_ns] : blocking) {
    if (!LetSignalIn(pid_, tid, true)) return absl::StrFormat("its thread %d blocks SIGTRAP", tid);
    unblocked_.insert(tid);
  }
  return "";
}

// A thread that cannot be stopped now answers with its next sample.
void AttachedProcess::ChangeCode() {
  if (!has_left_by_exec_) (void)injector_->ChangeCode(/*is_first=*/false);
}

// Nobody asks for code any more. A thread may be at what was asked for last.
absl::Status AttachedProcess::EndSignals() {
  constexpr timespec kLook = {0, kNsPerMs};
  constexpr int kMostLooks = 1000;
  if (events_ != nullptr) {
    events_->Disable();
    events_->Close();
  }
  std::atomic<shared::PatchRequestState>& state = control_->patch_request.state;
  auto asked = shared::PatchRequestState::kAsked;
  state.compare_exchange_strong(asked, shared::PatchRequestState::kFree);
  for (int i = 0; i < kMostLooks && state.load() == shared::PatchRequestState::kTaken; ++i) {
    nanosleep(&kLook, nullptr);
  }
  return injector_->EndSignals();
}

// The events are closed. A sample that has come in the kernel becomes a signal when its thread
// leaves the kernel, which may be hours later, and nothing shows it before. A stop lets it out, of
// a thread that runs, too. False: one did not stop, or waits for longer than this amid a call that
// would return a part of what it does.
bool AttachedProcess::LetSamplesOut() const {
  constexpr timespec kLook = {0, 10 * kNsPerMs};
  constexpr int kMostLooks = 50;
  int looks = 0;
  bool are_out = true;
  for (const pid_t tid : attach::ReadThreads(pid_)) {
    const auto before = ran_before_.find(tid);
    if (before != ran_before_.end() && ProgressOf(pid_, tid).ran_ns == before->second) continue;
    while (attach::MayReturnAPart(attach::ReadSleepingCall(pid_, tid)) && looks < kMostLooks) {
      nanosleep(&kLook, nullptr);
      ++looks;
    }
    if (attach::MayReturnAPart(attach::ReadSleepingCall(pid_, tid))) {
      are_out = false;
      continue;
    }
    const absl::StatusOr<attach::TracedThread> stopped = attach::TracedThread::Stop(pid_, tid);
    // Amid a signal it was let out, too.
    if (!stopped.ok() && !absl::IsUnavailable(stopped.status())) are_out = false;
  }
  return are_out;
}

absl::Status AttachedProcess::Leave() {
  SampleByEvents(false);
  if (HasEnded()) return absl::OkStatus();
  // It has ended, or has become another program by exec, which knows nothing of coz.
  const auto knows_coz = [this] {
    return injector_->image().IsStillThere() &&
           attach::FileNamed(attach::ReadMappings(pid_), "libcoz.so") != nullptr;
  };
  if (!knows_coz()) return absl::OkStatus();
  absl::Status ended = EndSignals();
  if (!ended.ok() && !knows_coz()) return absl::OkStatus();
  if (absl::IsFailedPrecondition(ended) && injector_->HasNewFilters()) {
    return absl::CancelledError(absl::StrFormat(
        "process %d keeps a handler of SIGTRAP, for it has limited its system calls, and a call of "
        "coz's might end it; the handler does nothing",
        pid_));
  }
  const bool are_out = !had_events_ || LetSamplesOut();
  for (const pid_t tid : unblocked_) LetSignalIn(pid_, tid, false);
  const bool are_over = AwaitLastSamples(pid_) && are_out && ended.ok();
  if (absl::Status left = injector_->Leave(are_over); !left.ok()) {
    return HasEnded() || !knows_coz() ? absl::OkStatus() : left;
  }
  if (are_over) return absl::OkStatus();
  if (!ended.ok()) return ended;
  return absl::CancelledError(
      absl::StrFormat("process %d keeps a handler of SIGTRAP, for a sample may be on its way to a "
                      "thread that blocks that signal, or waits amid output; it does nothing, and "
                      "the next coz attach takes it away",
                      pid_));
}

}  // namespace coz::supervisor
