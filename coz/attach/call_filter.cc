#include "coz/attach/call_filter.h"

#include <linux/audit.h>
#include <linux/bpf_common.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

namespace coz::attach {
namespace {

struct Call {
  const char* name;
  int number;
  uint64_t third = 0;  // argument: a protection, say
  uint64_t first = 0;  // an option, say
};

// What libcoz.so and the calls by ptrace do in a process, beside what the program does itself.
constexpr Call kCalls[] = {
    {"access", SYS_access},
    {"brk", SYS_brk},
    {"capget", SYS_capget},
    {"clock_gettime", SYS_clock_gettime},
    {"clock_nanosleep", SYS_clock_nanosleep},
    {"close", SYS_close},
    {"fcntl", SYS_fcntl},
    {"flock", SYS_flock},
    {"fstat", SYS_fstat},
    {"fstatfs", SYS_fstatfs},
    {"futex", SYS_futex},
    {"geteuid", SYS_geteuid},
    {"getpid", SYS_getpid},
    {"getppid", SYS_getppid},
    {"getrusage", SYS_getrusage},
    {"getsockopt", SYS_getsockopt},
    {"gettid", SYS_gettid},
    {"ioctl", SYS_ioctl},
    {"kill", SYS_kill},
    {"madvise", SYS_madvise},
    {"membarrier", SYS_membarrier},
    {"memfd_create", SYS_memfd_create},
    {"mmap", SYS_mmap, PROT_READ | PROT_WRITE},
    {"mmap", SYS_mmap, PROT_READ | PROT_EXEC},
    {"mprotect", SYS_mprotect, PROT_READ | PROT_WRITE},
    {"mprotect", SYS_mprotect, PROT_READ | PROT_EXEC},
    {"mprotect", SYS_mprotect, PROT_READ | PROT_WRITE | PROT_EXEC},
    {"mremap", SYS_mremap},
    {"munmap", SYS_munmap},
    {"nanosleep", SYS_nanosleep},
    {"newfstatat", SYS_newfstatat},
    {"openat", SYS_openat},
    {"prctl", SYS_prctl},
    {"prctl", SYS_prctl, 0, PR_GET_TIMERSLACK},
    {"prctl", SYS_prctl, 0, PR_SET_TIMERSLACK},
    {"pread64", SYS_pread64},
    {"prlimit64", SYS_prlimit64},
    {"process_vm_readv", SYS_process_vm_readv},
    {"pwrite64", SYS_pwrite64},
    {"read", SYS_read},
    {"readlink", SYS_readlink},
    {"recvfrom", SYS_recvfrom},
    {"recvmsg", SYS_recvmsg},
    {"rt_sigaction", SYS_rt_sigaction},
    {"rt_sigpending", SYS_rt_sigpending},
    {"rt_sigprocmask", SYS_rt_sigprocmask},
    {"rt_sigreturn", SYS_rt_sigreturn},
    {"sched_getaffinity", SYS_sched_getaffinity},
    {"sched_yield", SYS_sched_yield},
    {"sendto", SYS_sendto},
    {"socket", SYS_socket, 0, AF_NETLINK},
    {"socketpair", SYS_socketpair},
    {"stat", SYS_stat},
    {"tgkill", SYS_tgkill},
    {"timer_create", SYS_timer_create},
    {"timer_delete", SYS_timer_delete},
    {"timer_settime", SYS_timer_settime},
    {"write", SYS_write},
};

seccomp_data DataOf(const Call& call) {
  seccomp_data data = {};
  data.nr = call.number;
  data.arch = AUDIT_ARCH_X86_64;
  data.args[0] = call.first;
  data.args[2] = call.third;
  return data;
}

// The classic instructions that seccomp(2) lets in.
class Machine {
 public:
  Machine(const CallFilter& filter, const seccomp_data& call) : filter_(filter), call_(call) {}

  uint32_t Run() {
    for (size_t at = 0; at < filter_.size();) {
      const sock_filter& next = filter_[at++];
      switch (BPF_CLASS(next.code)) {
        case BPF_RET:
          return BPF_RVAL(next.code) == BPF_A ? a_ : next.k;
        case BPF_JMP:
          at += JumpOf(next);
          break;
        case BPF_ALU:
          if (!Calculate(next)) return SECCOMP_RET_KILL_PROCESS;
          break;
        case BPF_MISC:
          (BPF_MISCOP(next.code) == BPF_TAX ? x_ : a_) = BPF_MISCOP(next.code) == BPF_TAX ? a_ : x_;
          break;
        default:
          if (!Move(next)) return SECCOMP_RET_KILL_PROCESS;
      }
    }
    return SECCOMP_RET_KILL_PROCESS;
  }

