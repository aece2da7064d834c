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
#include "coz/base/clock.h"
#include "coz/base/signal_mask.h"
#include "coz/shared/slot_loops.h"

namespace coz::supervisor {
namespace {

// How often no new thread is found before none is sought.
constexpr int kLooksForThreads = 5;

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
  UniqueFd pidfd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  if (pidfd.ok()) return pidfd;
  const int error = errno;
  return absl::UnavailableError(
      absl::StrFormat("cannot attach to process %d: it cannot be watched (pidfd_open: %s); %s", pid,
                      strerror(error),
                      error == EMFILE ? std::string("let coz open more files with: ulimit -n 1024")
                                      : absl::StrFormat("see: ps %d", pid)));
}

bool LetsSignalIn(pid_t pid, pid_t tid) {
  const attach::StatusFields status = attach::ReadThreadStatus(pid, tid);
  return (attach::SignalsIn(status, "SigBlk") & SignalMaskOf(SIGTRAP)) == 0;
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

// The events are closed. A signal that one has raised before is delivered before its thread runs
// any code of the program. So none is under way once each thread has slept or run since.
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
    if (runnable.empty()) return !HasPendingSample(pid);
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
  auto events = std::make_unique<ThreadEvents>();
  absl::Status opened = events->Open(pid, options.sampling_period_ns, options.exclude_kernel);
  if (!opened.ok()) return opened;
  attach::InjectorOptions injected;
  injected.library = options.runtime_library;
  injected.control = control;
  injected.on_step = options.on_step;
  absl::StatusOr<std::unique_ptr<attach::Injector>> injector =
      attach::Injector::Prepare(pid, injected);
  if (!injector.ok()) return injector.status();
  return AttachedProcess(pid, *std::move(pidfd), *std::move(injector), std::move(events));
}

// It may be in an exec already: then no sample may come. See shared::kWithoutEvents.
absl::StatusOr<AttachedProcess> AttachedProcess::Adopt(pid_t pid, shared::ProcessSlot* slot,
                                                       const Options& options,
                                                       shared::ControlBlock* control) {
  absl::StatusOr<UniqueFd> pidfd = OpenPidfd(pid);
  if (!pidfd.ok()) return pidfd.status();
  auto events = std::make_unique<ThreadEvents>();
  attach::InjectorOptions injected;
  injected.library = options.runtime_library;
  injected.on_step = options.on_step;
  slot->armed.store(slot->image.load(std::memory_order_relaxed) + 1);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  absl::Status opened = events->Open(pid, options.sampling_period_ns, options.exclude_kernel);
  if (!opened.ok()) return opened;
  AttachedProcess process(pid, *std::move(pidfd), attach::Injector::Adopt(pid, injected),
                          std::move(events));
  process.control_ = control;
  process.is_adopted_ = true;
  process.Poll();
  if (!process.is_in_exec_) process.SetSampling(true);
  return process;
}

bool AttachedProcess::HasEnded() const {
  pollfd fd = {pidfd_.get(), POLLIN, 0};
  return poll(&fd, 1, 0) == 1;
}

absl::Status AttachedProcess::Join(shared::ControlBlock* control) {
  control->exclude_kernel = events_->status().kernel_included ? 0 : 1;
  control->target_pid.store(pid_, std::memory_order_release);
  if (absl::Status joined = JoinToo(control); !joined.ok()) return joined;
  control->sampler_status = events_->status();
  control->sampler_ready.fetch_add(1, std::memory_order_release);
  return absl::OkStatus();
}

absl::Status AttachedProcess::JoinToo(shared::ControlBlock* control) {
  control_ = control;
  if (absl::Status joined = injector_->Join(); !joined.ok()) return joined;
  events_->LookForThreads();
  events_->Enable();
  return absl::OkStatus();
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

void AttachedProcess::Poll() {
  if (HasEnded()) return;
  if (looks_without_thread_ < kLooksForThreads) {
    looks_without_thread_ = events_->LookForThreads() ? 0 : looks_without_thread_ + 1;
  }
  shared::ProcessSlot* const slot = Slot();
  if (slot == nullptr) return;
  const bool is_in_exec =
      slot->state.load(std::memory_order_acquire) == shared::ProcessState::kChanging;
  if (is_in_exec == is_in_exec_) return;
  is_in_exec_ = is_in_exec;
  if (is_in_exec) {
    events_->Disable();
    slot->armed.store(shared::kArmedForExec, std::memory_order_release);
  } else {
    slot->armed.store(slot->image.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    if (!is_suspended_) events_->Enable();
  }
}

void AttachedProcess::SetSampling(bool on) {
  is_suspended_ = !on;
  if (is_in_exec_) return;
  if (on) {
    events_->Enable();
  } else {
    events_->Disable();
  }
}

std::string AttachedProcess::WhyNotChangeCode() {
  constexpr timespec kLook = {0, 2 * kNsPerMs};
  constexpr int kMostLooks = 2500;
  constexpr int kMostInVain = 50;
  if (!changes_code_) {
    const absl::Status prepared = injector_->ChangeCode(/*is_first=*/true);
    if (!prepared.ok()) return std::string(prepared.message());
    changes_code_ = true;
    restores_code_ = true;
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
  return absl::StrFormat("its thread %d blocks SIGTRAP", blocking.begin()->first);
}

// A thread that cannot be stopped now answers with its next sample.
void AttachedProcess::ChangeCode() { (void)injector_->ChangeCode(/*is_first=*/false); }

// Nobody asks any more. A thread may be at what was asked for last.
absl::Status AttachedProcess::RestoreCode() {
  constexpr timespec kLook = {0, kNsPerMs};
  constexpr int kMostLooks = 1000;
  if (!restores_code_) return absl::OkStatus();
  std::atomic<shared::PatchRequestState>& state = control_->patch_request.state;
  auto asked = shared::PatchRequestState::kAsked;
  state.compare_exchange_strong(asked, shared::PatchRequestState::kFree);
  for (int i = 0; i < kMostLooks && state.load() == shared::PatchRequestState::kTaken; ++i) {
    nanosleep(&kLook, nullptr);
  }
  return injector_->RestoreCode();
}

absl::Status AttachedProcess::Leave() {
  events_->Disable();
  events_->Close();
  if (HasEnded()) return absl::OkStatus();
  // It has ended, or has become another program by exec, which knows nothing of coz.
  const std::vector<attach::Mapping> mappings = attach::ReadMappings(pid_);
  if (attach::FileNamed(mappings, "libcoz.so") == nullptr) return absl::OkStatus();
  absl::Status restored = RestoreCode();
  const bool are_over = AwaitLastSamples(pid_) && restored.ok();
  if (absl::Status left = injector_->Leave(are_over); !left.ok()) {
    return HasEnded() ? absl::OkStatus() : left;
  }
  if (are_over) return absl::OkStatus();
  if (!restored.ok()) return restored;
  return absl::UnavailableError(
      absl::StrFormat("process %d keeps a handler of SIGTRAP, for one of its threads blocks that "
                      "signal while a sample "
                      "is on its way; it does nothing, and the next coz attach takes it away",
                      pid_));
}

}  // namespace coz::supervisor
