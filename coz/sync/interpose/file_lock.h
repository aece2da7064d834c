// What a thread does before it lets go of a lock on a file, in whatever way.
//
// Shape    a table by descriptor: whether a lock was asked for through it, and which local delay
//          was left there for those that wait for locks of the file
// Units    ns of local delay
// Errors   all locks of a file have one key, whatever their kind and range. A lock that goes with
//          another descriptor of its file than it was taken through, or with its process, tells
//          nothing: who waits for it goes without credit
// Threads  safe
// Signals  async-signal-safe; keeps errno
// Source   flock(2), fcntl(2)
#ifndef COZ_SYNC_INTERPOSE_FILE_LOCK_H_
#define COZ_SYNC_INTERPOSE_FILE_LOCK_H_

#include <atomic>
#include <cstdint>

namespace coz::interpose {
namespace file_lock_internal {

constexpr unsigned kDescriptors = 1 << 16;  // those beyond share entries

// 0: no lock was asked for. Else the local delay that was last left, plus 1.
extern std::atomic<uint64_t> g_told_plus_1[kDescriptors] __attribute__((visibility("hidden")));

inline std::atomic<uint64_t>& ToldPlus1(int fd) {
  return g_told_plus_1[static_cast<unsigned>(fd) % kDescriptors];
}

void ReleaseWith(int fd);

}  // namespace file_lock_internal

// Before `fd` is closed, and with it its locks.
inline void PayBeforeLocksGoWith(int fd) {
  if (__builtin_expect(file_lock_internal::ToldPlus1(fd).load(std::memory_order_relaxed) != 0, 0)) {
    file_lock_internal::ReleaseWith(fd);
  }
}

}  // namespace coz::interpose

#endif  // COZ_SYNC_INTERPOSE_FILE_LOCK_H_
