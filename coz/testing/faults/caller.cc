#include "coz/testing/faults/caller.h"

#include <fcntl.h>
#include <limits.h>
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

pid_t ProcessOf(pid_t tid) {
  std::ifstream status(absl::StrCat("/proc/", tid, "/status"));
  std::string line;
  while (std::getline(status, line)) {
    if (absl::StartsWith(line, "Tgid:")) return atoi(line.c_str() + 5);
  }
  return 0;
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
    case Caller::kProgram:
      break;
  }
  return "program";
}

bool CallerNamed(const std::string& name, Caller* caller) {
  for (const Caller one :
       {Caller::kSupervisor, Caller::kStarter, Caller::kRuntime, Caller::kProgram}) {
    *caller = one;
    if (name == Name(one)) return true;
  }
  return false;
}

Callers::Callers(const std::string& command_file) {
  char path[PATH_MAX];
  if (realpath(command_file.c_str(), path) != nullptr) command_file_ = path;
}

Caller Callers::Of(const InterceptedCall& call) {
  pid_t& process = process_of_[call.tid];
  if (process == 0) process = ProcessOf(call.tid);
  const bool is_command = FileOf(process) == command_file_;
  if (is_command && supervisor_ == 0) supervisor_ = process;
  if (supervisor_ == 0 || (!is_command && IsPassedOn(call.number))) return Caller::kProgram;
  const std::vector<Code> code = CodeOf(process);
  const Code* at = CodeAt(code, call.ip);
  if (at == nullptr || absl::EndsWith(at->file, kLoader)) return Caller::kProgram;
  if (is_command) return process == supervisor_ ? Caller::kSupervisor : Caller::kStarter;
  if (absl::EndsWith(at->file, kRuntime)) return Caller::kRuntime;
  for (const uint64_t word : StackOf(call.tid)) {
    at = CodeAt(code, word);
    if (at == nullptr) continue;
    return absl::EndsWith(at->file, kRuntime) ? Caller::kRuntime : Caller::kProgram;
  }
  return Caller::kProgram;
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
