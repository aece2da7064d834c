#include "coz/base/write_signals.h"

#include <signal.h>

namespace coz {
namespace {

struct Ignored {
  int signal;
  sighandler_t before = SIG_ERR;
};
Ignored g_ignored[] = {{SIGPIPE}, {SIGXFSZ}};

}  // namespace

void IgnoreWriteSignal(int signal) {
  for (Ignored& ignored : g_ignored) {
    if (ignored.signal != signal) continue;
    const sighandler_t before = ::signal(signal, SIG_IGN);
    if (ignored.before == SIG_ERR) ignored.before = before;
  }
}

void RestoreWriteSignals() {
  for (const Ignored& ignored : g_ignored) {
    if (ignored.before != SIG_ERR) ::signal(ignored.signal, ignored.before);
  }
}

}  // namespace coz
