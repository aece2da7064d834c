#include "coz/supervisor/target/attached_tree.h"

#include <linux/kcmp.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <map>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "coz/attach/process_view.h"

namespace coz::supervisor {
namespace {

// Of a process that forks without end.
constexpr int kMostRounds = 50;

// Numbers of all processes, by that of the parent.
std::multimap<pid_t, pid_t> ReadChildren() {
  std::multimap<pid_t, pid_t> children;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    pid_t pid = 0;
    if (!absl::SimpleAtoi(entry.path().filename().string(), &pid)) continue;
    const attach::StatusFields status = attach::ReadStatus(pid);
    if (status.empty()) continue;
    children.emplace(static_cast<pid_t>(attach::NumberIn(status, "PPid", 0)), pid);
  }
  return children;
}

// Parents before their children.
std::vector<pid_t> DescendantsOf(pid_t pid) {
  const std::multimap<pid_t, pid_t> children = ReadChildren();
  std::vector<pid_t> all = {pid};
  for (size_t i = 0; i < all.size(); ++i) {
    const auto [begin, end] = children.equal_range(all[i]);
    for (auto child = begin; child != end; ++child) all.push_back(child->second);
  }
  all.erase(all.begin());
  return all;
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
  return parent != 0 && syscall(SYS_kcmp, pid, parent, KCMP_VM, 0, 0) == 0;
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
  absl::Status joined = processes_.front().Join(control);
  options_.exclude_kernel = control->exclude_kernel != 0;
  return joined;
}

absl::Status AttachedTree::JoinOne(pid_t pid, int control_fd) {
  const absl::StatusOr<RunningProgram> program = FindRunningProgram(pid, options_.runtime_library);
  if (!program.ok()) return program.status();
  absl::StatusOr<AttachedProcess> process = AttachedProcess::Prepare(pid, options_, control_fd);
  if (!process.ok()) return process.status();
  if (absl::Status joined = process->JoinToo(control_); !joined.ok()) return joined;
  processes_.push_back(*std::move(process));
  return absl::OkStatus();
}

std::vector<std::string> AttachedTree::JoinDescendants(int control_fd) {
  std::vector<std::string> refused;
  const pid_t first = processes_.front().pid();
  bool is_new = true;
  for (int round = 0; is_new && round < kMostRounds; ++round) {
    is_new = false;
    for (const pid_t pid : DescendantsOf(first)) {
      if (seen_.count(pid) != 0) continue;
      is_new = true;
      if (SharesMemoryWithParent(pid)) continue;
      seen_.insert(pid);
      const absl::Status joined = JoinOne(pid, control_fd);
      if (!joined.ok() && IsThere(pid)) refused.emplace_back(joined.message());
    }
  }
  return refused;
}

std::vector<pid_t> AttachedTree::Running() const {
  std::vector<pid_t> running;
  for (const AttachedProcess& process : processes_) {
    if (!process.HasEnded()) running.push_back(process.pid());
  }
  return running;
}

std::string AttachedTree::TakeThreadsWithoutSamples() {
  constexpr size_t kMostNames = 3;
  if (has_told_of_threads_) return "";
  size_t count = 0;
  std::set<std::string> names;
  for (const AttachedProcess& process : processes_) {
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
  for (AttachedProcess& process : processes_) process.Poll();
}

void AttachedTree::SetSampling(bool on) {
  for (AttachedProcess& process : processes_) process.SetSampling(on);
}

std::string AttachedTree::WhyNotChangeCode(pid_t pid) {
  AttachedProcess* const process = Find(pid);
  return process == nullptr ? "it has ended" : process->WhyNotChangeCode();
}

void AttachedTree::ChangeCode(pid_t pid) {
  if (AttachedProcess* const process = Find(pid)) process->ChangeCode();
}

absl::Status AttachedTree::Leave() {
  absl::Status all = absl::OkStatus();
  for (AttachedProcess& process : processes_) all.Update(process.Leave());
  return all;
}

}  // namespace coz::supervisor
