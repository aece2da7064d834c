#include "coz/attach/injector.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "coz/attach/filter_verdict.h"
#include "coz/attach/process_view.h"
#include "coz/attach/refusals.h"
#include "coz/attach/safe_point.h"
#include "coz/base/clock.h"
#include "coz/base/names_in.h"
#include "coz/base/spared_calls.h"
#include "coz/shared/attach_interface.h"

// Called in the process: loads the library and calls a function of it. `Order` says where what
// lies.
asm(R"(
  .section .rodata
  .globl coz_attach_call_begin
  .hidden coz_attach_call_begin
coz_attach_call_begin:
  push %rbx
  push %r12
  push %r13
  mov %rdi, %rbx
  call *0(%rbx)
  mov %rax, %r12
  mov (%rax), %r13d
  mov 32(%rbx), %rdi
  mov 40(%rbx), %esi
  call *8(%rbx)
  mov %rax, 64(%rbx)
  test %rax, %rax
  je 1f
  mov %rax, %rdi
  mov 48(%rbx), %rsi
  call *16(%rbx)
  test %rax, %rax
  je 1f
  mov 56(%rbx), %rdi
  call *%rax
  mov %rax, 72(%rbx)
  jmp 2f
1:
  call *24(%rbx)
  mov %rax, 80(%rbx)
2:
  mov %r13d, (%r12)
  movq $1, 88(%rbx)
  pop %r13
  pop %r12
  pop %rbx
  ret
  .globl coz_attach_call_end
  .hidden coz_attach_call_end
coz_attach_call_end:
  .text
)");
extern "C" const char coz_attach_call_begin[];
extern "C" const char coz_attach_call_end[];

