#include "coz/sync/interpose/process_hooks.h"

namespace coz {

ProcessHooks g_process_hooks;

}  // namespace coz
