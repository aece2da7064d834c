#include "coz/testing/faults/attach_fault_run.h"

#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <mutex>
#include <thread>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "coz/base/clock.h"
#include "coz/base/file_text.h"
#include "coz/report/format/profile.pb.h"
#include "coz/report/format/profile_reader.h"
#include "coz/testing/faults/intercept.h"
#include "coz/testing/faults/watched_time.h"
#include "coz/testing/process_state.h"
#include "coz/testing/resident.h"

namespace coz::testing {
namespace {

constexpr int kLimitSeconds = 30;
constexpr int kAllCalls = -1;
// Of all that coz does, its first look into the memory of the process: no refusal comes any more.
constexpr int kFirstCallIntoProcess = SYS_process_vm_readv;

// Kills a process that has not ended in time, so that nobody waits for its answer.
class TimeLimit {
 public:
  explicit TimeLimit(pid_t pid)
      : thread_([this, pid] {
          std::unique_lock<std::mutex> lock(mutex_);
          const auto is_over = [this] { return is_over_; };
          WatchedTime time(MonotonicNowNs());
          constexpr std::chrono::milliseconds kLook(WatchedTime::kLookMs);
          while (!changed_.wait_for(lock, kLook, is_over)) {
            if (!time.IsOver(MonotonicNowNs(), 2 * kLimitSeconds)) continue;
            kill(pid, SIGKILL);
            break;
          }
        }) {}
  ~TimeLimit() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      is_over_ = true;
    }
    changed_.notify_one();
    thread_.join();
  }
  TimeLimit(const TimeLimit&) = delete;
  TimeLimit& operator=(const TimeLimit&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_over_ = false;
  std::thread thread_;
};

// A shell becomes it, in a folder, with its output in files.
std::vector<std::string> CommandIn(const std::string& folder, pid_t pid,
                                   const std::vector<std::string>& options) {
  std::vector<std::string> command = {
      "/bin/sh",
      "-c",
      R"(cd "$0" && XDG_CACHE_HOME=cache exec "$@" >output 2>errors </dev/null)",
      folder,
      File("tools/coz"),
      "attach",
      "--experiment-length=0.05",
      "--duration=0.4"};
  command.insert(command.end(), options.begin(), options.end());
  command.push_back(absl::StrCat(pid));
  return command;
}

// The innermost return addresses.
std::string PlaceOf(const std::string& stack) {
  constexpr size_t kMost = 6;
  std::vector<std::string> words = absl::StrSplit(stack, ' ', absl::SkipEmpty());
  words.resize(std::min(words.size(), kMost));
  return absl::StrJoin(words, " ");
}

uint64_t RunTimeNs(const std::string& path) {
  const absl::StatusOr<report::ReadResult> read = report::ReadProfile(path);
  const bool has_end = read.ok() && read->profile.session_end_size() == 1;
  return has_end ? read->profile.session_end(0).run_time_ns() : 0;
}

bool IsOfProcess(Caller caller) {
  return caller == Caller::kRuntime || caller == Caller::kInjected;
}

// One run, in which a call of the command or of the process may fail.
class AttachRun {
 public:
  AttachRun(const std::vector<std::string>& options, bool of_process, const Fault* fault,
            bool by_place = false)
      : options_(options),
        by_place_(by_place),
        of_process_(of_process),
        fault_(fault),
        number_(fault == nullptr ? kAllCalls : fault->number) {}

  // Before the call of the fault.
  void SetWait(std::chrono::milliseconds wait) { wait_ = wait; }
  AttachOutcome Run();
  std::map<std::pair<Caller, int>, std::set<int>> Calls() const;

 private:
  int OnCallOfCommand(const InterceptedCall& call);
  // The error for it.
  int Note(Caller caller, const InterceptedCall& call, const Callers& callers);
  void ShowCallsOfProcess();

