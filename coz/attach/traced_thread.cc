#include "coz/attach/traced_thread.h"

#include <cpuid.h>
#include <elf.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <utility>

#include "absl/strings/str_format.h"
#include "coz/attach/process_view.h"
#include "coz/base/clock.h"
#include "coz/base/signal_mask.h"

namespace coz::attach {
namespace {

// linux/errno.h: how a call that a signal has interrupted asks to be made again.
constexpr int64_t kRestartSys = -512;
constexpr int64_t kRestartNoIntr = -513;
constexpr int64_t kRestartNoHand = -514;
constexpr int64_t kRestartBlock = -516;

// The longest time in which a thread comes to its stop.
constexpr double kStopLimitS = 1;
// And in which it finishes a system call that is made in it. A thread that gives up here leaves the
// process with what the call made, so it may wait for a CPU and for the lock of its addresses.
constexpr double kCallLimitS = 10;

double NowS() { return static_cast<double>(MonotonicNowNs()) / 1e9; }

void Sleep(uint64_t ns) {
  const timespec time = {0, static_cast<long>(ns)};
  nanosleep(&time, nullptr);
}

// waitpid with a limit. False where nothing comes in time.
bool WaitUntil(pid_t tid, double deadline_s, int* status) {
  for (uint64_t pause_ns = 20'000;; pause_ns = std::min<uint64_t>(pause_ns * 2, kNsPerMs)) {
    const pid_t got = waitpid(tid, status, __WALL | WNOHANG);
    if (got == tid) return true;
    if (got < 0 && errno == ECHILD) {
      *status = 0;  // as of one that has ended
      return true;
    }
    if (NowS() > deadline_s) return false;
    Sleep(pause_ns);
  }
}

// In the standard format of XSAVE: the end of what `features` take.
uint64_t BytesOfFeatures(uint64_t features) {
  constexpr uint64_t kLegacyAndHeader = 576;
  uint64_t end = kLegacyAndHeader;
  for (uint32_t i = 2; i < 63; ++i) {
    if ((features >> i & 1) == 0) continue;
    uint32_t size = 0;
    uint32_t offset = 0;
    uint32_t ecx = 0;
    uint32_t edx = 0;
    if (__get_cpuid_count(0xD, i, &size, &offset, &ecx, &edx) == 0) continue;
    end = std::max<uint64_t>(end, uint64_t{offset} + size);
  }
  return end;
}

// It has not stopped for an earlier Stop, in a wait that nothing interrupts. That stop is still to
// come.
bool IsTracedHere(pid_t pid, pid_t tid) {
  const int error = errno;
  const StatusFields status = ReadThreadStatus(pid, tid);
  const auto tracer = status.find("TracerPid");
  const bool is_here = tracer != status.end() && tracer->second == absl::StrFormat("%d", getpid());
  errno = error;
  return is_here;
}

}  // namespace

bool ReadMemory(pid_t pid, uint64_t address, void* to, size_t bytes) {
  const iovec local = {to, bytes};
  const iovec remote = {reinterpret_cast<void*>(address), bytes};
  return process_vm_readv(pid, &local, 1, &remote, 1, 0) == static_cast<ssize_t>(bytes);
}

absl::StatusOr<Gadgets> FindGadgets(pid_t pid, uint64_t begin, uint64_t end) {
  static constexpr char kSyscallReturn[] = "\x0f\x05\xc3";
  static constexpr char kSigreturn[] = "\x48\xc7\xc0\x0f\x00\x00\x00\x0f\x05";
  Gadgets gadgets;
  std::vector<char> code(end - begin);
  if (!ReadMemory(pid, begin, code.data(), code.size())) {
    return absl::UnavailableError(strerror(errno));
  }
  const auto find = [&code, begin](const char* bytes, size_t count) -> uint64_t {
    const auto found = std::search(code.begin(), code.end(), bytes, bytes + count);
    return found == code.end() ? 0 : begin + static_cast<uint64_t>(found - code.begin());
  };
  gadgets.syscall_return = find(kSyscallReturn, sizeof(kSyscallReturn) - 1);
  gadgets.sigreturn = find(kSigreturn, sizeof(kSigreturn) - 1);
  return gadgets;
}

TracedThread::TracedThread(TracedThread&& other) noexcept
    : pid_(other.pid_),
      tid_(other.tid_),
      seized_(std::exchange(other.seized_, false)),
      stopped_(std::exchange(other.stopped_, false)),
      is_lost_(other.is_lost_),
      signal_to_deliver_(other.signal_to_deliver_),
      registers_(other.registers_),
      extended_(std::move(other.extended_)),
      mask_(other.mask_) {}

TracedThread::~TracedThread() {
  if (!seized_) return;
  if (!stopped_) {
    ptrace(PTRACE_INTERRUPT, tid_, nullptr, nullptr);
    int status = 0;
    if (!WaitUntil(tid_, NowS() + kStopLimitS, &status) || !WIFSTOPPED(status)) return;
  }
  ptrace(PTRACE_DETACH, tid_, nullptr, signal_to_deliver_);
}

absl::StatusOr<TracedThread> TracedThread::Stop(pid_t pid, pid_t tid) {
  TracedThread thread(pid, tid);
  if (ptrace(PTRACE_SEIZE, tid, nullptr, PTRACE_O_TRACESYSGOOD) == 0) {
    ptrace(PTRACE_INTERRUPT, tid, nullptr, nullptr);
  } else if (!IsTracedHere(pid, tid)) {
    const std::string why = absl::StrFormat("thread %d cannot be traced: %s", tid, strerror(errno));
    return errno == ESRCH ? absl::UnavailableError(why) : absl::PermissionDeniedError(why);
  }
  thread.seized_ = true;
  int status = 0;
  if (!WaitUntil(tid, NowS() + kStopLimitS, &status)) {
    return absl::DeadlineExceededError(absl::StrFormat("thread %d does not stop", tid));
  }
  if (!WIFSTOPPED(status)) {
    thread.seized_ = false;
    return absl::UnavailableError(absl::StrFormat("thread %d has ended", tid));
  }
  thread.stopped_ = true;
  // Another signal came first. It is delivered when the thread goes on.
  if (status >> 16 != PTRACE_EVENT_STOP) thread.signal_to_deliver_ = WSTOPSIG(status);
  if (thread.signal_to_deliver_ == 0 && WSTOPSIG(status) != SIGTRAP) {
    return absl::UnavailableError(absl::StrFormat(
        "thread %d is stopped, as by SIGSTOP; let it go on with: kill -CONT %d", tid, pid));
  }
  if (thread.signal_to_deliver_ != 0) {
    return absl::UnavailableError(absl::StrFormat("thread %d gets a signal", tid));
  }
  if (absl::Status read = thread.ReadState(); !read.ok()) return read;
  thread.RestartCall();
  thread.NoteCallAhead();
  return thread;
}

absl::Status TracedThread::ReadState() {
  iovec registers = {&registers_, sizeof(registers_)};
  extended_.resize(1 << 14);
  iovec extended = {extended_.data(), extended_.size()};
  if (ptrace(PTRACE_GETREGSET, tid_, NT_PRSTATUS, &registers) != 0 ||
      ptrace(PTRACE_GETREGSET, tid_, NT_X86_XSTATE, &extended) != 0 ||
      ptrace(PTRACE_GETSIGMASK, tid_, sizeof(mask_), &mask_) != 0) {
    return absl::UnavailableError(
        absl::StrFormat("the registers of thread %d cannot be read: %s", tid_, strerror(errno)));
  }
  extended_.resize(extended.iov_len);
  return absl::OkStatus();
}

// The kernel clears the thread's number, in its thread control block, when it ends, and wakes those
// that wait for that. Locks that hold a number are waited for in other operations.
// Source: nptl/pthread_join_common.c, clone(2) (CLONE_CHILD_CLEARTID).
bool TracedThread::WaitsForThread() const {
  if (WaitingCall() != SYS_futex || (registers_.rsi & FUTEX_PRIVATE_FLAG) != 0 ||
      (registers_.rsi & FUTEX_CMD_MASK) != FUTEX_WAIT_BITSET) {
    return false;
  }
  const std::vector<pid_t> threads = ReadThreads(pid_);
  return std::find(threads.begin(), threads.end(), static_cast<pid_t>(registers_.rdx)) !=
         threads.end();
}

int64_t TracedThread::WaitingCall() const {
  return registers_.orig_rax == ~0ull ? -1 : static_cast<int64_t>(registers_.orig_rax);
}

absl::Status TracedThread::BlockSignals(uint64_t mask) {
  if (ptrace(PTRACE_SETSIGMASK, tid_, sizeof(mask), &mask) != 0) {
    return absl::UnavailableError(
        absl::StrFormat("the mask of thread %d cannot be set: %s", tid_, strerror(errno)));
  }
  mask_ = mask;
  return absl::OkStatus();
}

bool TracedThread::DivertsCalls() const {
  constexpr auto kGetUserDispatch = static_cast<enum __ptrace_request>(0x4211);  // linux/ptrace.h
  struct {
    uint64_t mode;  // 0: off
    uint64_t selector;
    uint64_t offset;
    uint64_t length;
  } dispatch = {};
  return ptrace(kGetUserDispatch, tid_, sizeof(dispatch), &dispatch) == 0 && dispatch.mode != 0;
}

absl::StatusOr<std::vector<CallFilter>> TracedThread::CallFilters() const {
  std::vector<CallFilter> filters;
  for (uintptr_t index = 0;; ++index) {
    const long instructions = ptrace(PTRACE_SECCOMP_GET_FILTER, tid_, index, nullptr);
    if (instructions < 0 && errno == ENOENT) return filters;
    if (instructions < 0) {
      return absl::FailedPreconditionError(
          absl::StrFormat("its filters of system calls may not be seen (%s)", strerror(errno)));
    }
    CallFilter filter(static_cast<size_t>(instructions));
    if (ptrace(PTRACE_SECCOMP_GET_FILTER, tid_, index, filter.data()) != instructions) {
      return absl::FailedPreconditionError("its filters of system calls cannot be read");
    }
    filters.push_back(std::move(filter));
  }
}

namespace {

// Calls that return EINTR where the thread was only stopped (signal(7), "Interruption of system
// calls by stop signals"): some do always, those of sockets where a time-out is set, and those of
// devices where the driver does. None of them has done anything then.
constexpr int64_t kEndedByStops[] = {
    SYS_epoll_wait, SYS_epoll_pwait, SYS_epoll_pwait2,  SYS_rt_sigtimedwait,
    SYS_semop,      SYS_semtimedop,  SYS_io_getevents,  SYS_io_pgetevents,
    SYS_read,       SYS_readv,       SYS_write,         SYS_writev,
    SYS_recvfrom,   SYS_recvmsg,     SYS_recvmmsg,      SYS_sendto,
    SYS_sendmsg,    SYS_sendmmsg,    SYS_accept,        SYS_accept4,
    SYS_connect,    SYS_ioctl,       SYS_io_uring_enter};

bool IsEndedByStops(int64_t call) {
  return std::find(std::begin(kEndedByStops), std::end(kEndedByStops), call) !=
         std::end(kEndedByStops);
}

}  // namespace

// A sleep that a stop has ended, and that the kernel goes on with by restart_syscall. It cannot do
// so behind another call, so the sleep is made anew: its arguments are still in the registers, and
// its number is in the instruction before. -1 where another instruction is there.
int64_t TracedThread::SleepThatGoesOn() const {
  constexpr int64_t kSleeps[] = {SYS_poll, SYS_nanosleep, SYS_clock_nanosleep, SYS_futex};
  constexpr uint8_t kMoveToEax = 0xb8;
  struct __attribute__((packed)) {
    uint8_t move;
    int32_t number;
    uint8_t call[2];
  } code = {};
  if (!ReadMemory(pid_, registers_.rip - sizeof(code), &code, sizeof(code))) return -1;
  const bool is_call = code.move == kMoveToEax && code.call[0] == 0x0f && code.call[1] == 0x05;
  const bool is_sleep = std::count(std::begin(kSleeps), std::end(kSleeps), code.number) != 0;
  return is_call && is_sleep ? code.number : -1;
}

// Most calls ask for it themselves. Those of the list above are made again unless a signal waits
// for the thread. A sample is no such signal: it may have come in the kernel before the wait, and
// be let out by the stop. Its handler would end some of the others.
void TracedThread::RestartCall() {
  const auto result = static_cast<int64_t>(registers_.rax);
  if (WaitingCall() == SYS_restart_syscall && result == kRestartBlock) {
    const int64_t sleep = SleepThatGoesOn();
    if (sleep >= 0) registers_.orig_rax = static_cast<uint64_t>(sleep);
  }
  const int64_t call = WaitingCall();
  if (call < 0) return;
  bool again = result == kRestartSys || result == kRestartNoIntr || result == kRestartNoHand ||
               result == kRestartBlock;
  const StatusFields status = ReadThreadStatus(pid_, tid_);
  const uint64_t waiting_signals =
      (SignalsIn(status, "SigPnd") | SignalsIn(status, "ShdPnd")) & ~SignalsIn(status, "SigBlk");
  const uint64_t others = waiting_signals & ~SignalMaskOf(SIGTRAP);
  if (result == -EINTR) again = IsEndedByStops(call) && others == 0;
  if (!again) {
    registers_.orig_rax = ~0ull;  // it has returned
    return;
  }
  user_regs_struct restarted = registers_;
  restarted.rax = restarted.orig_rax;
  restarted.rip -= 2;
  if (result == -EINTR || (waiting_signals != 0 && others == 0)) {
    restarted.orig_rax = ~0ull;  // the kernel does not do it
    iovec registers = {&restarted, sizeof(restarted)};
    ptrace(PTRACE_SETREGSET, tid_, NT_PRSTATUS, &registers);
  }
  const uint64_t waiting = registers_.orig_rax;
  registers_ = restarted;
  registers_.orig_rax = waiting;
}

// A stop before this one has ended its call, and the thread has not run since.
void TracedThread::NoteCallAhead() {
  unsigned char code[2] = {};
  if (WaitingCall() >= 0 || !ReadMemory(pid_, registers_.rip, code, sizeof(code))) return;
  if (code[0] == 0x0f && code[1] == 0x05) registers_.orig_rax = registers_.rax;
}

bool TracedThread::Write(uint64_t address, const void* from, size_t bytes) const {
  const UniqueFd memory(open(absl::StrFormat("/proc/%d/mem", pid_).c_str(), O_WRONLY | O_CLOEXEC));
  return memory.ok() && pwrite(memory.get(), from, bytes, static_cast<off_t>(address)) ==
                            static_cast<ssize_t>(bytes);
}

// The kernel's ucontext, which rt_sigreturn reads. It is the beginning of libc's.
struct TracedThread::Frame {
  uint64_t flags;
  uint64_t link;
  stack_t stack;
  greg_t registers[NGREG];
  uint64_t extended;
  uint64_t reserved[8];
  uint64_t mask;
};

TracedThread::Frame TracedThread::FrameOf(const user_regs_struct& from, uint64_t mask) const {
  constexpr uint64_t kHasXstate = 1;
  constexpr uint64_t kHasStackSegment = 2;
  constexpr uint64_t kStrictStackSegment = 4;
  static_assert(offsetof(Frame, mask) == offsetof(ucontext_t, uc_sigmask));
  Frame frame = {};
  frame.flags = kHasXstate | kHasStackSegment | kStrictStackSegment;
  // The kernel refuses this, and so the thread keeps its alternate stack, which we do not know.
  frame.stack.ss_flags = 0x7fff;
  const std::pair<int, uint64_t> registers[] = {
      {REG_R8, from.r8},   {REG_R9, from.r9},     {REG_R10, from.r10}, {REG_R11, from.r11},
      {REG_R12, from.r12}, {REG_R13, from.r13},   {REG_R14, from.r14}, {REG_R15, from.r15},
      {REG_RDI, from.rdi}, {REG_RSI, from.rsi},   {REG_RBP, from.rbp}, {REG_RBX, from.rbx},
      {REG_RDX, from.rdx}, {REG_RAX, from.rax},   {REG_RCX, from.rcx}, {REG_RSP, from.rsp},
      {REG_RIP, from.rip}, {REG_EFL, from.eflags}};
  for (const auto& [number, value] : registers) {
    frame.registers[number] = static_cast<greg_t>(value);
  }
  frame.registers[REG_CSGSFS] = static_cast<greg_t>(from.cs | uint64_t{from.ss} << 48);
  frame.mask = mask;
  return frame;
}

// A filter of system calls may come amid a call. Its SIGSYS ends a process that blocks it, but the
// program may have a handler that lets the call fail. One that is pending is the program's own, and
// its handler has to see the registers of before.
uint64_t TracedThread::MaskOfCalls() const {
  constexpr uint64_t kSigSys = uint64_t{1} << (SIGSYS - 1);
  const bool is_pending = (SignalsIn(ReadThreadStatus(pid_, tid_), "SigPnd") & kSigSys) != 0;
  return is_pending ? ~uint64_t{0} : ~kSigSys;
}

absl::StatusOr<uint64_t> TracedThread::EnterFrames(const Gadgets& gadgets, uint64_t top,
                                                   user_regs_struct call) {
  // Fields of the kernel's _fpx_sw_bytes, in the unused end of the legacy area, and what follows.
  constexpr size_t kSoftwareBytes = 464;
  constexpr uint32_t kMagic1 = 0x46505853;
  constexpr uint32_t kMagic2 = 0x46505845;
  constexpr uint64_t kTileData = uint64_t{1} << 18;  // not every process has it in its frames
  uint64_t features = 0;
  memcpy(&features, extended_.data() + kSoftwareBytes, sizeof(features));
  uint64_t in_use = 0;
  memcpy(&in_use, extended_.data() + 512, sizeof(in_use));
  if (is_lost_) {
    return absl::AbortedError(absl::StrFormat(
        "thread %d of process %d makes no more calls; try again: coz attach %d", tid_, pid_, pid_));
  }
  if ((in_use & kTileData) != 0) {
    return absl::UnavailableError(absl::StrFormat(
        "thread %d of process %d computes with tiles (AMX), which a call from outside would lose; "
        "try again: coz attach %d",
        tid_, pid_, pid_));
  }
  features &= ~kTileData;
  const uint64_t bytes = std::min<uint64_t>(BytesOfFeatures(features), extended_.size());
  std::vector<char> extended(extended_.begin(), extended_.begin() + static_cast<long>(bytes));
  extended.resize(bytes + sizeof(kMagic2));
  const struct {
    uint32_t magic;
    uint32_t extended_bytes;
    uint64_t features;
    uint32_t bytes;
    uint32_t padding[7];
  } software = {kMagic1,
                static_cast<uint32_t>(bytes + sizeof(kMagic2)),
                features,
                static_cast<uint32_t>(bytes),
                {}};
  static_assert(sizeof(software) == 48);
  memcpy(extended.data() + kSoftwareBytes, &software, sizeof(software));
  memcpy(extended.data() + bytes, &kMagic2, sizeof(kMagic2));

  const uint64_t extended_at = (top - extended.size()) & ~uint64_t{63};
  const uint64_t after_at = (extended_at - sizeof(Frame)) & ~uint64_t{15};
  // The call returns to an address just below the frame, which rt_sigreturn then finds at the stack
  // pointer. The stack of the call overwrites the first frame, which the kernel has read by then.
  call.rsp = after_at - sizeof(uint64_t);
  const uint64_t before_at = (call.rsp - sizeof(Frame)) & ~uint64_t{15};
  Frame after = FrameOf(registers_, mask_);
  after.extended = extended_at;
  const Frame before = FrameOf(call, MaskOfCalls());
  const bool written = Write(extended_at, extended.data(), extended.size()) &&
                       Write(after_at, &after, sizeof(after)) &&
                       Write(call.rsp, &gadgets.sigreturn, sizeof(gadgets.sigreturn)) &&
                       Write(before_at, &before, sizeof(before));
  if (!written) {
    return absl::UnavailableError(absl::StrFormat(
        "no call can be made in process %d, as its memory cannot be written to: %s; see: ls -l "
        "/proc/%d/mem",
        pid_, strerror(errno), pid_));
  }
  user_regs_struct entered = registers_;
  entered.orig_rax = ~0ull;  // no call to be made again
  entered.rip = gadgets.syscall_return;
  entered.rax = SYS_rt_sigreturn;
  entered.rsp = before_at;
  iovec registers = {&entered, sizeof(entered)};
  if (ptrace(PTRACE_SETREGSET, tid_, NT_PRSTATUS, &registers) != 0) {
    return absl::UnavailableError(absl::StrFormat(
        "no call can be made in thread %d of process %d, as its registers cannot be set: %s; try "
        "again: coz attach %d",
        tid_, pid_, strerror(errno), pid_));
  }
  // A signal may be pending that the thread's last instruction has raised, such as a point's int3.
  // Its handler has to see the registers of then. Set last: whoever ends this process now leaves a
  // thread that goes through both frames, and so gets its mask back.
  const uint64_t all = ~uint64_t{0};
  if (ptrace(PTRACE_SETSIGMASK, tid_, sizeof(all), &all) != 0) {
    is_lost_ = true;
    return Lost(errno);
  }
  return after_at;
}

TracedThread::Event TracedThread::RunToEvent(double deadline_s) {
  if (ptrace(PTRACE_SYSCALL, tid_, nullptr, signal_to_deliver_) != 0) return Event::kLost;
  signal_to_deliver_ = 0;
  stopped_ = false;
  int status = 0;
  if (!WaitUntil(tid_, deadline_s, &status)) return Event::kTimedOut;
  if (!WIFSTOPPED(status)) {
    seized_ = false;
    return Event::kEnded;
  }
  stopped_ = true;
  if (WSTOPSIG(status) != (SIGTRAP | 0x80)) {
    if (status >> 16 == 0) signal_to_deliver_ = WSTOPSIG(status);
    return Event::kOther;
  }
  __ptrace_syscall_info info = {};
  if (ptrace(PTRACE_GET_SYSCALL_INFO, tid_, sizeof(info), &info) <= 0) return Event::kLost;
  return info.op == PTRACE_SYSCALL_INFO_ENTRY ? Event::kCallEntry : Event::kCallExit;
}

absl::Status TracedThread::Lost(int error) const {
  if (error == ESRCH) {
    return absl::UnavailableError(absl::StrFormat(
        "thread %d of process %d has ended; try again: coz attach %d", tid_, pid_, pid_));
  }
  return absl::AbortedError(absl::StrFormat(
      "a call in thread %d of process %d cannot be followed (ptrace: %s), and goes on by itself; "
      "try again: coz attach %d",
      tid_, pid_, strerror(error), pid_));
}

// Until the thread has returned from the signal frame at `frame`. `result` gets what the last
// system call before that returned.
absl::Status TracedThread::AwaitReturn(uint64_t frame, double deadline_s, int64_t* result) {
  bool returns = false;
  while (true) {
    const Event event = RunToEvent(deadline_s);
    if (event == Event::kEnded) return Lost(ESRCH);
    if (event == Event::kLost) return Lost(errno);
    if (event == Event::kTimedOut) {
      return absl::DeadlineExceededError(absl::StrFormat(
          "a call in thread %d of process %d takes too long, and goes on by itself; leave the "
          "machine idle and try again: coz attach %d",
          tid_, pid_, pid_));
    }
    if (event == Event::kOther) continue;
    user_regs_struct now = {};
    iovec registers = {&now, sizeof(now)};
    if (ptrace(PTRACE_GETREGSET, tid_, NT_PRSTATUS, &registers) != 0) return Lost(errno);
    if (event == Event::kCallEntry) {
      returns = now.orig_rax == SYS_rt_sigreturn && now.rsp == frame;
    } else if (returns) {
      return absl::OkStatus();
    } else if (result != nullptr) {
      *result = static_cast<int64_t>(now.rax);
    }
  }
}

absl::StatusOr<int64_t> TracedThread::Call(const Gadgets& gadgets, const Request& request) {
  constexpr uint64_t kRedZoneBytes = 128;
  user_regs_struct call = registers_;
  call.rip = gadgets.syscall_return;
  call.rax = static_cast<uint64_t>(request.number);
  call.rdi = request.arguments[0];
  call.rsi = request.arguments[1];
  call.rdx = request.arguments[2];
  call.r10 = request.arguments[3];
  call.r8 = request.arguments[4];
  call.r9 = request.arguments[5];
  const absl::StatusOr<uint64_t> frame = EnterFrames(gadgets, registers_.rsp - kRedZoneBytes, call);
  if (!frame.ok()) return frame.status();
  int64_t result = -EINTR;
  absl::Status returned = AwaitReturn(*frame, NowS() + kCallLimitS, &result);
  is_lost_ = !returned.ok();
  if (is_lost_) return returned;
  return result;
}

absl::Status TracedThread::CallFunction(const Gadgets& gadgets, uint64_t stack, uint64_t bytes,
                                        uint64_t function, uint64_t argument, double limit_s) {
  const uint64_t top = (stack + bytes) & ~uint64_t{63};
  user_regs_struct call = registers_;
  call.rip = function;
  call.rdi = argument;
  call.rbp = 0;
  call.eflags &= ~uint64_t{0x400};  // direction, which the ABI wants clear
  const absl::StatusOr<uint64_t> frame = EnterFrames(gadgets, top, call);
  if (!frame.ok()) return frame.status();
  absl::Status returned = AwaitReturn(*frame, NowS() + limit_s, nullptr);
  is_lost_ = !returned.ok();
  return returned;
}

}  // namespace coz::attach
