#include "coz/base/reserved_descriptors.h"

namespace coz {

namespace reserved_descriptors_internal {
std::atomic<uint64_t> g_words[kLimit / 64];
}  // namespace reserved_descriptors_internal

namespace {

using reserved_descriptors_internal::g_words;
using reserved_descriptors_internal::kLimit;

constexpr uint64_t BitOf(int fd) { return uint64_t{1} << (fd % 64); }

}  // namespace

bool ReserveDescriptor(int fd) {
  if (fd < 0 || fd >= kLimit) return false;
  g_words[fd / 64].fetch_or(BitOf(fd), std::memory_order_relaxed);
  return true;
}

bool ReleaseDescriptor(int fd) {
  if (fd < 0 || fd >= kLimit) return false;
  return (g_words[fd / 64].fetch_and(~BitOf(fd), std::memory_order_relaxed) & BitOf(fd)) != 0;
}

int NextReservedDescriptor(int from) {
  if (from < 0) from = 0;
  if (from >= kLimit) return -1;
  uint64_t bits = g_words[from / 64].load(std::memory_order_relaxed) & ~(BitOf(from) - 1);
  for (int word = from / 64;;) {
    if (bits != 0) return word * 64 + __builtin_ctzll(bits);
    if (++word == kLimit / 64) return -1;
    bits = g_words[word].load(std::memory_order_relaxed);
  }
}

}  // namespace coz
