// Binds each wrapped call to libc's own. Process: target. Context: the library's constructor, or
// the first wrapped call before it.
#include "coz/sync/interpose/wrapped_calls.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cerrno>

#include "coz/sync/interpose/free_mutex.h"
#include <gnu/libc-version.h>

namespace coz::interpose {
namespace {

enum Presence { kRequired, kOptional, kOldVersion };

void* FindNext(const char* name, const char* version, Presence presence) {
  // Plain dlsym may bind the oldest of several versions, which has another pthread_cond_t.
  void* symbol = version != nullptr ? dlvsym(RTLD_NEXT, name, version) : nullptr;
  if (symbol != nullptr || presence == kOldVersion) return symbol;
  return dlsym(RTLD_NEXT, name);
}

[[noreturn]] void DieWithoutCall(const char* name) {
  static constexpr char kMessage[] = "coz: the C library has no ";
  (void)!write(STDERR_FILENO, kMessage, sizeof(kMessage) - 1);
  (void)!write(STDERR_FILENO, name, strlen(name));
  (void)!write(STDERR_FILENO, "\n", 1);
  abort();
}

// Whether `call` is libc's own, and not that of another library that wraps it, such as a sanitizer.
bool IsLibcs(int (*call)(pthread_mutex_t*)) {
  Dl_info of_call;
  Dl_info of_libc;
  return dladdr(reinterpret_cast<void*>(call), &of_call) != 0 &&
         dladdr(reinterpret_cast<void*>(&gnu_get_libc_version), &of_libc) != 0 &&
         of_call.dli_fbase == of_libc.dli_fbase;
}

// The type of a call's pointer.
template <typename Result, typename... Parameters>
struct CallType {
  using Pointer = Result (*)(Parameters...);
  static Result Missing(Parameters...) {
    errno = ENOSYS;
    return Result(-1);  // an optional call returns an int or nothing
  }
};

template <typename Result, typename... Parameters>
CallType<Result, Parameters...> TypeOf(Result (*)(Parameters...));

template <typename Pointer>
void Resolve(Pointer* pointer, const char* name, const char* version, Presence presence) {
  void* symbol = FindNext(name, version, presence);
  Pointer found = nullptr;
  static_assert(sizeof(found) == sizeof(symbol), "dlsym returns functions as void*");
  memcpy(&found, &symbol, sizeof(found));
  if (found == nullptr) {
    if (presence != kOptional) DieWithoutCall(name);
    found = decltype(TypeOf(*pointer))::Missing;
  }
  __atomic_store_n(pointer, found, __ATOMIC_RELAXED);
}

#define COZ_X(presence, version, result, name, parameters, arguments) \
  result First_##name parameters {                                    \
    ResolveRealCalls();                                               \
    return g_real.name arguments;                                     \
  }
COZ_WRAPPED_CALLS(COZ_X)
#undef COZ_X

void ResolveRealOldCalls() {
#define COZ_X(presence, version, result, name, parameters, arguments) \
  Resolve(&g_real_old.name, #name, version, presence);
  COZ_OLD_CALLS(COZ_X)
#undef COZ_X
}

#define COZ_X(presence, version, result, name, parameters, arguments) \
  result FirstOld_##name parameters {                                 \
    ResolveRealOldCalls();                                            \
    return g_real_old.name arguments;                                 \
  }
COZ_OLD_CALLS(COZ_X)
#undef COZ_X

}  // namespace

RealOldCalls g_real_old = {
#define COZ_X(presence, version, result, name, parameters, arguments) FirstOld_##name,
    COZ_OLD_CALLS(COZ_X)
#undef COZ_X
};

RealCalls g_real = {
#define COZ_X(presence, version, result, name, parameters, arguments) First_##name,
    COZ_WRAPPED_CALLS(COZ_X)
#undef COZ_X
};

void ResolveRealCalls() {
#define COZ_X(presence, version, result, name, parameters, arguments) \
  Resolve(&g_real.name, #name, version, presence);
  COZ_WRAPPED_CALLS(COZ_X)
#undef COZ_X
  if (IsLibcs(g_real.pthread_mutex_trylock) && IsLibcs(g_real.pthread_mutex_unlock)) {
    CheckFreeMutexes(g_real.pthread_mutex_trylock, g_real.pthread_mutex_unlock);
  }
}

}  // namespace coz::interpose
