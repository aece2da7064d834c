// What changing code asks of the kernel.
//
// Shape    functions on the calling process
// Units    runtime addresses; bytes
// Errors   false
// Threads  safe; writing: one at a time
// Signals  async-signal-safe: raw system calls
// Source   mprotect(2), membarrier(2), proc(5)
#ifndef COZ_PATCH_CODE_MEMORY_H_
#define COZ_PATCH_CODE_MEMORY_H_

#include <cstddef>
#include <cstdint>

namespace coz::patch {

// A page of executable memory at this address, which is unused.
bool MapStubPage(uint64_t page);

// Lets these bytes of code be stored, until as many calls have forbidden it again. Their pages get
// writable for that. Where the system lets no code be writable (MemoryDenyWriteExecute of systemd),
// the bytes are stored by way of /proc/self/mem.
bool AllowWriting(uint64_t address, size_t bytes);
void ForbidWriting(uint64_t address, size_t bytes);
// In the child of fork: nobody stores bytes now. The parent's file is that of its memory.
void OnForkOfWriter();
// Each alone is seen whole by all threads.
void StoreByte(uint64_t address, uint8_t byte);

// When it returns, every thread of the process executes the code as it is now.
bool SyncCores();

bool HasOneThread();

// The processor checks return addresses against a stack of its own.
bool HasShadowStack();

}  // namespace coz::patch

#endif  // COZ_PATCH_CODE_MEMORY_H_
