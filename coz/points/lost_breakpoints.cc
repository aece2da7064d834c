#include "coz/points/lost_breakpoints.h"

#include <ucontext.h>

#include <atomic>

#include "coz/base/lost_breakpoint.h"

namespace coz::points {
namespace {

std::atomic<uint64_t> lost_breakpoints{0};

void OnTrap(int signal, siginfo_t* info, void* context) {
  if (IsLostBreakpoint(*info, *static_cast<const ucontext_t*>(context))) {
    lost_breakpoints.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  struct sigaction standard = {};
  standard.sa_handler = SIG_DFL;
  sigaction(signal, &standard, nullptr);
  raise(signal);
}

}  // namespace

LostBreakpointGuard::LostBreakpointGuard() {
  struct sigaction action = {};
  action.sa_sigaction = OnTrap;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  sigaction(SIGTRAP, &action, &before_);
}

LostBreakpointGuard::~LostBreakpointGuard() { sigaction(SIGTRAP, &before_, nullptr); }

uint64_t LostBreakpointGuard::lost() { return lost_breakpoints.load(std::memory_order_relaxed); }

}  // namespace coz::points
