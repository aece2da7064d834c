// System V's and BSD's calls for actions and masks. libc makes them of its own sigaction and
// sigprocmask and does not call ours. Here they are made of ours. Those that wait are in
// coz/sync/interpose/signal.cc. Process: target. Context: the program's threads, and its signal
// handlers.
#include <signal.h>

#include <cstdint>

// They are deprecated, but programs call them.
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

namespace coz::interpose {
namespace {

constexpr int kSignalsInAnInt = 32;

int SetAction(int signal, __sighandler_t handler, struct sigaction* old_action) {
  struct sigaction action = {};
  action.sa_handler = handler;
  return sigaction(signal, &action, old_action);
}

int ChangeMaskBy(int how, int signal, sigset_t* old_set) {
  sigset_t only;
  sigemptyset(&only);
  if (sigaddset(&only, signal) != 0) return -1;
  return sigprocmask(how, &only, old_set);
}

// Changes the first signals of the mask, which BSD's calls keep in an int.
int ChangeFirst(int how, int mask) {
  sigset_t set;
  sigemptyset(&set);
  sigset_t old_set;
  for (int i = 0; i < kSignalsInAnInt; ++i) {
    // Signal 32 is libc's own: sigaddset refuses it.
    if ((static_cast<uint32_t>(mask) >> i & 1) != 0) sigaddset(&set, i + 1);
  }
  if (sigprocmask(how, &set, &old_set) != 0) return -1;
  uint32_t old_mask = 0;
  for (int i = 0; i < kSignalsInAnInt; ++i) {
    if (sigismember(&old_set, i + 1) == 1) old_mask |= uint32_t{1} << i;
  }
  return static_cast<int>(old_mask);
}

}  // namespace
}  // namespace coz::interpose

extern "C" {

__sighandler_t sigset(int signal, __sighandler_t handler) noexcept {
  struct sigaction old_action = {};
  sigset_t old_set;
  if (handler == SIG_HOLD) {
    if (coz::interpose::ChangeMaskBy(SIG_BLOCK, signal, &old_set) != 0) return SIG_ERR;
    if (sigismember(&old_set, signal) == 1) return SIG_HOLD;
    return sigaction(signal, nullptr, &old_action) == 0 ? old_action.sa_handler : SIG_ERR;
  }
  if (coz::interpose::SetAction(signal, handler, &old_action) != 0) return SIG_ERR;
  if (coz::interpose::ChangeMaskBy(SIG_UNBLOCK, signal, &old_set) != 0) return SIG_ERR;
  return sigismember(&old_set, signal) == 1 ? SIG_HOLD : old_action.sa_handler;
}

int sighold(int signal) noexcept {
  return coz::interpose::ChangeMaskBy(SIG_BLOCK, signal, nullptr);
}

int sigrelse(int signal) noexcept {
  return coz::interpose::ChangeMaskBy(SIG_UNBLOCK, signal, nullptr);
}

int sigignore(int signal) noexcept { return coz::interpose::SetAction(signal, SIG_IGN, nullptr); }

int sigblock(int mask) noexcept { return coz::interpose::ChangeFirst(SIG_BLOCK, mask); }

int sigsetmask(int mask) noexcept { return coz::interpose::ChangeFirst(SIG_SETMASK, mask); }

int siggetmask() noexcept { return coz::interpose::ChangeFirst(SIG_BLOCK, 0); }

}  // extern "C"
