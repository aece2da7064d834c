// Goroutines carry virtual time from thread to thread. Changed code of Go's scheduler comes here
// where a thread leaves a goroutine, makes one ready, and goes on with one.
//
// Shape    one routine, for stubs (coz/patch/code_patch.h, CallEdge), whose argument says which of
//          these it is. Goroutines have entries in a table by address; the one that has lost its
//          entry to another goes on from the global delay
// Units    ns of CLOCK_MONOTONIC
// Errors   none
// Threads  safe
// Signals  async-signal-safe
// Source   docs/design/goroutines.md; runtime/proc.go and internal/abi of Go
#ifndef COZ_SYNC_INTERPOSE_GOROUTINES_H_
#define COZ_SYNC_INTERPOSE_GOROUTINES_H_

#include <atomic>
#include <cstdint>

#include "coz/sync/interpose/io_object.h"

namespace coz::interpose {

// Its address. It does nothing while `is_on` is 0: some moments without the others are of no use.
uint64_t GoroutineRoutine(const std::atomic<uint32_t>* is_on);

// Whether the calling thread looks for a goroutine: all of that is one wait, and so its system
// calls are none.
extern __thread bool t_seeks_goroutine
    __attribute__((tls_model("initial-exec"), visibility("hidden")));
inline bool SeeksGoroutine() { return t_seeks_goroutine; }

// A call through `fd` would have waited. Go's runtime has the goroutine that made it wait for the
// descriptor next.
void NoteWouldBlock(int fd, IoSide side);

// Whether the calling thread is one that Go's runtime has to itself, such as its monitor: no moment
// of a goroutine has come there. It owes nothing. To pay, it would hold what it is about to hand to
// another thread, and so keep the world from stopping.
bool IsOfGosRuntime();

}  // namespace coz::interpose

#endif  // COZ_SYNC_INTERPOSE_GOROUTINES_H_
