// The limit of address space (RLIMIT_AS), which the profiler's memory counts towards. Servers limit
// it when they serve (vsftpd), and judges of programs before these start. So the program asks for a
// limit and gets that much more, and what it is told is what it has asked for.
//
// Shape    one amount for the process. A limit that was there before the process was profiled is
//          left alone
// Units    bytes
// Errors   an unprivileged program gets no more than its hard limit allows
// Threads  safe; a limit and its amount are two words
// Signals  async-signal-safe
// Source   setrlimit(2); docs/limits.md
#ifndef COZ_SYNC_INTERPOSE_MEMORY_LIMIT_H_
#define COZ_SYNC_INTERPOSE_MEMORY_LIMIT_H_

#include <cstdint>

namespace coz::interpose {

// How much address space the profiler has in this process from now on. 0: none any more, and what
// was added to limits is taken off.
void SetProfilersMemory(uint64_t bytes);

}  // namespace coz::interpose

#endif  // COZ_SYNC_INTERPOSE_MEMORY_LIMIT_H_
