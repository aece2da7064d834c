#include "coz/sync/interpose/process_hooks.h"

namespace coz::interpose {

ProcessHooks g_process_hooks;

}  // namespace coz::interpose
