#include "coz/supervisor/target/signal_inbox.h"

#include <sys/signalfd.h>
#include <unistd.h>

namespace coz::supervisor {
namespace {

constexpr int kForwarded[] = {SIGINT,  SIGTERM, SIGHUP,  SIGQUIT,  SIGUSR1,
                              SIGUSR2, SIGCONT, SIGALRM, SIGWINCH, SIGPIPE};

}  // namespace

SignalInbox::SignalInbox() {
  sigset_t wanted;
  sigemptyset(&wanted);
  for (const int signal : kForwarded) sigaddset(&wanted, signal);
  // As under nohup. One that is blocked would come nevertheless.
  struct sigaction hang_up = {};
  if (sigaction(SIGHUP, nullptr, &hang_up) == 0 && hang_up.sa_handler == SIG_IGN) {
    sigdelset(&wanted, SIGHUP);
  }
  sigprocmask(SIG_BLOCK, &wanted, &original_mask_);
  fd_.Reset(signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK));
}

void SignalInbox::Forward(pid_t target) {
  signalfd_siginfo info;
  while (read(fd_.get(), &info, sizeof(info)) == sizeof(info)) {
    // A program of this session is told of its terminal's end, and decides itself.
    const bool is_terminal_gone = info.ssi_signo == SIGHUP && target == 0;
    if (info.ssi_signo == SIGINT || info.ssi_signo == SIGTERM || is_terminal_gone) {
      ++interrupts_;
    }
    const bool is_own = info.ssi_pid == static_cast<uint32_t>(getpid());  // of a write to a pipe
    if (info.ssi_code != SI_KERNEL && !is_own && target != 0) {
      kill(target, static_cast<int>(info.ssi_signo));
    }
  }
}

}  // namespace coz::supervisor
