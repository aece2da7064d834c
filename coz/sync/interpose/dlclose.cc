// dlclose. The profiler forgets what it knows about addresses of the unloaded object, because
// another object may be loaded there. Process: target. Context: the program's threads.
#include <cerrno>

#include "coz/base/errno_saver.h"
#include "coz/sync/interpose/process_hooks.h"
#include "coz/sync/interpose/wrapped_calls.h"

extern "C" int dlclose(void* handle) noexcept {
  if (!coz::interpose::g_process_hooks.is_profiled()) return coz::interpose::g_real.dlclose(handle);
  coz::interpose::g_process_hooks.before_unload();
  const int result = coz::interpose::g_real.dlclose(handle);
  const coz::ErrnoSaver errno_saver;
  coz::interpose::g_process_hooks.after_unload();
  return result;
}
