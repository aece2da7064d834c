#include "coz/attach/refusals.h"

#include <elf.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <fstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "coz/base/file_text.h"

namespace coz::attach {
namespace {

template <typename... Arguments>
std::string Refusal(const Facts& facts, const absl::FormatSpec<Arguments...>& why,
                    const Arguments&... arguments) {
  const auto name = facts.status.find("Name");
  return absl::StrCat("cannot attach to process ", facts.pid,
                      name == facts.status.end() ? "" : absl::StrCat(" (", name->second, ")"), ": ",
                      absl::StrFormat(why, arguments...));
}

char StateOf(const Facts& facts) {
  const auto state = facts.status.find("State");
  return state == facts.status.end() || state->second.empty() ? '?' : state->second.front();
}

absl::Status CheckReadable(const Facts& facts) {
  if (facts.unreadable.empty()) return absl::OkStatus();
  return absl::UnavailableError(Refusal(facts, "%s cannot be read: %s; see: ls -l %s",
                                        facts.unreadable, strerror(facts.unreadable_errno),
                                        facts.unreadable));
}

absl::Status CheckState(const Facts& facts) {
  if (facts.status.empty()) {
    if (absl::Status status = CheckReadable(facts); !status.ok()) return status;
    return absl::NotFoundError(absl::StrFormat(
        "cannot attach to process %d: there is none of this number; list them with: ps -e",
        facts.pid));
  }
  const int64_t process = NumberIn(facts.status, "Tgid", facts.pid);
  if (process != facts.pid) {
    return absl::InvalidArgumentError(
        Refusal(facts, "it is a thread of process %d; type: coz attach %d", process, process));
  }
  switch (StateOf(facts)) {
    case 'Z':
    case 'X':
      return absl::FailedPreconditionError(Refusal(
          facts, "it has ended, and process %d has not asked how yet; list what runs with: ps -e",
          NumberIn(facts.status, "PPid", 0)));
    case 'T':
      return absl::FailedPreconditionError(
          Refusal(facts, "it is stopped; let it go on with: kill -CONT %d", facts.pid));
    default:
      break;
  }
  if (facts.status.count("VmSize") == 0) {
    constexpr int64_t kThreadMaker = 2;  // kthreadd, which makes all threads of the kernel
    if (facts.pid == kThreadMaker || NumberIn(facts.status, "PPid", 0) == kThreadMaker) {
      return absl::InvalidArgumentError(
          Refusal(facts, "it is a part of the kernel; list programs with: ps -e"));
    }
    return absl::FailedPreconditionError(
        Refusal(facts, "it is about to end; list what runs with: ps -e"));
  }
  const int64_t tracer = NumberIn(facts.status, "TracerPid", 0);
  if (tracer != 0) {
    return absl::FailedPreconditionError(
        Refusal(facts, "process %d traces it (gdb or strace?); end that first, see: ps %d", tracer,
                tracer));
  }
  return absl::OkStatus();
}

// Real, effective and saved user, as the status file has them.
std::vector<int64_t> UsersOf(const Facts& facts) {
  std::vector<int64_t> users;
  const auto field = facts.status.find("Uid");
  if (field == facts.status.end()) return users;
  for (absl::string_view user : absl::StrSplit(field->second, '\t')) {
    users.push_back(strtoll(std::string(user).c_str(), nullptr, 10));
  }
  return users;
}

// For whom "sudo" is no way out.
absl::Status CannotTraceAsRoot(const Facts& facts) {
  const uint64_t more = SignalsIn(facts.status, "CapPrm") & ~facts.our_capabilities;
  if (more != 0) {
    return absl::PermissionDeniedError(Refusal(
        facts,
        "it has capabilities that you lack, though you are root (0x%x), and so must not be traced; "
        "see: grep Cap /proc/%d/status /proc/self/status",
        more, facts.pid));
  }
  if (facts.yama_scope.value_or(0) == 3) {
    return absl::PermissionDeniedError(Refusal(
        facts,
        "kernel.yama.ptrace_scope is 3, which forbids it to root, too, until the machine is "
        "restarted; see: sysctl kernel.yama.ptrace_scope"));
  }
  return absl::PermissionDeniedError(
      Refusal(facts,
              "the kernel forbids even root to trace it (a container without CAP_SYS_PTRACE, or a "
              "security module); run coz outside, and see: grep CapEff /proc/self/status"));
}

absl::Status CheckRights(const Facts& facts) {
  const std::vector<int64_t> users = UsersOf(facts);
  const auto other = std::find_if(users.begin(), users.end(),
                                  [&users](int64_t user) { return user != users.front(); });
  if (other != users.end()) {
    return absl::PermissionDeniedError(Refusal(
        facts,
        "it runs with rights of two users (%d and %d), as set-user-ID programs do and services "
        "that may take back root's rights, and these must not get libraries from outside; run a "
        "copy as one user: coz run --- PROGRAM",
        users.front(), *other));
  }
  if (facts.may_trace) return absl::OkStatus();
  if (facts.our_uid == 0) return CannotTraceAsRoot(facts);
  if (!users.empty() && users[0] != facts.our_uid) {
    return absl::PermissionDeniedError(
        Refusal(facts, "it belongs to user %d and you are user %d; type: sudo coz attach %d",
                users[0], facts.our_uid, facts.pid));
  }
  if (facts.yama_scope.value_or(0) != 0) {
    return absl::PermissionDeniedError(Refusal(
        facts, "kernel.yama.ptrace_scope is %d, which forbids it; type: sudo coz attach %d%s",
        *facts.yama_scope, facts.pid,
        *facts.yama_scope == 3 ? ", after a restart of the machine with another value"
                               : ", or allow it to all: sudo sysctl kernel.yama.ptrace_scope=0"));
  }
  return absl::PermissionDeniedError(Refusal(
      facts,
      "the kernel does not let you trace it (it has more rights than you, or is in a container "
      "that forbids it); type: sudo coz attach %d",
      facts.pid));
}

absl::Status CheckFilters(const Facts& facts) {
  const int64_t mode = NumberIn(facts.status, "Seccomp", 0);
  const bool may_be_judged =
      mode == SECCOMP_MODE_FILTER && (facts.may_read_filters || HasOnlyFiltersOfContainer(facts));
  if (mode == SECCOMP_MODE_DISABLED || may_be_judged) return absl::OkStatus();
  return absl::FailedPreconditionError(
      Refusal(facts,
              "it has restricted its own system calls (Seccomp: %d), and might be killed for one "
              "of coz's; %s",
              mode,
              mode == SECCOMP_MODE_FILTER
                  ? absl::StrCat("root can see whether it would be: sudo coz attach ", facts.pid)
                  : "start it without that under: coz run --- PROGRAM"));
}

absl::Status CheckSurroundings(const Facts& facts, const std::string& library) {
  if (!facts.is_in_our_pid_namespace) {
    return absl::FailedPreconditionError(Refusal(
        facts,
        "it is in another PID namespace (a container); run coz in there, for example: docker exec "
        "CONTAINER coz attach PID"));
  }
  if (!facts.sees_library && facts.root != "/" && !facts.root.empty()) {
    return absl::FailedPreconditionError(
        Refusal(facts,
                "it has changed its root folder to %s (chroot), where it cannot load %s; start it "
                "with: coz run --- PROGRAM",
                facts.root, library));
  }
  if (!facts.sees_library) {
    return absl::FailedPreconditionError(Refusal(facts,
                                                 "it does not see %s as this command does (another "
                                                 "root folder or mounts); copy coz to where "
                                                 "it does, and see: ls -l /proc/%d/root%s",
                                                 library, facts.pid, library));
  }
  if (absl::Status status = CheckFilters(facts); !status.ok()) return status;
  const auto features = facts.status.find("x86_Thread_features");
  if (features != facts.status.end() && absl::StrContains(features->second, "shstk")) {
    return absl::UnimplementedError(
        Refusal(facts,
                "it has a shadow stack, which forbids calls from outside; start it with: "
                "GLIBC_TUNABLES=glibc.cpu.x86_shstk=off"));
  }
  return absl::OkStatus();
}

absl::Status CheckProgram(const Facts& facts) {
  Elf64_Ehdr head = {};
  memcpy(&head, facts.elf_head.data(), std::min(sizeof(head), facts.elf_head.size()));
  if (facts.elf_head.size() < sizeof(head) || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0) {
    return absl::FailedPreconditionError(
        Refusal(facts, "its program cannot be read (%s); see: ls -l /proc/%d/exe", facts.executable,
                facts.pid));
  }
  if (head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_machine != EM_X86_64) {
    return absl::UnimplementedError(
        Refusal(facts, "it is not a 64-bit program for x86-64; see: file %s", facts.executable));
  }
  const std::vector<Mapping>& mappings = facts.mappings;
  if (FileNamed(mappings, "libc.so.6") != nullptr) return absl::OkStatus();
  for (const Mapping& mapping : mappings) {
    if (absl::StrContains(mapping.path, "/ld-musl") ||
        absl::StrContains(mapping.path, "/libc.musl")) {
      return absl::UnimplementedError(Refusal(
          facts, "its C library is musl (%s), and libcoz.so is for glibc; build it for glibc",
          mapping.path));
    }
  }
  return absl::UnimplementedError(Refusal(
      facts,
      "it is statically linked, so that no library can be loaded into it; link it without -static "
      "or -static-pie, and see: ldd %s",
      facts.executable));
}

absl::Status CheckLibraries(const Facts& facts, const std::string& library) {
  for (const char* sanitizer : {"libasan.so", "libtsan.so", "libmsan.so", "libclang_rt."}) {
    for (const Mapping& mapping : facts.mappings) {
      if (!absl::StrContains(mapping.path, absl::StrCat("/", sanitizer))) continue;
      return absl::UnimplementedError(
          Refusal(facts,
                  "it runs with a sanitizer (%s), which has to be loaded last; start it with: coz "
                  "run --- PROGRAM",
                  mapping.path));
    }
  }
  struct stat ours = {};
  stat(library.c_str(), &ours);
  for (const Mapping& mapping : facts.mappings) {
    if (!absl::StrContains(mapping.path, "/libcoz.so") || mapping.inode == ours.st_ino) continue;
    return absl::FailedPreconditionError(Refusal(
        facts,
        "it has already loaded another libcoz.so (%s); attach with the coz command that it came "
        "with, or start the program afresh",
        mapping.path));
  }
  return absl::OkStatus();
}

std::string LinkAt(const std::string& path) {
  char target[PATH_MAX];
  const ssize_t length = readlink(path.c_str(), target, sizeof(target));
  return length <= 0 ? "" : std::string(target, static_cast<size_t>(length));
}

std::optional<int> ReadYamaScope() {
  std::ifstream file("/proc/sys/kernel/yama/ptrace_scope");
  int scope = 0;
  if (!(file >> scope)) return std::nullopt;
  return scope;
}

// Tries it: a thread that is seized does not notice.
bool MayTrace(pid_t pid) {
  if (ptrace(PTRACE_SEIZE, pid, nullptr, nullptr) != 0) return false;
  // It is let go where it is stopped only, so a moment's stop; or by the end of whoever traces.
  return true;
}

// In a process of its own, whose end lets the thread go without a stop.
bool MayTraceBriefly(pid_t pid) {
  const pid_t child = fork();
  if (child == 0) _exit(MayTrace(pid) ? 0 : 1);
  int status = 0;
  pid_t waited = 0;
  do {
    waited = waitpid(child, &status, 0);
  } while (waited < 0 && errno == EINTR);
  if (child < 0 || waited < 0) return true;  // it will be found out
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

void NoteUnreadable(const std::string& path, int error, Facts* facts) {
  facts->unreadable = path;
  facts->unreadable_errno = error;
}

// Of one that is not there, nothing is noted. In a sandbox whose root is a folder of a process that
// has ended there is nothing.
bool LookAt(const std::string& path, struct stat* status, Facts* facts) {
  if (stat(path.c_str(), status) == 0) return true;
  if (errno != ENOENT && errno != ENOTDIR && errno != ESRCH) NoteUnreadable(path, errno, facts);
  return false;
}

bool IsSameFile(const std::string& one, const std::string& other, Facts* facts) {
  struct stat a;
  struct stat b;
  return LookAt(one, &a, facts) && LookAt(other, &b, facts) && a.st_dev == b.st_dev &&
         a.st_ino == b.st_ino;
}

// Whether it was killed, or ends, and cannot stay for long.
bool IsEnding(const StatusFields& status) {
  if (status.empty() || status.count("VmSize") == 0) return true;
  constexpr uint64_t kKilled = uint64_t{1} << (SIGKILL - 1);
  return ((SignalsIn(status, "SigPnd") | SignalsIn(status, "ShdPnd")) & kKilled) != 0;
}

// A tracer that is killed lets its process go as one of the last things that it does.
void AwaitEndingTracer(pid_t pid, StatusFields* status) {
  constexpr timespec kBetweenLooks = {0, 1'000'000};
  constexpr int kMostLooks = 5000;
  for (int i = 0; i < kMostLooks; ++i) {
    const int64_t tracer = NumberIn(*status, "TracerPid", 0);
    if (tracer == 0 || !IsEnding(ReadStatus(static_cast<pid_t>(tracer)))) return;
    nanosleep(&kBetweenLooks, nullptr);
    *status = ReadStatus(pid);
  }
}

}  // namespace

bool HasOnlyFiltersOfContainer(const Facts& facts) {
  return facts.container_filters > 0 &&
         NumberIn(facts.status, "Seccomp_filters", 0) == facts.container_filters;
}

Facts GatherFacts(pid_t pid, const std::string& library) {
  Facts facts;
  facts.pid = pid;
  const std::string folder = absl::StrFormat("/proc/%d", pid);
  errno = 0;
  const std::string status = FileText(folder + "/status");
  if (const int error = errno; status.empty() && (kill(pid, 0) == 0 || errno != ESRCH)) {
    NoteUnreadable(folder + "/status", error, &facts);
  }
  facts.status = ParseStatus(status);
  AwaitEndingTracer(pid, &facts.status);
  if (!CheckState(facts).ok()) return facts;
  facts.our_uid = geteuid();
  const StatusFields ours = ReadStatus(getpid());
  facts.our_capabilities = SignalsIn(ours, "CapEff");
  facts.may_read_filters = (facts.our_capabilities >> CAP_SYS_ADMIN & 1) != 0 &&
                           NumberIn(ours, "Seccomp", 0) == SECCOMP_MODE_DISABLED;
  facts.container_filters = NumberIn(ReadStatus(1), "Seccomp_filters", 0);
  facts.yama_scope = ReadYamaScope();
  facts.may_trace = MayTraceBriefly(pid);
  facts.executable = LinkAt(folder + "/exe");
  if (facts.executable.empty()) NoteUnreadable(folder + "/exe", errno, &facts);
  errno = 0;
  std::ifstream executable(folder + "/exe", std::ios::binary);
  if (!executable) NoteUnreadable(folder + "/exe", errno, &facts);
  facts.elf_head.resize(sizeof(Elf64_Ehdr));
  executable.read(facts.elf_head.data(), static_cast<std::streamsize>(facts.elf_head.size()));
  facts.elf_head.resize(static_cast<size_t>(std::max<std::streamsize>(0, executable.gcount())));
  errno = 0;
  const std::string mappings = FileText(folder + "/maps");
  if (mappings.empty()) NoteUnreadable(folder + "/maps", errno, &facts);
  facts.mappings = ParseMappings(mappings);
  const std::string space = LinkAt(folder + "/ns/pid");
  if (space.empty()) NoteUnreadable(folder + "/ns/pid", errno, &facts);
  const std::string our_space = LinkAt("/proc/self/ns/pid");
  if (our_space.empty()) NoteUnreadable("/proc/self/ns/pid", errno, &facts);
  facts.is_in_our_pid_namespace = space == our_space;
  facts.root = LinkAt(folder + "/root");
  facts.sees_library = IsSameFile(folder + "/root" + library, library, &facts);
  return facts;
}

absl::Status WhyNotAttach(const Facts& facts, const std::string& library) {
  if (absl::Status status = CheckState(facts); !status.ok()) return status;
  if (absl::Status status = CheckRights(facts); !status.ok()) return status;
  if (absl::Status status = CheckReadable(facts); !status.ok()) return status;
  if (absl::Status status = CheckProgram(facts); !status.ok()) return status;
  if (absl::Status status = CheckSurroundings(facts, library); !status.ok()) return status;
  return CheckLibraries(facts, library);
}

}  // namespace coz::attach
