#include "bench/patch/register_puppet.h"

#include <elf.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace coz::bench {
namespace {

constexpr size_t kMostVectorBytes = 16384;

void Require(bool is_true, const char* what) {
  if (is_true) return;
  perror(what);
  abort();
}

bool IsFault(int signal) {
  return signal == SIGSEGV || signal == SIGBUS || signal == SIGILL || signal == SIGFPE;
}

// The signal that has stopped it.
int AwaitStop(pid_t pid) {
  int status = 0;
  Require(waitpid(pid, &status, 0) == pid && WIFSTOPPED(status), "the puppet has ended");
  return WSTOPSIG(status);
}

}  // namespace

RegisterPuppet::RegisterPuppet() : pid_(fork()) {
  Require(pid_ >= 0, "fork");
  if (pid_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
    raise(SIGSTOP);
    _exit(1);
  }
  AwaitStop(pid_);
  Require(ptrace(PTRACE_SETOPTIONS, pid_, nullptr, PTRACE_O_EXITKILL) == 0, "ptrace");
  first_ = State();
}

RegisterPuppet::~RegisterPuppet() {
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

MachineState RegisterPuppet::State() const {
  MachineState state;
  Require(ptrace(PTRACE_GETREGS, pid_, nullptr, &state.general) == 0, "PTRACE_GETREGS");
  state.vector.resize(kMostVectorBytes);
  iovec vector = {state.vector.data(), state.vector.size()};
  Require(ptrace(PTRACE_GETREGSET, pid_, NT_X86_XSTATE, &vector) == 0, "PTRACE_GETREGSET");
  state.vector.resize(vector.iov_len);
  return state;
}

void RegisterPuppet::SetState(const MachineState& state) const {
  Require(ptrace(PTRACE_SETREGS, pid_, nullptr, &state.general) == 0, "PTRACE_SETREGS");
  iovec vector = {const_cast<uint8_t*>(state.vector.data()), state.vector.size()};
  Require(ptrace(PTRACE_SETREGSET, pid_, NT_X86_XSTATE, &vector) == 0, "PTRACE_SETREGSET");
}

Stop RegisterPuppet::Run(const MachineState& state, const std::function<bool(uint64_t)>& is_inside,
                         int most_steps) {
  SetState(state);
  Stop stop;
  stop.is_over = false;
  for (int step = 0; step < most_steps && !stop.is_over; ++step) {
    Require(ptrace(PTRACE_SINGLESTEP, pid_, nullptr, nullptr) == 0, "PTRACE_SINGLESTEP");
    const int signal = AwaitStop(pid_);
    user_regs_struct now;
    Require(ptrace(PTRACE_GETREGS, pid_, nullptr, &now) == 0, "PTRACE_GETREGS");
    if (signal == SIGTRAP) {
      stop.is_over = !is_inside(now.rip);
      continue;
    }
    if (!IsFault(signal)) continue;  // somebody stops and continues all processes here
    siginfo_t info;
    Require(ptrace(PTRACE_GETSIGINFO, pid_, nullptr, &info) == 0, "PTRACE_GETSIGINFO");
    stop.fault_signal = signal;
    // The kernel sends a general protection fault and its like without an address.
    if (signal == SIGSEGV && info.si_code > 0 && info.si_code != SI_KERNEL) {
      stop.fault_address = reinterpret_cast<uint64_t>(info.si_addr);
    }
    stop.is_over = true;
  }
  stop.state = State();
  return stop;
}

bool RegisterPuppet::Read(uint64_t address, std::vector<uint8_t>* bytes) const {
  const iovec here = {bytes->data(), bytes->size()};
  const iovec there = {reinterpret_cast<void*>(address), bytes->size()};
  return process_vm_readv(pid_, &here, 1, &there, 1, 0) == static_cast<ssize_t>(bytes->size());
}

bool RegisterPuppet::Write(uint64_t address, const std::vector<uint8_t>& bytes) const {
  const iovec here = {const_cast<uint8_t*>(bytes.data()), bytes.size()};
  const iovec there = {reinterpret_cast<void*>(address), bytes.size()};
  return process_vm_writev(pid_, &here, 1, &there, 1, 0) == static_cast<ssize_t>(bytes.size());
}

}  // namespace coz::bench
