#include "coz/base/file_size_signal.h"

#include <signal.h>

namespace coz {
namespace {

struct sigaction g_original;
bool g_is_changed = false;

}  // namespace

void IgnoreFileSizeSignal() {
  struct sigaction ignore = {};
  ignore.sa_handler = SIG_IGN;
  g_is_changed = sigaction(SIGXFSZ, &ignore, &g_original) == 0;
}

void RestoreFileSizeSignal() {
  if (g_is_changed) sigaction(SIGXFSZ, &g_original, nullptr);
}

}  // namespace coz
