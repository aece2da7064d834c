// Binds calls of other libraries than libc to the real ones. Process: target. Context: the
// program's threads.
#include "coz/sync/interpose/library_calls.h"

#include <dlfcn.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

namespace coz::interpose {
namespace {

// The function that a call from one place is bound to. Entries stay for ever. There are at most as
// many as there are places in code that make such calls.
struct Binding {
  const LibraryCall* call;
  const void* caller;
  void* function;
  Binding* next;
};
constexpr size_t kBuckets = 256;
std::atomic<Binding*> g_bindings[kBuckets];

std::atomic<Binding*>& BucketOf(const void* caller) {
  return g_bindings[(reinterpret_cast<uintptr_t>(caller) >> 4) % kBuckets];
}

// Looks for the function in the caller's library and the libraries that it depends on.
void* FindForCaller(const char* name, const void* caller) {
  Dl_info info;
  link_map* map = nullptr;
  if (dladdr1(caller, &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) == 0) return nullptr;
  const bool is_program = map->l_name == nullptr || map->l_name[0] == '\0';
  void* library = dlopen(is_program ? nullptr : map->l_name, RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return nullptr;
  void* function = dlsym(library, name);
  dlclose(library);
  return function;
}

}  // namespace

void* FindLibraryCall(LibraryCall& call, const void* caller) {
  std::atomic<Binding*>& bucket = BucketOf(caller);
  for (Binding* binding = bucket.load(std::memory_order_acquire); binding != nullptr;
       binding = binding->next) {
    if (binding->call == &call && binding->caller == caller) return binding->function;
  }
  if (void* function = dlsym(RTLD_NEXT, call.name)) {
    call.in_global_scope.store(function, std::memory_order_relaxed);
    return function;
  }
  void* function = FindForCaller(call.name, caller);
  if (function == nullptr) {
    fprintf(stderr, "coz: no library of the program has %s\n", call.name);
    abort();
  }
  if (Binding* binding = static_cast<Binding*>(malloc(sizeof(Binding)))) {
    *binding = {&call, caller, function, bucket.load(std::memory_order_relaxed)};
    while (!bucket.compare_exchange_weak(binding->next, binding, std::memory_order_release,
                                         std::memory_order_relaxed)) {
    }
  }
  return function;
}

}  // namespace coz::interpose
