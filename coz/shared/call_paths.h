// Units of several parts, numbered as they are met: call paths, which are a function with those
// that called it, and what a unit is in one group of threads.
//
// Shape    a hash table that only grows. An entry is one word, `inner + 1 : 32 | caller : 32`:
//          `inner` is a function or another path, and `caller` the function that called its
//          outermost one, or a group of threads, which comes last. So "f < g < h" takes two
//          entries, and a path of one function none. The unit of an entry is its place behind
//          kFirstPathUnit
// Units    unit numbers; those of functions are below kFirstPathUnit
// Errors   PathUnit, UnitInThreadGroup: kNoUnit where the table has no room; the caller counts it
// Threads  safe, across processes: whoever meets a path first enters it
// Signals  async-signal-safe; at most kMostPathProbes entries are looked at for each caller
// Source   docs/design/sampling.md, "Call paths"
#ifndef COZ_SHARED_CALL_PATHS_H_
#define COZ_SHARED_CALL_PATHS_H_

#include <atomic>
#include <cstdint>

#include "coz/shared/selection.h"
#include "coz/shared/thread_scope.h"

namespace coz::shared {

inline constexpr uint32_t kMaxCallPaths = 1 << 14;
inline constexpr uint32_t kMostPathProbes = 64;
inline constexpr uint32_t kFirstPathUnit = 0x80000000;
// In place of a caller: it is too far out, or the call chain is broken before it.
inline constexpr uint32_t kUnknownCaller = 0xfffffffe;
// Of a path, the innermost included.
inline constexpr uint32_t kMaxPathFunctions = 5;
// Groups of threads in place of a caller. There are no more of them than patterns, and the others.
inline constexpr uint32_t kFirstThreadGroup = 0xffffff00;
static_assert(kFirstThreadGroup + kMaxThreadPatterns < kUnknownCaller);
// Functions, and a group of threads.
inline constexpr uint32_t kMaxUnitParts = kMaxPathFunctions + 1;

struct CallPaths {
  std::atomic<uint64_t> entries[kMaxCallPaths];  // 0: free
};

// The functions of one path, from the innermost outwards.
class CallPath {
 public:
  explicit CallPath(uint32_t callers)
      : wanted_(callers < kMaxPathFunctions ? callers + 1 : kMaxPathFunctions) {}

  // Goes on with the function further out. One that the path has already is left out, so recursion
  // folds. Returns whether the path has all its callers.
  bool Add(uint32_t function) {
    if (IsComplete()) return true;
    for (uint32_t i = 0; i < count_; ++i) {
      if (functions_[i] == function) return false;
    }
    functions_[count_++] = function;
    return IsComplete();
  }

  bool IsComplete() const { return count_ == wanted_; }
  uint32_t count() const { return count_; }
  uint32_t at(uint32_t index) const { return functions_[index]; }

 private:
  uint32_t wanted_;
  uint32_t count_ = 0;
  uint32_t functions_[kMaxPathFunctions] = {};
};

namespace call_paths_internal {

inline uint32_t EntryOf(CallPaths& paths, uint64_t word) {
  uint64_t hash = word * 0x9e3779b97f4a7c15;
  hash ^= hash >> 29;
  for (uint32_t probe = 0; probe < kMostPathProbes; ++probe) {
    const uint32_t at = static_cast<uint32_t>(hash + probe) % kMaxCallPaths;
    uint64_t found = paths.entries[at].load(std::memory_order_relaxed);
    // Relaxed: the word says all. Who reads it by a number got the number from a sample.
    if (found == 0 &&
        paths.entries[at].compare_exchange_strong(found, word, std::memory_order_relaxed)) {
      return at;
    }
    if (found == word) return at;
  }
  return kMaxCallPaths;
}

}  // namespace call_paths_internal

// The unit of a path that is not empty.
inline uint32_t PathUnit(CallPaths& paths, const CallPath& path) {
  uint32_t unit = path.at(0);
  for (uint32_t i = 1; i < path.count(); ++i) {
    const uint32_t entry =
        call_paths_internal::EntryOf(paths, (uint64_t{unit} + 1) << 32 | path.at(i));
    if (entry == kMaxCallPaths) return kNoUnit;
    unit = kFirstPathUnit + entry;
  }
  return unit;
}

// What `unit` is in the threads of a group.
inline uint32_t UnitInThreadGroup(CallPaths& paths, uint32_t unit, uint32_t group) {
  const uint32_t entry =
      call_paths_internal::EntryOf(paths, (uint64_t{unit} + 1) << 32 | (kFirstThreadGroup + group));
  return entry == kMaxCallPaths ? kNoUnit : kFirstPathUnit + entry;
}

// The parts of a unit, the outermost first. Returns how many; 0 where the table has no such unit,
// whatever has been written into it.
inline uint32_t PartsOfUnit(const CallPaths& paths, uint32_t unit,
                            uint32_t (&parts)[kMaxUnitParts]) {
  uint32_t count = 0;
  for (; unit >= kFirstPathUnit; ++count) {
    if (unit - kFirstPathUnit >= kMaxCallPaths || count + 1 == kMaxUnitParts) return 0;
    const uint64_t word = paths.entries[unit - kFirstPathUnit].load(std::memory_order_relaxed);
    if (word == 0) return 0;
    parts[count] = static_cast<uint32_t>(word);
    unit = static_cast<uint32_t>((word >> 32) - 1);
  }
  parts[count] = unit;
  return count + 1;
}

}  // namespace coz::shared

#endif  // COZ_SHARED_CALL_PATHS_H_