 private:
  size_t JumpOf(const sock_filter& jump) const {
    const uint32_t operand = BPF_SRC(jump.code) == BPF_X ? x_ : jump.k;
    switch (BPF_OP(jump.code)) {
      case BPF_JEQ:
        return a_ == operand ? jump.jt : jump.jf;
      case BPF_JGT:
        return a_ > operand ? jump.jt : jump.jf;
      case BPF_JGE:
        return a_ >= operand ? jump.jt : jump.jf;
      case BPF_JSET:
        return (a_ & operand) != 0 ? jump.jt : jump.jf;
      default:
        return jump.k;  // BPF_JA
    }
  }

  bool Calculate(const sock_filter& step) {
    const uint32_t operand = BPF_SRC(step.code) == BPF_X ? x_ : step.k;
    switch (BPF_OP(step.code)) {
      case BPF_ADD:
        a_ += operand;
        return true;
      case BPF_SUB:
        a_ -= operand;
        return true;
      case BPF_MUL:
        a_ *= operand;
        return true;
      case BPF_DIV:
        if (operand == 0) return false;
        a_ /= operand;
        return true;
      case BPF_OR:
        a_ |= operand;
        return true;
      case BPF_AND:
        a_ &= operand;
        return true;
      case BPF_XOR:
        a_ ^= operand;
        return true;
      case BPF_LSH:
        a_ = operand < 32 ? a_ << operand : 0;
        return true;
      case BPF_RSH:
        a_ = operand < 32 ? a_ >> operand : 0;
        return true;
      case BPF_NEG:
        a_ = -a_;
        return true;
      default:
        return false;
    }
  }

  std::optional<uint32_t> Source(const sock_filter& load) const {
    switch (BPF_MODE(load.code)) {
      case BPF_IMM:
        return load.k;
      case BPF_LEN:
        return sizeof(call_);
      case BPF_MEM:
        if (load.k >= memory_.size()) return std::nullopt;
        return memory_[load.k];
      case BPF_ABS: {
        uint32_t word = 0;
        if (load.k > sizeof(call_) - sizeof(word)) return std::nullopt;
        memcpy(&word, reinterpret_cast<const char*>(&call_) + load.k, sizeof(word));
        return word;
      }
      default:
        return std::nullopt;
    }
  }

  bool Move(const sock_filter& step) {
    const uint16_t kind = BPF_CLASS(step.code);
    if (kind == BPF_ST || kind == BPF_STX) {
      if (step.k >= memory_.size()) return false;
      memory_[step.k] = kind == BPF_ST ? a_ : x_;
      return true;
    }
    const std::optional<uint32_t> found = Source(step);
    if (!found.has_value()) return false;
    (kind == BPF_LD ? a_ : x_) = *found;
    return true;
  }

  const CallFilter& filter_;
  const seccomp_data& call_;
  uint32_t a_ = 0;
  uint32_t x_ = 0;
  std::array<uint32_t, BPF_MEMWORDS> memory_ = {};
};

bool IsSafe(uint32_t answer) {
  const uint32_t action = answer & SECCOMP_RET_ACTION_FULL;
  return action != SECCOMP_RET_KILL_PROCESS && action != SECCOMP_RET_KILL_THREAD &&
         action != SECCOMP_RET_TRAP;
}

}  // namespace

uint32_t AnswerOf(const CallFilter& filter, const seccomp_data& call) {
  return Machine(filter, call).Run();
}

// A harsher filter before or behind makes a call that is safe for none of them.
std::string UnsafeCall(const std::vector<CallFilter>& filters) {
  for (const Call& call : kCalls) {
    const seccomp_data data = DataOf(call);
    uint32_t harshest = SECCOMP_RET_ALLOW;
    for (const CallFilter& filter : filters) {
      const uint32_t answer = AnswerOf(filter, data);
      const auto order = [](uint32_t a) {
        return static_cast<int32_t>(a & SECCOMP_RET_ACTION_FULL);
      };
      if (order(answer) < order(harshest)) harshest = answer;
    }
    if (!IsSafe(harshest)) return call.name;
  }
  return "";
}

}  // namespace coz::attach
