// dlclose: what is known about addresses of the object that goes is forgotten, for another may come to lie there. Process: target.
// Context: the program's threads.
#include <cerrno>

#include "coz/base/errno_saver.h"
#include "coz/runtime/runtime.h"
#include "coz/sync/wrapped_calls.h"

extern "C" int dlclose(void* handle) noexcept {
  if (!coz::IsProfiledProcess()) return coz::g_real.dlclose(handle);
  coz::BeforeUnload();
  const int result = coz::g_real.dlclose(handle);
  const coz::ErrnoSaver errno_saver;
  coz::AfterUnload();
  return result;
}
