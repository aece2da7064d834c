// What changing code asks of the kernel.
//
// Shape    functions on the calling process
// Units    runtime addresses; bytes
// Errors   false
// Threads  safe
// Signals  async-signal-safe: raw system calls
// Source   mprotect(2), mincore(2), membarrier(2), proc(5)
#ifndef COZ_PATCH_CODE_MEMORY_H_
#define COZ_PATCH_CODE_MEMORY_H_

#include <cstddef>
#include <cstdint>

namespace coz::patch {

bool IsMapped(uint64_t address, size_t bytes);

// A page of executable memory at this address, which is unused.
bool MapStubPage(uint64_t page);

// Makes the pages of these bytes writable and executable, or executable alone.
bool AllowWriting(uint64_t address, size_t bytes);
void ForbidWriting(uint64_t address, size_t bytes);

// When it returns, every thread of the process executes the code as it is now.
bool SyncCores();

bool HasOneThread();

// The processor checks return addresses against a stack of its own.
bool HasShadowStack();

}  // namespace coz::patch

#endif  // COZ_PATCH_CODE_MEMORY_H_
