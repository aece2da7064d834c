// The descriptors that the profiler holds open in the program: the program must neither close them
// nor see them in its way.
//
// Shape    one set per process, copied by fork
// Units    descriptor numbers below 65536
// Errors   a number beyond that is not kept
// Threads  safe
// Signals  async-signal-safe
// Source   none
#ifndef COZ_BASE_RESERVED_DESCRIPTORS_H_
#define COZ_BASE_RESERVED_DESCRIPTORS_H_

#include <atomic>
#include <cstdint>

namespace coz {

namespace reserved_descriptors_internal {
inline constexpr int kLimit = 1 << 16;
extern std::atomic<uint64_t> g_words[kLimit / 64];
}  // namespace reserved_descriptors_internal

inline bool IsReservedDescriptor(int fd) {
  using reserved_descriptors_internal::g_words;
  return fd >= 0 && fd < reserved_descriptors_internal::kLimit &&
         (g_words[fd / 64].load(std::memory_order_relaxed) >> (fd % 64) & 1) != 0;
}

// False where it cannot be kept.
bool ReserveDescriptor(int fd);

// False where it was not reserved.
bool ReleaseDescriptor(int fd);

// The lowest reserved one from `from` on, or -1.
int NextReservedDescriptor(int from);

}  // namespace coz

#endif  // COZ_BASE_RESERVED_DESCRIPTORS_H_
