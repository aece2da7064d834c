// Walks with libunwind, where libc has no _dl_find_object, and as the oracle of tests.
//
// Shape    a callback per frame, the leaf first
// Units    runtime addresses
// Errors   an enum; InitLibunwind: false where libunwind.so.8 cannot be loaded
// Threads  safe
// Signals  WalkWithLibunwind is async-signal-safe in threads that were prepared; the others are not
// Source   libunwind(3), unw_init_local2(3)
//
// libunwind also defines backtrace and _Unwind_*, so it is loaded where nobody else sees it, and
// never linked.
#ifndef COZ_SAMPLER_UNWIND_LIBUNWIND_STEPPER_H_
#define COZ_SAMPLER_UNWIND_LIBUNWIND_STEPPER_H_

#include <ucontext.h>

#include <cstdint>

namespace coz::sampler {

bool InitLibunwind();

// Lets libunwind allocate this thread's data now.
void PrepareThreadForLibunwind();

// After dlclose. Not from a handler.
void ForgetLibunwindCache();

enum class WalkEnd : uint8_t { kStopped, kOutermost, kError, kTooDeep };

// Calls `visit` with the lookup address of each frame until it returns true.
WalkEnd WalkWithLibunwind(const ucontext_t* context, int max_frames,
                          bool (*visit)(uint64_t lookup_address, void* argument), void* argument);

}  // namespace coz::sampler

#endif  // COZ_SAMPLER_UNWIND_LIBUNWIND_STEPPER_H_
