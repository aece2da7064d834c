#include "coz/testing/faults/fault_run.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <set>
#include <sstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "coz/report/format/profile_reader.h"

namespace coz::testing {
namespace {

constexpr int kLimitSeconds = 30;
constexpr char kProgramOutput[] = "hello\nbye\n";

// clang-format off
#define COZ_CALLS(V) \
  V(read) V(write) V(open) V(close) V(stat) V(fstat) V(lstat) V(poll) V(lseek) V(mmap) \
  V(mprotect) V(munmap) V(brk) V(rt_sigaction) V(rt_sigprocmask) V(ioctl) V(pread64) \
  V(pwrite64) V(access) V(mremap) V(madvise) V(nanosleep) V(socket) V(bind) V(listen) V(clone) \
  V(execve) V(wait4) V(kill) V(uname) V(fcntl) V(flock) V(fsync) V(ftruncate) V(getcwd) \
  V(rename) V(mkdir) V(unlink) V(readlink) V(getrusage) V(prctl) V(arch_prctl) V(futex) \
  V(sched_setaffinity) V(sched_getaffinity) V(getdents64) V(set_tid_address) V(timer_create) \
  V(timer_settime) V(timer_delete) V(clock_gettime) V(clock_nanosleep) V(openat) V(newfstatat) \
  V(ppoll) V(set_robust_list) V(signalfd4) V(pipe2) V(perf_event_open) V(prlimit64) \
  V(getrandom) V(memfd_create) V(rseq) V(pidfd_open) V(clone3) V(faccessat2) V(statx) \
  V(sched_getscheduler) V(ptrace) V(process_vm_readv) V(pidfd_getfd) V(sendmsg) V(socketpair) \
  V(recvmsg) V(setrlimit) V(getpriority) V(setpriority)
// clang-format on

std::string CallName(int number) {
  if (number >= kNumbersEnd) return absl::StrFormat("ptrace(%#x)", number / kNumbersEnd);
#define COZ_NAME(name) \
  if (number == SYS_##name) return #name;
  COZ_CALLS(COZ_NAME)
#undef COZ_NAME
  return absl::StrCat(number);
}

std::vector<std::string> Command(const std::string& folder, const std::vector<std::string>& how,
                                 const std::vector<std::string>& options) {
  std::vector<std::string> command = {File("coz/testing/faults/fail_call"), folder + "/report",
                                      absl::StrCat(kLimitSeconds)};
  command.insert(command.end(), how.begin(), how.end());
  command.insert(command.end(), {File("tools/coz"), "run", "--experiment-length=0.05"});
  command.insert(command.end(), options.begin(), options.end());
  command.insert(command.end(), {"---", File("coz/testing/puppets/busy"), "0.4"});
  return command;
}

CommandOptions OptionsIn(const std::string& folder) {
  CommandOptions options;
  options.folder = folder;
  options.environment = {absl::StrCat("XDG_CACHE_HOME=", folder, "/cache")};
  return options;
}

}  // namespace

std::string File(const std::string& name) {
  char path[PATH_MAX];
  const std::string file = RunfilePath(name);
  return realpath(file.c_str(), path) != nullptr ? path : file;
}

bool IsProfile(const std::string& path) {
  const absl::StatusOr<report::ReadResult> read = report::ReadProfile(path);
  if (!read.ok() || read->profile.session_end_size() != 1) return false;
  uint64_t samples = 0;
  for (const profile::Experiment& experiment : read->profile.experiment()) {
    for (const auto count : experiment.unit_samples()) samples += count;
  }
  return samples != 0;
}

bool IsCrash(const std::string& errors) {
  for (const char* word :
       {"terminate called", "Aborted", "Assertion", "Sanitizer", "unexpected error code",
        "stack smashing", "Segmentation", "runtime error", "Check fail"}) {
    if (absl::StrContains(errors, word)) return true;
  }
  return false;
}

int LinesOfCoz(const std::string& errors) {
  int lines = 0;
  for (const auto line : absl::StrSplit(errors, '\n')) lines += absl::StartsWith(line, "coz: ");
  return lines;
}

std::string Describe(const Fault& fault) {
  return absl::StrCat(Name(fault.caller), " ", CallName(fault.number), " ",
                      strerrorname_np(fault.error), " ", fault.nth);
}

FaultOutcome RunWithFault(const Fault& fault, const std::vector<std::string>& options) {
  const std::string folder = TemporaryFolder();
  FaultOutcome outcome;
  outcome.result = RunCommand(Command(folder,
                                      {Name(fault.caller), absl::StrCat(fault.number),
                                       absl::StrCat(fault.error), absl::StrCat(fault.nth)},
                                      options),
                              OptionsIn(folder));
  std::ifstream report(folder + "/report");
  std::string line;
  while (std::getline(report, line)) {
    outcome.timed_out |= line == "killed";
    if (!absl::StartsWith(line, "failed")) continue;
    outcome.was_made = true;
    outcome.stack = line.substr(strlen("failed"));
  }
  outcome.has_profile = IsProfile(folder + "/profile.pb");
  RunCommand({"rm", "-r", folder});
  return outcome;
}

std::map<std::pair<Caller, int>, int> CountCalls(const std::vector<std::string>& options) {
  const std::string folder = TemporaryFolder();
  (void)RunCommand(Command(folder, {"count"}, options), OptionsIn(folder));
  std::map<std::pair<Caller, int>, int> calls;
  std::ifstream report(folder + "/report");
  std::string word, caller_name;
  int number = 0, count = 0;
  while (report >> word >> caller_name >> number >> count) {
    Caller caller;
    if (CallerNamed(caller_name, &caller)) calls[{caller, number}] = count;
  }
  RunCommand({"rm", "-r", folder});
  return calls;
}

std::string WhatIsWrong(const FaultOutcome& outcome) {
  const CommandResult& result = outcome.result;
  if (outcome.timed_out) return "it does not end";
  if (result.signal != 0) return absl::StrCat("coz ends with signal ", result.signal);
  if (IsCrash(result.errors)) return "it crashes";
  const int lines = LinesOfCoz(result.errors);
  if (result.output.empty() && result.status >= 125 && result.status <= 127) {
    const bool is_loader = absl::StrContains(result.errors, "error while loading shared libraries");
    return lines == 1 || is_loader ? "" : "coz refuses without a sentence";
  }
  if (result.status != 0) return absl::StrCat("the status is ", result.status);
  if (result.output != kProgramOutput) return "the program prints something else";
  if (!outcome.has_profile && lines == 0) return "there is no profile, and nothing is said";
  return lines > 2 ? "it says more than two things" : "";
}

std::vector<int> ErrorsOf(int number) {
  // Without errors, or ones for which libc ends the process.
  static const std::set<int>* const kNone =
      new std::set<int>{SYS_getpid,      SYS_gettid,
                        SYS_getppid,     SYS_getuid,
                        SYS_geteuid,     SYS_getgid,
                        SYS_getegid,     SYS_exit,
                        SYS_exit_group,  SYS_rt_sigreturn,
                        SYS_arch_prctl,  SYS_set_tid_address,
                        SYS_sched_yield, SYS_set_robust_list,
                        SYS_umask,
                        SYS_brk,    // whose errors are no numbers
                        SYS_close,  // closes whatever it returns
                        SYS_futex,       SYS_rseq};
  static const std::set<int>* const kInterrupted = new std::set<int>{SYS_read,
                                                                     SYS_write,
                                                                     SYS_open,
                                                                     SYS_openat,
                                                                     SYS_poll,
                                                                     SYS_ppoll,
                                                                     SYS_wait4,
                                                                     SYS_flock,
                                                                     SYS_pwrite64,
                                                                     SYS_ftruncate,
                                                                     SYS_clock_nanosleep,
                                                                     SYS_pread64,
                                                                     SYS_nanosleep,
                                                                     SYS_epoll_wait};
  static const std::set<int>* const kDescriptors = new std::set<int>{
      SYS_open,  SYS_openat,     SYS_socket,      SYS_memfd_create, SYS_signalfd4,
      SYS_pipe2, SYS_pidfd_open, SYS_pidfd_getfd, SYS_fcntl,        SYS_perf_event_open};
  static const std::set<int>* const kStorage =
      new std::set<int>{SYS_write,  SYS_pwrite64, SYS_ftruncate, SYS_openat,
                        SYS_rename, SYS_mkdir,    SYS_fsync,     SYS_bind};
  if (kNone->count(number) != 0) return {};
  if (number == SYS_clone || number == SYS_clone3) return {EAGAIN, ENOMEM};
  // Where the thread has ended.
  if (number % kNumbersEnd == SYS_ptrace || number == SYS_process_vm_readv) return {EPERM, ESRCH};
  std::vector<int> errors = {EPERM, ENOMEM};
  if (kInterrupted->count(number) != 0) errors.push_back(EINTR);
  if (kDescriptors->count(number) != 0) errors.push_back(EMFILE);
  if (kStorage->count(number) != 0) errors.push_back(ENOSPC);
  return errors;
}

}  // namespace coz::testing