  const std::vector<std::string> options_;
  const bool by_place_;
  const bool of_process_;
  const Fault* const fault_;
  const int number_;
  std::chrono::milliseconds wait_{0};
  Callers command_ = Callers(File("tools/coz"));
  Callers process_ = Callers("");
  std::unique_ptr<Resident> resident_;
  std::unique_ptr<ShownCalls> shown_;
  std::map<std::pair<Caller, int>, int> calls_;
  // The first by where it comes from.
  std::map<std::pair<Caller, int>, std::map<std::string, int>> places_;
  AttachOutcome outcome_;
};

int AttachRun::Note(Caller caller, const InterceptedCall& call, const Callers& callers) {
  const int number = call.number == SYS_ptrace
                         ? PtraceRequest(static_cast<int>(call.first_argument))
                         : call.number;
  const int nth = ++calls_[{caller, number}];
  if (fault_ == nullptr) {
    const std::string place = by_place_ ? PlaceOf(callers.Stack(call)) : "";
    places_[{caller, number}].emplace(place, nth);
  }
  if (fault_ == nullptr || caller != fault_->caller || number != fault_->number ||
      nth != fault_->nth) {
    return 0;
  }
  std::this_thread::sleep_for(wait_);
  outcome_.coz.was_made = true;
  outcome_.coz.stack = callers.Stack(call);
  return fault_->error;
}

void AttachRun::ShowCallsOfProcess() {
  const std::string answer = resident_->Ask(absl::StrCat("show ", number_ % kNumbersEnd, "\n"));
  if (answer.empty()) return;
  const int listener = atoi(answer.c_str());
  shown_ =
      std::make_unique<ShownCalls>(resident_->pid(), listener, [this](const InterceptedCall& call) {
        return Note(process_.OfAttached(call), call, process_);
      });
  outcome_.before = StateFromOutside(resident_->pid(), File("coz/testing/puppets/resident"));
}

int AttachRun::OnCallOfCommand(const InterceptedCall& call) {
  const Caller caller = command_.Of(call);
  if (!of_process_) return Note(caller, call, command_);
  if (caller == Caller::kSupervisor && call.number == kFirstCallIntoProcess && shown_ == nullptr) {
    ShowCallsOfProcess();
  }
  return 0;
}

AttachOutcome AttachRun::Run() {
  const std::string folder = TemporaryFolder();
  resident_ = std::make_unique<Resident>(
      std::vector<std::string>{File("coz/testing/puppets/resident"), "4", "300"});
  auto limit = std::make_unique<TimeLimit>(resident_->pid());
  resident_->Line();
  outcome_.before = StateFromOutside(resident_->pid(), File("coz/testing/puppets/resident"));
  const std::vector<int> numbers = of_process_            ? std::vector<int>{kFirstCallIntoProcess}
                                   : number_ == kAllCalls ? std::vector<int>{}
                                                          : std::vector<int>{number_ % kNumbersEnd};
  const Intercepted ended =
      Intercept(CommandIn(folder, resident_->pid(), options_), numbers, kLimitSeconds,
                [this](const InterceptedCall& call) { return OnCallOfCommand(call); });
  CommandResult& result = outcome_.coz.result;
  if (WIFEXITED(ended.wait_status)) result.status = WEXITSTATUS(ended.wait_status);
  if (WIFSIGNALED(ended.wait_status)) result.signal = WTERMSIG(ended.wait_status);
  result.output = FileText(folder + "/output");
  result.errors = FileText(folder + "/errors");
  outcome_.coz.timed_out = ended.timed_out;
  outcome_.waits = ended.waits;
  outcome_.coz.has_profile = IsProfile(folder + "/profile.pb");
  outcome_.run_time_ns = RunTimeNs(folder + "/profile.pb");
  outcome_.after = StateFromOutside(resident_->pid(), File("coz/testing/puppets/resident"));
  outcome_.last_words = resident_->End(&outcome_.wait_status);
  limit.reset();
  shown_.reset();
  RunCommand({"rm", "-r", folder});
  return outcome_;
}

std::map<std::pair<Caller, int>, std::set<int>> AttachRun::Calls() const {
  constexpr size_t kMostPlaces = 12;
  std::map<std::pair<Caller, int>, std::set<int>> calls;
  for (const auto& [call, places] : places_) {
    std::set<int>& nths = calls[call];
    for (const auto& [place, nth] : places) nths.insert(nth);
    while (nths.size() > kMostPlaces) nths.erase(std::prev(nths.end()));
    nths.insert(calls_.at(call));
  }
  return calls;
}

// Sentences that tell more than that all is well.
int Explanations(const std::string& errors) {
  int count = 0;
  for (const auto line : absl::StrSplit(errors, '\n')) {
    count += absl::StartsWith(line, "coz: ") && !absl::StrContains(line, "runs on as before");
  }
  return count;
}

}  // namespace

AttachOutcome AttachWithFault(const Fault& fault, const std::vector<std::string>& options) {
  return AttachRun(options, IsOfProcess(fault.caller), &fault).Run();
}

AttachOutcome AttachSlowly(std::chrono::milliseconds wait) {
  const Fault none = {Caller::kInjected, SYS_rt_sigaction, 0, 1};
  AttachRun run({}, /*of_process=*/true, &none);
  run.SetWait(wait);
  return run.Run();
}

std::map<std::pair<Caller, int>, std::set<int>> CallsOfAttach(
    bool of_process, bool by_place, const std::vector<std::string>& options) {
  AttachRun run(options, of_process, nullptr, by_place);
  run.Run();
  return run.Calls();
}

std::string WhatIsWrong(const AttachOutcome& outcome) {
  // What is not sampled, the change to CPU timers, what has failed, and that it runs on.
  constexpr int kMostLines = 4;
  const CommandResult& result = outcome.coz.result;
  if (WIFSIGNALED(outcome.wait_status)) {
    return absl::StrCat("the process ends with signal ", WTERMSIG(outcome.wait_status));
  }
  if (outcome.wait_status != 0 || outcome.last_words != "right\n") {
    return absl::StrCat("the process ends with ", outcome.last_words);
  }
  if (outcome.coz.timed_out) return "coz does not end: " + outcome.waits;
  if (result.signal != 0) return absl::StrCat("coz ends with signal ", result.signal);
  if (IsCrash(result.errors)) return "coz crashes";
  const bool explains = Explanations(result.errors) > 0;
  if (outcome.after != outcome.before && !explains) {
    return absl::StrCat("the process is not as it was, and nothing is said: ", outcome.before,
                        "and then: ", outcome.after);
  }
  if (result.status != 0 && !explains) return "coz refuses without a sentence";
  if (!outcome.coz.has_profile && !explains) return "there is no profile, and nothing is said";
  return LinesOfCoz(result.errors) > kMostLines ? "it says more than four things" : "";
}

}  // namespace coz::testing
