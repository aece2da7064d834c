#include "coz/testing/faults/caller.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "coz/base/unique_fd.h"

namespace coz::testing {
namespace {

constexpr char kRuntime[] = "/libcoz.so";
constexpr char kLoader[] = "/ld-linux-x86-64.so.2";

struct Code {
  uint64_t begin;
  uint64_t end;
  uint64_t offset;
  std::string file;
};

// The executable mappings.
std::vector<Code> CodeOf(pid_t pid) {
  std::vector<Code> all;
  std::ifstream maps(absl::StrCat("/proc/", pid, "/maps"));
  std::string line;
  while (std::getline(maps, line)) {
    unsigned long begin, end, offset;
    char rights[5] = "", file[PATH_MAX] = "";
    if (sscanf(line.c_str(), "%lx-%lx %4s %lx %*s %*s %4095s", &begin, &end, rights, &offset,
               file) < 4 ||
        rights[2] != 'x') {
      continue;
    }
    all.push_back({begin, end, offset, file});
  }
  return all;
}

const Code* CodeAt(const std::vector<Code>& all, uint64_t address) {
  for (const Code& code : all) {
    if (code.begin <= address && address < code.end) return &code;
  }
  return nullptr;
}

// The field of that name, with its colon, of a thread's status.
std::string FieldOf(pid_t tid, const std::string& name) {
  std::ifstream status(absl::StrCat("/proc/", tid, "/status"));
  std::string line;
  while (std::getline(status, line)) {
    if (absl::StartsWith(line, name)) return line.substr(name.size());
  }
  return "";
}

// But for SIGSYS and those that cannot be blocked.
bool BlocksAllSignals(pid_t tid) {
  constexpr uint64_t kNotBlocked =
      uint64_t{1} << (SIGKILL - 1) | uint64_t{1} << (SIGSTOP - 1) | uint64_t{1} << (SIGSYS - 1);
  return (strtoull(FieldOf(tid, "SigBlk:").c_str(), nullptr, 16) | kNotBlocked) == ~uint64_t{0};
}

std::string FileOf(pid_t pid) {
  char path[PATH_MAX];
  const ssize_t length = readlink(absl::StrCat("/proc/", pid, "/exe").c_str(), path, sizeof(path));
  return std::string(path, length > 0 ? static_cast<size_t>(length) : 0);
}

// From the stack pointer on.
std::vector<uint64_t> StackOf(pid_t tid) {
  std::ifstream file(absl::StrCat("/proc/", tid, "/syscall"));
  std::string text, line;
  std::getline(file, line);
  unsigned long sp = 0;
  sscanf(line.c_str(), "%*s %*s %*s %*s %*s %*s %*s %lx", &sp);
  std::vector<uint64_t> words(512);
  const UniqueFd memory(open(absl::StrCat("/proc/", tid, "/mem").c_str(), O_RDONLY | O_CLOEXEC));
  const ssize_t bytes =
      pread(memory.get(), words.data(), words.size() * sizeof(uint64_t), static_cast<off_t>(sp));
  words.resize(bytes > 0 ? static_cast<size_t>(bytes) / sizeof(uint64_t) : 0);
  return words;
}

bool IsOfRuntime(const InterceptedCall& call, const std::vector<Code>& code) {
  const Code* at = CodeAt(code, call.ip);
  if (at == nullptr || absl::EndsWith(at->file, kLoader)) return false;
  if (absl::EndsWith(at->file, kRuntime)) return true;
  for (const uint64_t word : StackOf(call.tid)) {
    at = CodeAt(code, word);
    if (at != nullptr) return absl::EndsWith(at->file, kRuntime);
  }
  return false;
}

bool IsPassedOn(int number) {
  switch (number) {
    case SYS_clone:
    case SYS_clone3:
    case SYS_fork:
    case SYS_vfork:
    case SYS_execve:
    case SYS_execveat:
    case SYS_exit:
    case SYS_exit_group:
    case SYS_rt_sigreturn:
      return true;
    default:
      return false;
  }
}

}  // namespace

const char* Name(Caller caller) {
  switch (caller) {
    case Caller::kSupervisor:
      return "supervisor";
    case Caller::kStarter:
      return "starter";
    case Caller::kRuntime:
      return "runtime";
    case Caller::kInjected:
      return "injected";
    case Caller::kProgram:
      break;
  }
  return "program";
}

bool CallerNamed(const std::string& name, Caller* caller) {
  for (const Caller one : {Caller::kSupervisor, Caller::kStarter, Caller::kRuntime,
                           Caller::kInjected, Caller::kProgram}) {
    *caller = one;
    if (name == Name(one)) return true;
  }
  return false;
}

Callers::Callers(const std::string& command_file) {
  char path[PATH_MAX];
  if (realpath(command_file.c_str(), path) != nullptr) command_file_ = path;
}

pid_t Callers::ProcessOf(pid_t tid) {
  pid_t& process = process_of_[tid];
  if (process == 0) process = atoi(FieldOf(tid, "Tgid:").c_str());
  return process;
}

Caller Callers::Of(const InterceptedCall& call) {
  const pid_t process = ProcessOf(call.tid);
  if (first_process_ == 0) first_process_ = process;
  const bool is_command = FileOf(process) == command_file_;
  if (!is_command && IsPassedOn(call.number)) return Caller::kProgram;
  const std::vector<Code> code = CodeOf(process);
  const Code* const at = CodeAt(code, call.ip);
  if (at == nullptr || absl::EndsWith(at->file, kLoader)) return Caller::kProgram;
  if (is_command) return process == first_process_ ? Caller::kSupervisor : Caller::kStarter;
  return IsOfRuntime(call, code) ? Caller::kRuntime : Caller::kProgram;
}

Caller Callers::OfAttached(const InterceptedCall& call) {
  if (IsPassedOn(call.number)) return Caller::kProgram;
  if (IsOfRuntime(call, CodeOf(ProcessOf(call.tid)))) return Caller::kRuntime;
  return BlocksAllSignals(call.tid) ? Caller::kInjected : Caller::kProgram;
}

std::string Callers::Stack(const InterceptedCall& call) const {
  constexpr int kMost = 12;
  const auto process = process_of_.find(call.tid);
  if (process == process_of_.end()) return "";
  const std::vector<Code> code = CodeOf(process->second);
  std::vector<uint64_t> words = StackOf(call.tid);
  words.insert(words.begin(), call.ip);
  std::string text;
  int count = 0;
  for (const uint64_t word : words) {
    const Code* at = CodeAt(code, word);
    if (at == nullptr || count++ == kMost) continue;
    absl::StrAppendFormat(&text, " %s+%#x", at->file.substr(at->file.rfind('/') + 1),
                          word - at->begin + at->offset);
  }
  return text;
}

}  // namespace coz::testing
