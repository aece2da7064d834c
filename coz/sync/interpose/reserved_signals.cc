#include "coz/sync/interpose/reserved_signals.h"

namespace coz::interpose {
namespace {
sigset_t g_reserved;  // all zero, so empty
}  // namespace

void SetReservedSignals(const sigset_t& signals) { g_reserved = signals; }

const sigset_t& ReservedSignals() { return g_reserved; }

sigset_t WithoutReservedSignals(const sigset_t& set) {
  sigset_t result = set;
  for (int signal = 1; signal < _NSIG; ++signal) {
    if (sigismember(&g_reserved, signal) == 1) sigdelset(&result, signal);
  }
  return result;
}

sigset_t WithReservedSignals(const sigset_t& set) {
  sigset_t result;
  sigorset(&result, &set, &g_reserved);
  return result;
}

}  // namespace coz::interpose
