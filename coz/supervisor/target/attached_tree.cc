#include "coz/supervisor/target/attached_tree.h"

#include <linux/kcmp.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <iterator>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "coz/attach/process_view.h"
#include "coz/base/clock.h"
#include "coz/base/spared_calls.h"
#include "coz/shared/slot_loops.h"
#include "coz/supervisor/target/descendants.h"

namespace coz::supervisor {
namespace {

// Of a process that forks without end.
constexpr int kMostRounds = 50;

// An even number that no thread of a process remembers from an earlier session, in which the count
// grew more slowly than this does with time; not 0, which threads remember that were never sampled.
uint32_t FreshSuspensions() {
  const auto count = static_cast<uint32_t>(MonotonicNowNs() / kNsPerMs) * 2;
  return count == 0 ? 2 : count;
}

bool IsThere(pid_t pid) {
  const attach::StatusFields status = attach::ReadStatus(pid);
  const auto state = status.find("State");
  return state != status.end() && !absl::StartsWith(state->second, "Z") &&
         !absl::StartsWith(state->second, "X");
}

// It has not become another program yet, or never will.
bool SharesMemoryWithParent(pid_t pid) {
  const auto parent = attach::NumberIn(attach::ReadStatus(pid), "PPid", 0);
  return parent != 0 && SparedCall<SYS_kcmp>(pid, parent, KCMP_VM, 0, 0) == 0;
}

}  // namespace

absl::StatusOr<AttachedTree> AttachedTree::Prepare(pid_t pid,
                                                   const AttachedProcess::Options& options) {
  absl::StatusOr<AttachedProcess> first = AttachedProcess::Prepare(pid, options);
  if (!first.ok()) return first.status();
  AttachedTree tree(options);
  tree.processes_.push_back(*std::move(first));
  tree.seen_.insert({pid, getpid()});
  return tree;
}

absl::Status AttachedTree::Join(shared::ControlBlock* control) {
  control_ = control;
  control->suspensions.store(FreshSuspensions());
  absl::Status joined = processes_.front().Join(control);
  options_.exclude_kernel = control->exclude_kernel != 0;
  if (options_.source != sampler::SamplingSource::kCpuClock) {
    options_.source = control->use_cpu_timers.load() != 0 ? sampler::SamplingSource::kCpuTimer
                                                          : sampler::SamplingSource::kPerfSigtrap;
  }
  return joined;
}

absl::Status AttachedTree::JoinOne(pid_t pid, int control_fd, double limit_s) {
  if (Adopt(pid)) return absl::OkStatus();
  const absl::StatusOr<RunningProgram> program = FindRunningProgram(pid, options_.runtime_library);
  if (!program.ok()) return program.status();
  AttachedProcess::Options options = options_;
  options.join_limit_s = limit_s;
  absl::StatusOr<AttachedProcess> process = AttachedProcess::Prepare(pid, options, control_fd);
  if (!process.ok()) return process.status();
  if (absl::Status joined = process->JoinToo(control_); !joined.ok()) return joined;
  processes_.push_back(*std::move(process));
  return absl::OkStatus();
}

// A process that is in the block by itself. False where it is not: samples would end it, as no
// handler is there.
bool AttachedTree::Adopt(pid_t pid) {
  if (Find(pid) != nullptr) return true;
  const uint64_t now_ns = MonotonicNowNs();
  shared::ProcessSlot* found = nullptr;
  shared::ForEachProcess(*control_, [&](shared::ProcessSlot& slot, uint32_t index) {
    const bool is_there =
        slot.state.load(std::memory_order_acquire) == shared::ProcessState::kRunning;
    if (is_there && slot.pid == pid && members_.Has(*control_, index, pid, now_ns)) found = &slot;
    return found == nullptr;
  });
  if (found == nullptr) return false;
  absl::StatusOr<AttachedProcess> process = AttachedProcess::Adopt(pid, found, options_, control_);
  if (!process.ok()) return false;
  if (is_suspended_) process->SetSampling(false);
  processes_.push_back(*std::move(process));
  return true;
}

// One that is in an exec before it is adopted has no event, and need not wait.
void AttachedTree::AdoptForked() {
  std::vector<pid_t> all;
  shared::ForEachProcess(*control_, [&](shared::ProcessSlot& slot) {
    const shared::ProcessState state = slot.state.load(std::memory_order_acquire);
    if (state == shared::ProcessState::kRunning) all.push_back(slot.pid);
    if (state == shared::ProcessState::kChanging && Find(slot.pid) == nullptr) {
      slot.armed.store(shared::kArmedForExec, std::memory_order_release);
    }
  });
  for (const pid_t pid : all) (void)Adopt(pid);
}

// Until none is about to join any more, or is killed amid that.
void AttachedTree::AwaitForked() const {
  constexpr timespec kLook = {0, kNsPerMs};
  constexpr int kMostLooks = 1000;
  std::atomic_thread_fence(std::memory_order_seq_cst);
  for (int i = 0; i < kMostLooks; ++i) {
    bool is_joining = false;
    shared::ForEachProcess(*control_, [&is_joining](const shared::ProcessSlot& slot) {
      is_joining |=
          slot.state.load(std::memory_order_acquire) == shared::ProcessState::kBeingWritten;
    });
    if (!is_joining) return;
    nanosleep(&kLook, nullptr);
  }
}

// Of a server that forks for each request there are many. The first one's end is the profile's.
void AttachedTree::ForgetEnded() {
  for (auto process = processes_.begin() + 1; process != processes_.end();) {
    process = process->HasEnded() ? processes_.erase(process) : std::next(process);
  }
}

std::vector<std::string> AttachedTree::JoinDescendants(int control_fd) {
  constexpr double kForAllS = 15;
  constexpr double kLeastForOneS = 0.2;
  std::vector<std::string> refused;
  const pid_t first = processes_.front().pid();
  const uint64_t begin_ns = MonotonicNowNs();
  bool is_new = true;
  for (int round = 0; is_new && round < kMostRounds; ++round) {
    is_new = false;
    for (const pid_t pid : DescendantsOf(first)) {
      if (seen_.count(pid) != 0) continue;
      is_new = true;
      if (SharesMemoryWithParent(pid)) continue;
      seen_.insert(pid);
      const double passed_s = static_cast<double>(MonotonicNowNs() - begin_ns) / 1e9;
      const double limit_s = std::clamp(kForAllS - passed_s, kLeastForOneS, options_.join_limit_s);
      const attach::ProgramImage image(pid);
      absl::Status joined = JoinOne(pid, control_fd, limit_s);
      // A shell that has been looked at may have become what it was to start.
      if (!joined.ok() && !image.IsStillThere()) joined = JoinOne(pid, control_fd, limit_s);
      // One that was being forked may have joined meanwhile.
      if (!joined.ok() && !Adopt(pid) && IsThere(pid)) refused.emplace_back(joined.message());
    }
  }
  return refused;
}

std::vector<pid_t> AttachedTree::Running() const {
  std::vector<pid_t> running;
  for (const AttachedProcess& process : processes_) {
    if (!process.HasEnded() && !process.has_left_by_exec()) running.push_back(process.pid());
  }
  return running;
}

std::vector<pid_t> AttachedTree::TakeReplaced() {
  std::vector<pid_t> replaced;
  for (const AttachedProcess& process : processes_) {
    if (!process.has_left_by_exec() || process.is_adopted()) continue;
    if (replaced_.insert(process.pid()).second) replaced.push_back(process.pid());
  }
  return replaced;
}

std::string AttachedTree::TakeThreadsWithoutSamples() {
  constexpr size_t kMostNames = 3;
  if (has_told_of_threads_) return "";
  size_t count = 0;
  std::set<std::string> names;
  for (const AttachedProcess& process : processes_) {
    if (!process.knows_threads() && process.is_adopted()) continue;  // there may always be one
    if (!process.knows_threads()) return "";
    for (const std::string& name : process.threads_without_samples()) {
      ++count;
      if (names.size() < kMostNames) names.insert(name);
    }
  }
  has_told_of_threads_ = true;
  if (count == 0) return "";
  return absl::StrFormat(
      "%d thread%s SIGTRAP, by which samples come, and %s not sampled: %s; to see all: grep SigBlk "
      "/proc/%d/task/*/status",
      count, count == 1 ? " blocks" : "s block", count == 1 ? "is" : "are",
      absl::StrJoin(names, ", "), processes_.front().pid());
}

AttachedProcess* AttachedTree::Find(pid_t pid) {
  for (AttachedProcess& process : processes_) {
    if (process.pid() == pid && !process.HasEnded()) return &process;
  }
  return nullptr;
}

void AttachedTree::Poll() {
  ForgetEnded();
  AdoptForked();
  for (AttachedProcess& process : processes_) process.Poll();
}

void AttachedTree::SetSampling(bool on) {
  is_suspended_ = !on;
  for (AttachedProcess& process : processes_) process.SetSampling(on);
}

// Those that join meanwhile by themselves see the block's word first, or are seen here.
bool AttachedTree::ChangeToCpuTimers() {
  control_->use_cpu_timers.store(1);
  options_.source = sampler::SamplingSource::kCpuTimer;
  AdoptForked();
  if (!processes_.front().ChangeToCpuTimers()) {
    control_->use_cpu_timers.store(0);
    options_.source = sampler::SamplingSource::kPerfSigtrap;
    return false;
  }
  for (AttachedProcess& process : processes_) (void)process.ChangeToCpuTimers();
  return true;
}

bool AttachedTree::ChangeToCpuClock(const sampler::ClockExpiry& expiry) {
  AdoptForked();
  if (!processes_.front().ChangeToCpuClock(expiry)) return false;
  options_.source = sampler::SamplingSource::kCpuClock;
  options_.expiry = expiry;
  for (AttachedProcess& process : processes_) (void)process.ChangeToCpuClock(expiry);
  return true;
}

std::string AttachedTree::WhyNotChangeCode(pid_t pid) {
  AttachedProcess* const process = Adopt(pid) ? Find(pid) : nullptr;
  return process == nullptr ? "it has ended" : process->WhyNotChangeCode();
}

bool AttachedTree::IsRunning(pid_t pid) const { return IsThere(pid); }

void AttachedTree::ChangeCode(pid_t pid) {
  if (AttachedProcess* const process = Find(pid)) process->ChangeCode();
}

pid_t AttachedTree::Stopped() const {
  const std::vector<pid_t> running = Running();
  const auto stopped = std::find_if(running.begin(), running.end(), [](pid_t pid) {
    return attach::IsStopped(attach::ReadStatus(pid));
  });
  return stopped == running.end() ? 0 : *stopped;
}

absl::Status AttachedTree::Leave() {
  absl::Status all = absl::OkStatus();
  AwaitForked();
  AdoptForked();
  for (AttachedProcess& process : processes_) {
    process.LookForExec();
    const absl::Status left = process.Leave();
    if (all.ok() || (absl::IsCancelled(all) && !left.ok())) all = left;
  }
  return all;
}

}  // namespace coz::supervisor
