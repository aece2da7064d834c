// Finds the real function for a wrapped call of another library than libc: libgomp, liburing. A
// process may have no such library, one, or several.
//
// Shape    a call is bound as the loader would have bound it: to the first such library after the
//          runtime in the global scope, else to the one that the caller's library depends on
// Units    none
// Errors   where there is no definition, a message and abort. The loader must have found one when
//          it bound the caller
// Threads  safe
// Signals  async-signal-safe only from the second call from the same place on
// Source   dlsym(3), dladdr1(3)
#ifndef COZ_SYNC_INTERPOSE_LIBRARY_CALLS_H_
#define COZ_SYNC_INTERPOSE_LIBRARY_CALLS_H_

#include <atomic>

namespace coz::interpose {

struct LibraryCall {
  const char* name;
  std::atomic<void*> in_global_scope{nullptr};
};

void* FindLibraryCall(LibraryCall& call, const void* caller);

// Returns the real function of `call`, for a call from `caller`.
template <typename Function>
inline Function* RealLibraryCall(LibraryCall& call, const void* caller) {
  void* found = call.in_global_scope.load(std::memory_order_relaxed);
  if (__builtin_expect(found == nullptr, 0)) found = FindLibraryCall(call, caller);
  return reinterpret_cast<Function*>(found);
}

}  // namespace coz::interpose

#endif  // COZ_SYNC_INTERPOSE_LIBRARY_CALLS_H_
