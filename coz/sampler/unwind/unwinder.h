// Walks from the registers of interrupted code out through its callers until one lies in scope.
//
// Shape    the leaf, then one caller after the other, at most kMaxUnwindFrames
// Units    runtime addresses
// Errors   a walk that ends early returns false; one counter per reason says how often that was
// Threads  safe: no lock; the cache of decoded rules is shared and lock-free
// Signals  FindFirstInScope, WalkOutwards and ForgetUnwindCache are async-signal-safe: no heap, no
//          lock, no dynamic TLS, under 4 KiB of stack (libunwind: more), and a corrupt stack cannot
//          make them fault. InitUnwinder and Prepare… belong outside handlers
// Source   DWARF 5 section 6.4; LSB "Exception Frames"; glibc manual on _dl_find_object
#ifndef COZ_SAMPLER_UNWIND_UNWINDER_H_
#define COZ_SAMPLER_UNWIND_UNWINDER_H_

#include <ucontext.h>

#include <cstdint>

namespace coz::sampler {

inline constexpr int kMaxUnwindFrames = 8192;

// True when the code at `lookup_address` is in scope. The leaf comes with its exact address; a
// caller with its return address - 1, which lies within the call instruction. Runs in signal
// context.
using InScopePredicate = bool (*)(uint64_t lookup_address, void* argument);

enum class UnwinderKind : uint8_t {
  kNone = 0,       // only the leaf is looked at
  kEhFrame = 1,    // our own stepper over .eh_frame; needs glibc 2.35 (_dl_find_object)
  kLibunwind = 2,  // libunwind.so.8, if it can be loaded
};

// Every walk ends in one of these ways.
struct UnwinderCounters {
  uint64_t found = 0;
  uint64_t reached_end = 0;  // whole callchain walked, nothing in scope
  uint64_t no_cfi = 0;       // code without call frame information
  uint64_t bad_cfi = 0;      // call frame information that is broken or not for x86-64
  uint64_t bad_memory = 0;   // a stack address that cannot be read
  uint64_t too_deep = 0;     // kMaxUnwindFrames
};

// Chooses the implementation once, before the first walk: `preferred`, or the other one where that
// is missing. kNone: the best. Returns what will be used.
UnwinderKind InitUnwinder(UnwinderKind preferred = UnwinderKind::kNone);

// In each new thread, outside handlers: notes the bounds of its stack, so that a walk need not ask
// the kernel whether an address can be read, and lets libunwind allocate its per-thread data now.
void PrepareThreadForUnwinding();

// The same at less cost, first in a thread that libc has made: see RememberStackOfNewThread.
void PrepareNewThreadForUnwinding(uint64_t stack_bytes);

// From now on, a frame whose code has no call frame information is left by its frame pointer, as
// compilers that compile while the program runs keep one. UnwinderKind::kEhFrame alone does so.
// Async-signal-safe.
void FollowFramePointers();

// From now on, code without call frame information is looked up in this table of Go's, which stays
// where it is. UnwinderKind::kEhFrame alone does so. Async-signal-safe.
void FollowGoFunctions(const uint8_t* table, uint64_t bytes);

// Call after dlclose: other code may then lie at addresses in the cache. From a handler only where
// the unwinder is kEhFrame.
void ForgetUnwindCache();

// The first address in scope on the callchain of `context`, its leaf included, as it was given to
// `in_scope`. On false *lookup_address is unchanged.
bool FindFirstInScope(const ucontext_t* context, InScopePredicate in_scope, void* argument,
                      uint64_t* lookup_address);

enum class WalkResult : uint8_t {
  kStopped,    // by `visit`
  kOutermost,  // there are no more callers
  kBroken,     // they cannot be followed, or are too many
};

// Shows `visit` the callchain from the leaf outwards until it returns true. Async-signal-safe.
WalkResult WalkOutwards(const ucontext_t* context, InScopePredicate visit, void* argument);

UnwinderCounters ReadUnwinderCounters();

}  // namespace coz::sampler

#endif  // COZ_SAMPLER_UNWIND_UNWINDER_H_
