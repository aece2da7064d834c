#include "coz/sampler/unwind/libunwind_stepper.h"

#include <dlfcn.h>
#include <ucontext.h>

#include "coz/sampler/unwind/sigreturn.h"
#include "coz/sampler/unwind/stack_reader.h"

namespace coz::sampler {
namespace {

// The part of libunwind's interface that is used, version 8 of its library, x86-64.
struct Cursor {
  uint64_t opaque[127];
};
constexpr int kInitSignalFrame = 1;
constexpr int kCachePerThread = 2;
constexpr int kRegisterIp = 16;

struct Library {
  int (*init_local2)(Cursor* cursor, ucontext_t* context, int flag);
  int (*step)(Cursor* cursor);
  int (*get_reg)(Cursor* cursor, int number, uint64_t* value);
  int (*set_caching_policy)(void* address_space, int policy);
  void (*flush_cache)(void* address_space, uint64_t low, uint64_t high);
  void** local_address_space;
};

Library library = {};
bool is_loaded = false;

template <typename T>
bool Load(void* handle, const char* name, T* pointer) {
  *pointer = reinterpret_cast<T>(dlsym(handle, name));
  return *pointer != nullptr;
}

}  // namespace

bool InitLibunwind() {
  if (is_loaded) return true;
  void* handle = dlopen("libunwind.so.8", RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return false;
  is_loaded = Load(handle, "_ULx86_64_init_local2", &library.init_local2) &&
              Load(handle, "_ULx86_64_step", &library.step) &&
              Load(handle, "_ULx86_64_get_reg", &library.get_reg) &&
              Load(handle, "_ULx86_64_set_caching_policy", &library.set_caching_policy) &&
              Load(handle, "_Ux86_64_flush_cache", &library.flush_cache) &&
              Load(handle, "_ULx86_64_local_addr_space", &library.local_address_space);
  if (is_loaded) library.set_caching_policy(*library.local_address_space, kCachePerThread);
  return is_loaded;
}

// It raises a generation number, by which every thread's cache sees that it is stale.
void ForgetLibunwindCache() {
  if (is_loaded) library.flush_cache(*library.local_address_space, 0, 0);
}

void PrepareThreadForLibunwind() {
  if (!is_loaded) return;
  ucontext_t here;
  if (getcontext(&here) != 0) return;
  const int frames_enough_to_fill_a_cache_entry = 4;
  WalkWithLibunwind(
      &here, frames_enough_to_fill_a_cache_entry, +[](uint64_t, void*) { return false; }, nullptr);
}

WalkEnd WalkWithLibunwind(const ucontext_t* context, int max_frames,
                          bool (*visit)(uint64_t lookup_address, void* argument), void* argument) {
  Cursor cursor;
  if (library.init_local2(&cursor, const_cast<ucontext_t*>(context), kInitSignalFrame) < 0) {
    return WalkEnd::kError;
  }
  StackReader memory(0);
  bool is_exact = true;
  for (int depth = 0; depth < max_frames; ++depth) {
    uint64_t ip = 0;
    if (library.get_reg(&cursor, kRegisterIp, &ip) < 0) return WalkEnd::kError;
    if (ip == 0) return WalkEnd::kOutermost;
    if (visit(ip - (is_exact ? 0 : 1), argument)) return WalkEnd::kStopped;
    // Not unw_is_signal_frame: in version 1.6 it answers for the frame before.
    is_exact = IsInSigreturn(&memory, ip);
    const int result = library.step(&cursor);
    if (result == 0) return WalkEnd::kOutermost;
    if (result < 0) return WalkEnd::kError;
  }
  return WalkEnd::kTooDeep;
}

}  // namespace coz::sampler