namespace coz::attach {
namespace {

constexpr char kControlName[] = "coz-control";
constexpr uint64_t kCodeBytes = 4096;
constexpr uint64_t kRoomBytes = 1 << 19;
// Of the room, below the stack.
constexpr uint64_t kOrderBytes = 8192;

// The process keeps errno.
struct Order {
  uint64_t errno_location;
  uint64_t dlopen;
  uint64_t dlsym;
  uint64_t dlerror;
  uint64_t path;  // address
  uint64_t flags;
  uint64_t function;  // address of its name
  int64_t argument;
  uint64_t handle;
  int64_t answer;
  uint64_t error;  // address of a text; 0: none
  uint64_t is_done;
  char function_name[64];
  char path_text[4000];
};
static_assert(offsetof(Order, path) == 32 && offsetof(Order, argument) == 56);
static_assert(offsetof(Order, error) == 80 && offsetof(Order, is_done) == 88);
static_assert(sizeof(Order) <= kOrderBytes);

double NowS() { return static_cast<double>(MonotonicNowNs()) / 1e9; }

// Those that wait for something outside first: a stop disturbs them least, and they mostly are
// where a library can be loaded. Each is looked at once, since it may wait the one time and run the
// other, which no sort would survive.
std::vector<pid_t> InOrderOfHope(pid_t pid) {
  std::vector<pid_t> threads = ReadThreads(pid);
  std::stable_partition(threads.begin(), threads.end(), [pid](pid_t tid) {
    const int64_t call = ReadSleepingCall(pid, tid).number;
    return IsWaitForOutside(call) || call == SYS_restart_syscall;
  });
  return threads;
}

// Also of one that nobody has waited for. Without a descriptor for it nobody knows.
bool HasEnded(const UniqueFd& pidfd) {
  pollfd fd = {pidfd.get(), POLLIN, 0};
  return poll(&fd, 1, 0) == 1;
}

absl::Status DivertsCallsError(pid_t pid, pid_t tid) {
  return absl::FailedPreconditionError(absl::StrFormat(
      "cannot attach to process %d: its thread %d diverts system calls "
      "(PR_SET_SYSCALL_USER_DISPATCH), and would divert those of coz; list other processes with: "
      "ps -e",
      pid, tid));
}

// A start script, say, that has become the server.
absl::Status OtherProgramError(pid_t pid) {
  return absl::UnavailableError(absl::StrFormat(
      "process %d has begun another program (exec); try again: coz attach %d", pid, pid));
}

absl::Status StoppedError(pid_t pid) {
  return absl::UnavailableError(
      absl::StrFormat("process %d is stopped; let it go on with: kill -CONT %d", pid, pid));
}

std::string EndedText(pid_t pid) {
  return absl::StrFormat("process %d has ended; see: ps %d", pid, pid);
}

std::string Explain(int64_t packed, pid_t pid) {
  const shared::AttachAnswer answer = shared::AnswerIn(packed);
  switch (answer) {
    case shared::AttachAnswer::kDone:
      break;
    case shared::AttachAnswer::kInProfile:
      return "another coz profiles it; end that first, see: pgrep -a coz";
    case shared::AttachAnswer::kPreloaded:
      return "it was started by coz run, which cannot be joined; start it without coz";
    case shared::AttachAnswer::kOtherVersion:
      return "it has loaded libcoz.so of another version; start it afresh, or attach with the coz "
             "command that the library came with";
    case shared::AttachAnswer::kNoMemory:
      return absl::StrFormat(
          "it cannot map 1 GiB of memory shared with coz (mmap: %s); where `prlimit --as --pid %d` "
          "shows a limit on its address space, lift it with: prlimit --as=unlimited --pid %d",
          strerror(shared::ErrnoIn(packed)), pid, pid);
    case shared::AttachAnswer::kNoFile:
      return absl::StrFormat(
          "it cannot look at the file shared with coz (fstat: %s); it may have closed it with "
          "others of its own, so try again: coz attach %d",
          strerror(shared::ErrnoIn(packed)), pid);
    case shared::AttachAnswer::kNoSlot:
      return "the profile has no room for it; try again";
    case shared::AttachAnswer::kNotAttached:
      return "it is not attached to";
    case shared::AttachAnswer::kCodeStays:
      return absl::StrFormat(
          "the system forbids it, so int3s stay, with their handler; restart it: ps %d", pid);
    case shared::AttachAnswer::kOtherPoints:
      return absl::StrFormat(
          "its marks count where other processes of the profile count theirs, since it was "
          "attached to alone before; attach to it alone again: coz attach %d",
          pid);
    case shared::AttachAnswer::kNoHandler:
      return absl::StrFormat(
          "the system refused it a handler of SIGTRAP; look for a filter of system calls with: "
          "grep Seccomp /proc/%d/status",
          pid);
  }
  return absl::StrFormat("libcoz.so answered %d in it", packed);
}

}  // namespace

Injector::Injector(pid_t pid, const InjectorOptions& options)
    : pid_(pid), options_(options), image_(pid) {}

// The process has a descriptor of the control block until it has joined.
Injector::~Injector() {
  if (control_there_ < 0) return;
  absl::StatusOr<TracedThread> thread = StopSafely();
  if (!thread.ok()) return;
  const auto fd = static_cast<uint64_t>(control_there_);
  (void)thread->Call(gadgets_, {SYS_close, {fd, 0, 0, 0, 0, 0}});
}

absl::StatusOr<std::unique_ptr<Injector>> Injector::Prepare(pid_t pid,
                                                            const InjectorOptions& options) {
  std::unique_ptr<Injector> injector(new Injector(pid, options));
  const Facts facts = GatherFacts(pid, options.library);
  if (absl::Status refused = WhyNotAttach(facts, options.library); !refused.ok()) return refused;
  injector->had_filters_ = NumberIn(facts.status, "Seccomp", 0) != 0;
  if (absl::Status found = injector->FindFunctions(); !found.ok()) return found;
  const absl::Status made = options.control < 0 ? injector->MakeControl() : injector->SendControl();
  if (!made.ok()) return made;
  return injector;
}

std::unique_ptr<Injector> Injector::Adopt(pid_t pid, const InjectorOptions& options) {
  std::unique_ptr<Injector> injector(new Injector(pid, options));
  injector->has_joined_ = true;
  return injector;
}

absl::Status Injector::FindFunctions() {
  const std::vector<Mapping> mappings = ReadMappings(pid_);
  const Mapping* const libc = FileNamed(mappings, "libc.so.6");
  if (libc == nullptr) {
    return absl::UnavailableError(absl::StrFormat(
        "cannot attach to process %d: its C library is gone; see: ps %d", pid_, pid_));
  }
  const std::map<std::string, uint64_t> offsets =
      ExportedFunctions(absl::StrFormat("/proc/%d/root%s", pid_, libc->path),
                        {"__errno_location", "dlopen", "dlsym", "dlerror"});
  if (offsets.count("__errno_location") == 0) {
    return absl::UnavailableError(absl::StrFormat(
        "cannot attach to process %d: its C library cannot be read; see: ls -l /proc/%d/root%s",
        pid_, pid_, libc->path));
  }
  if (offsets.size() != 4) {
    return absl::UnimplementedError(absl::StrFormat(
        "cannot attach to process %d: its C library (%s) is older than glibc 2.34, and has no "
        "dlopen in it; start the program with: coz run --- PROGRAM",
        pid_, libc->path));
  }
  functions_ = {libc->begin + offsets.at("__errno_location"), libc->begin + offsets.at("dlopen"),
                libc->begin + offsets.at("dlsym"), libc->begin + offsets.at("dlerror")};
  for (const Mapping& mapping : mappings) {
    if (!mapping.is_executable || mapping.inode != libc->inode) continue;
    const absl::StatusOr<Gadgets> gadgets = FindGadgets(pid_, mapping.begin, mapping.end);
    if (!gadgets.ok()) {
      return absl::UnavailableError(absl::StrFormat(
          "cannot attach to process %d: its memory cannot be read: %s; see: ls -l /proc/%d/mem",
          pid_, gadgets.status().message(), pid_));
    }
    gadgets_ = *gadgets;
  }
  if (gadgets_.syscall_return == 0 || gadgets_.sigreturn == 0) {
    return absl::UnimplementedError(absl::StrFormat(
        "cannot attach to process %d: its C library (%s) has not the code that is used for it; "
        "start the program with: coz run --- PROGRAM",
        pid_, libc->path));
  }
  return absl::OkStatus();
}

absl::Status Injector::JudgeFilters(const TracedThread& thread) {
  const int64_t count = CountFiltersOf(pid_, thread.tid());
  if (judged_filters_ == count) return absl::OkStatus();
  FilterFacts facts = {pid_, thread.tid(), CountFilters(pid_)};
  facts.has_only_filters_of_container =
      count > 0 && count == NumberIn(ReadStatus(1), "Seccomp_filters", 0);
  if (count > 0) facts.filters = thread.CallFilters();
  // Who may not see filters takes one that has come since Prepare looked, and before any call, for
  // harmless: the program had hardly the time to limit itself.
  const bool is_first = !judged_filters_.has_value() && !had_filters_;
  if (is_first && !facts.filters.ok()) facts.filters = std::vector<CallFilter>();
  if (absl::Status refused = WhyNotUnderFilters(facts); !refused.ok()) return refused;
  judged_filters_ = count;
  return absl::OkStatus();
}

bool Injector::HasNewFilters() const {
  const int64_t judged = judged_filters_.value_or(0);
  const std::map<pid_t, int64_t> counts = CountFilters(pid_);
  return std::any_of(counts.begin(), counts.end(),
                     [judged](const auto& of_thread) { return of_thread.second != judged; });
}

// Tries one thread after the other until the time is up. Of threads that wait, few are disturbed.
absl::StatusOr<TracedThread> Injector::StopSafely() {
  constexpr size_t kMostInOneRound = 16;
  constexpr timespec kBetweenRounds = {0, 5 * kNsPerMs};
  constexpr double kLongestKeptS = 1;
  // Anew each time: once it has joined, its threads wait in libcoz.so. And now and then: a file of
  // the process that could not be read once is not looked at again.
  auto safe_points = std::make_unique<SafePoints>(pid_);
  double made_s = NowS();
  const double limit_s = has_joined_ ? options_.limit_s : options_.join_limit_s;
  const double deadline_s = made_s + limit_s;
  const UniqueFd pidfd(SparedCall<SYS_pidfd_open>(pid_, 0));
  if (!pidfd.ok() && errno == ESRCH) return absl::UnavailableError(EndedText(pid_));
  std::string last = "it has no thread";
  do {
    if (HasEnded(pidfd)) return absl::UnavailableError(EndedText(pid_));
    if (IsStopped(ReadStatus(pid_))) return StoppedError(pid_);
    std::vector<pid_t> threads = InOrderOfHope(pid_);
    threads.resize(std::min(threads.size(), kMostInOneRound));
    for (const pid_t tid : threads) {
      if (MayReturnAPart(ReadSleepingCall(pid_, tid))) {
        last = absl::StrFormat("thread %d: it waits amid output", tid);
        continue;
      }
      absl::StatusOr<TracedThread> thread = TracedThread::Stop(pid_, tid);
      if (!thread.ok()) {
        last = std::string(thread.status().message());
        continue;
      }
      if (!image_.IsStillThere()) return OtherProgramError(pid_);
      if (thread->DivertsCalls()) return DivertsCallsError(pid_, tid);
      const user_regs_struct& registers = thread->registers();
      const absl::Status safe = safe_points->Check(
          {tid, registers.rsp, registers.fs_base, thread->WaitingCall(), thread->WaitsForThread()});
      if (safe.ok()) {
        if (absl::Status judged = JudgeFilters(*thread); !judged.ok()) return judged;
        Step("stopped");
        return thread;
      }
      last = absl::StrFormat("thread %d: %s", tid, safe.message());
    }
    nanosleep(&kBetweenRounds, nullptr);
    if (NowS() - made_s > kLongestKeptS) {
      safe_points = std::make_unique<SafePoints>(pid_);
      made_s = NowS();
    }
  } while (NowS() < deadline_s);
  return absl::DeadlineExceededError(absl::StrFormat(
      "in %.2g s no thread of process %d came to where a library can be called safely (%s); try "
      "again: coz attach %d",
      limit_s, pid_, last, pid_));
}

absl::Status Injector::Borrow(TracedThread* thread, Room* room) const {
  const auto map = [&](uint64_t bytes, uint64_t protection) {
    const uint64_t no_file = ~uint64_t{0};
    return thread->Call(
        gadgets_, {SYS_mmap, {0, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS, no_file, 0}});
  };
  const absl::StatusOr<int64_t> code = map(kCodeBytes, PROT_READ | PROT_EXEC);
  if (!code.ok()) return code.status();
  if (*code > 0) room->code = static_cast<uint64_t>(*code);
  Step("code mapped");
  const absl::StatusOr<int64_t> data = map(kRoomBytes, PROT_READ | PROT_WRITE);
  if (!data.ok()) return data.status();
  if (*data > 0) room->data = static_cast<uint64_t>(*data);
  Step("room mapped");
  if (room->code == 0 || room->data == 0) {
    return absl::FailedPreconditionError(absl::StrFormat(
        "cannot attach to process %d: it may not map memory for code (%s); see: prlimit --pid %d",
        pid_, strerror(static_cast<int>(-std::min(*code, *data))), pid_));
  }
  const auto length = static_cast<size_t>(coz_attach_call_end - coz_attach_call_begin);
  if (!thread->Write(room->code, coz_attach_call_begin, length)) return CannotWrite();
  return absl::OkStatus();
}

void Injector::GiveBack(TracedThread* thread, const Room& room) const {
  if (room.data != 0) {
    (void)thread->Call(gadgets_, {SYS_munmap, {room.data, kRoomBytes, 0, 0, 0, 0}});
  }
  if (room.code != 0) {
    (void)thread->Call(gadgets_, {SYS_munmap, {room.code, kCodeBytes, 0, 0, 0, 0}});
  }
  Step("room given back");
}

// The process makes the file, and this one gets a descriptor of it. The other way round the process
// might not be permitted to open it.
absl::Status Injector::MakeControl() {
  absl::StatusOr<TracedThread> thread = StopSafely();
  if (!thread.ok()) return thread.status();
  Room room;
  absl::Status borrowed = Borrow(&*thread, &room);
  if (borrowed.ok() && !thread->Write(room.data, kControlName, sizeof(kControlName))) {
    borrowed = CannotWrite();
  }
  const absl::StatusOr<int64_t> made =
      borrowed.ok()
          ? thread->Call(gadgets_, {SYS_memfd_create,
                                    {room.data, MFD_CLOEXEC | MFD_ALLOW_SEALING, 0, 0, 0, 0}})
          : absl::StatusOr<int64_t>(borrowed);
  Step("control made");
  GiveBack(&*thread, room);
  if (!made.ok()) return made.status();
  if (*made == -EMFILE) {
    return absl::ResourceExhaustedError(absl::StrFormat(
        "cannot attach to process %d: it can open no more files; see: prlimit --nofile --pid %d",
        pid_, pid_));
  }
  if (*made == -EPERM || *made == -ENOSYS) {
    return absl::FailedPreconditionError(absl::StrFormat(
        "cannot attach to process %d: a filter of its system calls forbids it to make a file in "
        "memory (memfd_create: %s); start it without that sandbox under: coz run --- PROGRAM",
        pid_, strerror(static_cast<int>(-*made))));
  }
  if (*made < 0) {
    return absl::ResourceExhaustedError(absl::StrFormat(
        "cannot attach to process %d: it cannot make a file in memory (memfd_create: %s); start "
        "the program with: coz run --- PROGRAM",
        pid_, strerror(static_cast<int>(-*made))));
  }
  control_there_ = *made;
  const UniqueFd pidfd(SparedCall<SYS_pidfd_open>(pid_, 0));
  const int not_opened = errno;
  control_.Reset(SparedCall<SYS_pidfd_getfd>(pidfd.get(), control_there_, 0));
  if (control_.ok()) return absl::OkStatus();
  const int error = pidfd.ok() ? errno : not_opened;
  return absl::PermissionDeniedError(
      absl::StrFormat("cannot attach to process %d: its files cannot be shared (%s: %s); %s", pid_,
                      pidfd.ok() ? "pidfd_getfd" : "pidfd_open", strerror(error),
                      error == EMFILE ? "let coz open more with: ulimit -n 1024"
                                      : "see: grep CapEff /proc/self/status"));
}

// The process makes a pair of sockets, and gets the descriptor through it. Neither has to be
// permitted to open files of the other.
absl::Status Injector::SendControl() {
  absl::StatusOr<TracedThread> thread = StopSafely();
  if (!thread.ok()) return thread.status();
  Room room;
  const absl::Status borrowed = Borrow(&*thread, &room);
  const absl::StatusOr<int64_t> received =
      borrowed.ok() ? Receive(&*thread, room.data) : absl::StatusOr<int64_t>(borrowed);
  GiveBack(&*thread, room);
  if (!received.ok()) return received.status();
  if (*received < 0) {
    return absl::ResourceExhaustedError(absl::StrFormat(
        "cannot attach to process %d: it cannot get the file of the profile (%s); see: prlimit "
        "--nofile --pid %d",
        pid_, strerror(static_cast<int>(-*received)), pid_));
  }
  control_there_ = *received;
  return absl::OkStatus();
}

absl::StatusOr<int64_t> Injector::Receive(TracedThread* thread, uint64_t room) const {
  struct Parcel {
    int pair[2];
    msghdr message;
    iovec part;
    char byte;
    alignas(cmsghdr) char files[CMSG_SPACE(sizeof(int))];
  };
  const auto call = [&](int64_t number, uint64_t a, uint64_t b, uint64_t c, uint64_t d) {
    return thread->Call(gadgets_, {number, {a, b, c, d, 0, 0}});
  };
  absl::StatusOr<int64_t> made =
      call(SYS_socketpair, AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, room + offsetof(Parcel, pair));
  if (!made.ok() || *made < 0) return made;
  Step("sockets made");
  Parcel parcel = {};
  absl::StatusOr<int64_t> received = -EFAULT;
  if (!ReadMemory(pid_, room, &parcel.pair[0], sizeof(parcel.pair))) return received;
  const UniqueFd pidfd(SparedCall<SYS_pidfd_open>(pid_, 0));
  const UniqueFd here(SparedCall<SYS_pidfd_getfd>(pidfd.get(), parcel.pair[0], 0));
  parcel.part = {&parcel.byte, 1};
  parcel.message.msg_iov = &parcel.part;
  parcel.message.msg_iovlen = 1;
  parcel.message.msg_control = &parcel.files[0];
  parcel.message.msg_controllen = sizeof(parcel.files);
  cmsghdr* const files = CMSG_FIRSTHDR(&parcel.message);
  files->cmsg_level = SOL_SOCKET;
  files->cmsg_type = SCM_RIGHTS;
  files->cmsg_len = CMSG_LEN(sizeof(int));
  memcpy(CMSG_DATA(files), &options_.control, sizeof(int));
  const bool is_sent = here.ok() && sendmsg(here.get(), &parcel.message, 0) == 1;
  received = is_sent ? 0 : -errno;
  Step("control sent");
  if (is_sent) {
    // The same, with addresses there.
    const auto there = [room](size_t offset) { return reinterpret_cast<void*>(room + offset); };
    parcel.part.iov_base = there(offsetof(Parcel, byte));
    parcel.message.msg_iov = static_cast<iovec*>(there(offsetof(Parcel, part)));
    parcel.message.msg_control = there(offsetof(Parcel, files));
    memset(&parcel.files[0], 0, sizeof(parcel.files));
    received = thread->Write(room, &parcel, sizeof(parcel))
                   ? call(SYS_recvmsg, static_cast<uint64_t>(parcel.pair[1]),
                          room + offsetof(Parcel, message), MSG_CMSG_CLOEXEC | MSG_DONTWAIT, 0)
                   : absl::StatusOr<int64_t>(-EFAULT);
  }
  Step("control received");
  for (const int end : parcel.pair) {
    (void)call(SYS_close, static_cast<uint64_t>(end), 0, 0, 0);
    Step("socket closed");
  }
  if (!received.ok() || *received < 0) return received;
  if (!ReadMemory(pid_, room, &parcel, sizeof(parcel))) return -EFAULT;
  // Where it has no descriptor left, the message comes without one.
  if (parcel.message.msg_controllen < CMSG_LEN(sizeof(int))) return -EMFILE;
  int fd = -1;
  memcpy(&fd, &parcel.files[CMSG_LEN(0)], sizeof(fd));
  return fd;
}

absl::Status Injector::CannotWrite() const {
  return absl::UnavailableError(absl::StrFormat(
      "cannot attach to process %d: its memory cannot be written to: %s; see: ls -l /proc/%d/mem",
      pid_, strerror(errno), pid_));
}

absl::Status Injector::CannotRead() const {
  if (errno == ESRCH) return absl::UnavailableError(EndedText(pid_));
  return absl::UnavailableError(
      absl::StrFormat("the memory of process %d cannot be read: %s; see: ls -l /proc/%d/mem", pid_,
                      strerror(errno), pid_));
}

std::string Injector::WhyNotLoaded(uint64_t error_at) const {
  std::string text;
  char byte = '\0';
  while (text.size() < 500 && error_at != 0 && ReadMemory(pid_, error_at + text.size(), &byte, 1) &&
         byte != '\0') {
    text.push_back(byte);
  }
  if (text.empty()) return "no reason given";
  return std::string(absl::StripPrefix(text, absl::StrCat(options_.library, ": ")));
}

absl::StatusOr<int64_t> Injector::CallIn(TracedThread* thread, const char* function,
                                         int64_t argument, Room* room) const {
  Order order = {};
  order.errno_location = functions_.errno_location;
  order.dlopen = functions_.dlopen;
  order.dlsym = functions_.dlsym;
  order.dlerror = functions_.dlerror;
  // Global, so that marks of coz.h find it; its own names first, for libc's were loaded before.
  order.flags = RTLD_NOW | RTLD_GLOBAL | RTLD_NODELETE | RTLD_DEEPBIND;
  order.path = room->data + offsetof(Order, path_text);
  order.function = room->data + offsetof(Order, function_name);
  order.argument = argument;
  strncpy(order.function_name, function, sizeof(order.function_name) - 1);
  memcpy(order.path_text, options_.library.data(), options_.library.size());
  if (!thread->Write(room->data, &order, sizeof(order))) return CannotWrite();
  Step("before call");
  const absl::Status called =
      thread->CallFunction(gadgets_, room->data + kOrderBytes, kRoomBytes - kOrderBytes, room->code,
                           room->data, options_.limit_s);
  if (!called.ok()) {
    if (!absl::IsUnavailable(called)) *room = Room();  // the thread may still use it
    return absl::Status(called.code(),
                        absl::StrFormat("process %d did not answer: %s", pid_, called.message()));
  }
  Step("after call");
  if (!ReadMemory(pid_, room->data, &order, sizeof(order))) return CannotRead();
  if (order.is_done != 1) return absl::UnavailableError(EndedText(pid_));
  if (order.error == 0 && order.handle != 0) return order.answer;
  return absl::FailedPreconditionError(absl::StrFormat(
      "cannot attach to process %d: it cannot load %s: %s; see whether it may read each folder: "
      "namei -l %s; or start it with: coz run --- PROGRAM",
      pid_, options_.library, WhyNotLoaded(order.error), options_.library));
}

absl::StatusOr<int64_t> Injector::CallLibrary(const char* function, int64_t argument) {
  if (options_.library.size() >= sizeof(Order::path_text)) {
    return absl::InvalidArgumentError(
        absl::StrFormat("the path %s is too long; install coz elsewhere", options_.library));
  }
  // Of one that was adopted nothing is looked up before, since most end by themselves.
  if (functions_.dlopen == 0) {
    if (absl::Status found = FindFunctions(); !found.ok()) return found;
  }
  absl::StatusOr<TracedThread> thread = StopSafely();
  if (!thread.ok()) return thread.status();
  Room room;
  const absl::Status borrowed = Borrow(&*thread, &room);
  if (!borrowed.ok()) {
    GiveBack(&*thread, room);
    return borrowed;
  }
  absl::StatusOr<int64_t> answer = CallIn(&*thread, function, argument, &room);
  GiveBack(&*thread, room);
  return answer;
}

absl::Status Injector::Join() {
  const absl::StatusOr<int64_t> answer = CallLibrary(shared::kAttachFunction, control_there_);
  if (!answer.ok()) return answer.status();
  control_there_ = -1;
  has_joined_ = true;
  absl::Status joined = StatusOf("attach to", *answer);
  if (joined.ok()) CloseLeftOver();
  return joined;
}

// Descriptors of control blocks that a coz has left there which was killed before it had joined.
// The process has closed this one's.
void Injector::CloseLeftOver() {
  std::vector<uint64_t> left;
  const std::string folder = absl::StrFormat("/proc/%d/fd", pid_);
  for (const std::string& name : NamesIn(folder)) {
    std::error_code error;
    const std::string file =
        std::filesystem::read_symlink(absl::StrCat(folder, "/", name), error).string();
    uint64_t fd = 0;
    if (absl::StartsWith(file, absl::StrCat("/memfd:", kControlName, " ")) &&
        absl::SimpleAtoi(name, &fd)) {
      left.push_back(fd);
    }
  }
  if (left.empty()) return;
  absl::StatusOr<TracedThread> thread = StopSafely();
  for (const uint64_t fd : left) {
    if (thread.ok()) (void)thread->Call(gadgets_, {SYS_close, {fd, 0, 0, 0, 0, 0}});
  }
}

absl::Status Injector::StatusOf(const char* wish, int64_t answer) const {
  if (shared::AnswerIn(answer) == shared::AttachAnswer::kDone) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrFormat("cannot %s process %d: %s", wish, pid_, Explain(answer, pid_)));
}

absl::Status Injector::ChangeCode(bool is_first) {
  const absl::StatusOr<int64_t> answer = CallLibrary(shared::kChangeCodeFunction, is_first ? 1 : 0);
  return answer.ok() ? StatusOf("change the code of", *answer) : answer.status();
}

absl::Status Injector::SampleByTimers() {
  const absl::StatusOr<int64_t> answer = CallLibrary(shared::kSampleByTimersFunction, 0);
  return answer.ok() ? StatusOf("sample", *answer) : answer.status();
}

absl::Status Injector::EndSignals() {
  const absl::StatusOr<int64_t> answer = CallLibrary(shared::kEndSignalsFunction, 0);
  return answer.ok() ? StatusOf("end the samples of", *answer) : answer.status();
}

absl::Status Injector::Leave(bool restores_disposition) {
  return CallLibrary(shared::kDetachFunction, restores_disposition ? 1 : 0).status();
}

}  // namespace coz::attach
