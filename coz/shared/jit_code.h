// Which code that a process has compiled while it runs belongs to which unit.
//
// Shape    a table for each process that says so, behind the control block, at the offset that its
//          process slot has. Two copies: the supervisor writes one while the process reads the
//          other
// Units    runtime addresses of the process; units of the experiment
// Errors   FindJitUnit: false where the address is in no code that is known
// Threads  one writer, the supervisor; any number of readers
// Signals  FindJitUnit is async-signal-safe
// Source   docs/units.md
#ifndef COZ_SHARED_JIT_CODE_H_
#define COZ_SHARED_JIT_CODE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace coz::shared {

inline constexpr uint32_t kMaxJitRanges = 1 << 16;

struct JitRange {
  std::atomic<uint64_t> start;
  std::atomic<uint64_t> end;
  std::atomic<uint32_t> unit;  // kNoUnit: out of scope
};

struct JitCode {
  // See JitOwner. The slot may have passed to another process, or the process to another program.
  std::atomic<uint64_t> owner;
  std::atomic<uint32_t> version;  // tables[version % 2] is complete
  struct Table {
    std::atomic<uint32_t> count;
    JitRange ranges[kMaxJitRanges];  // by their start; none overlaps another
  } tables[2];
};

inline uint64_t JitOwner(int32_t pid, uint32_t image) {
  return uint64_t{static_cast<uint32_t>(pid)} << 32 | image;
}

// A table of `owner` from now on.
template <typename ForEachRange>
void PublishJitCode(JitCode& code, uint64_t owner, ForEachRange for_each_range) {
  const uint32_t version = code.version.load(std::memory_order_relaxed) + 1;
  JitCode::Table& table = code.tables[version % 2];
  // Who reads this copy still, and sees what follows, sees the newer version too.
  std::atomic_thread_fence(std::memory_order_release);
  uint32_t count = 0;
  for_each_range([&table, &count](uint64_t start, uint64_t end, uint32_t unit) {
    if (count == kMaxJitRanges) return;
    JitRange& range = table.ranges[count++];
    range.start.store(start, std::memory_order_relaxed);
    range.end.store(end, std::memory_order_relaxed);
    range.unit.store(unit, std::memory_order_relaxed);
  });
  table.count.store(count, std::memory_order_relaxed);
  code.version.store(version, std::memory_order_release);
  code.owner.store(owner, std::memory_order_release);
}

// The unit at `address`, or kNoUnit where the code there is out of scope. False, and `*unit` as it
// was, where no code is known there, or the table has changed meanwhile.
inline bool FindJitUnit(const JitCode& code, uint64_t owner, uint64_t address, uint32_t* unit) {
  const uint32_t version = code.version.load(std::memory_order_acquire);
  if (code.owner.load(std::memory_order_acquire) != owner) return false;
  const JitCode::Table& table = code.tables[version % 2];
  uint32_t first = 0;
  uint32_t last = table.count.load(std::memory_order_relaxed);
  if (last > kMaxJitRanges) return false;
  // `first` becomes the first range that starts behind the address.
  while (first < last) {
    const uint32_t middle = first + (last - first) / 2;
    if (table.ranges[middle].start.load(std::memory_order_relaxed) <= address) {
      first = middle + 1;
    } else {
      last = middle;
    }
  }
  if (first == 0) return false;
  const JitRange& range = table.ranges[first - 1];
  const uint64_t end = range.end.load(std::memory_order_relaxed);
  const uint32_t unit_there = range.unit.load(std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_acquire);
  if (address >= end || code.version.load(std::memory_order_relaxed) != version) return false;
  *unit = unit_there;
  return true;
}

}  // namespace coz::shared

#endif  // COZ_SHARED_JIT_CODE_H_
