// Recognises a loop that waits without the instruction `pause`: one that computes nothing.
//
// Such a loop loads from where another thread will write, compares, and goes round. It stores
// nothing but variables of its function's frame, and by an exchange or a compare-and-exchange. Its
// registers and those variables hold constants, what it has loaded, and perhaps a count of rounds.
// What it loads never says where it loads next, unlike in a walk along a list, and is compared with
// something else than that count. So each round does what the round before did, until another
// thread writes.
//
// Shape    a function of an address in code
// Units    bytes
// Errors   a loop with any other instruction, one that is longer than kLongestPollingLoop, and one
//          that lies on two pages are not recognised
// Threads  safe
// Signals  async-signal-safe
// Source   Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2, opcode map
#ifndef COZ_SYNC_DELAY_POLLING_LOOP_H_
#define COZ_SYNC_DELAY_POLLING_LOOP_H_

#include <cstdint>

namespace coz::delay {

inline constexpr uint64_t kLongestPollingLoop = 64;

// Whether the instruction at `ip` is in such a loop. The page of `ip` must be readable. No other
// page is read.
bool IsInPollingLoop(uint64_t ip);

}  // namespace coz::delay

#endif  // COZ_SYNC_DELAY_POLLING_LOOP_H_
