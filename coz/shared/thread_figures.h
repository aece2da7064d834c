// What a thread has done under its present name, and the figures of threads that have ended.
//
// Shape    each thread slot holds the figures of its thread. When the thread ends or changes its
//          name, they go into a ring that the supervisor reads. So a slot that passes on to another
//          thread mixes nothing
// Units    sampling periods; visits; ns of CLOCK_MONOTONIC and of CPU time
// Errors   what finds the ring full is counted, with its samples
// Threads  the slot's thread writes its figures, everyone may read them (`changes`). The ring: any
//          thread of any process writes, the supervisor reads
// Signals  lock-free
// Source   docs/threads.md
#ifndef COZ_SHARED_THREAD_FIGURES_H_
#define COZ_SHARED_THREAD_FIGURES_H_

#include <atomic>
#include <cstdint>
#include <cstring>

#include "coz/shared/call_timers.h"
#include "coz/shared/points.h"
#include "coz/shared/thread_scope.h"

namespace coz::shared {

// As two words, so that who reads it while it changes sees halves of names, and no torn bytes.
struct ThreadName {
  uint64_t words[kThreadNameBytes / sizeof(uint64_t)];

  bool operator==(const ThreadName& other) const {
    return words[0] == other.words[0] && words[1] == other.words[1];
  }
  // Copies it with the NUL at its end.
  void Get(char (&text)[kThreadNameBytes]) const {
    memcpy(text, words, sizeof(text));
    text[kThreadNameBytes - 1] = '\0';
  }
};
static_assert(sizeof(ThreadName) == kThreadNameBytes);

struct ThreadFigures {
  std::atomic<uint32_t> changes;  // odd while the figures pass to another thread or name
  std::atomic<uint32_t> is_in_scope;
  std::atomic<uint32_t> group;  // as ThreadGroupOf says
  std::atomic<uint64_t> name[2];
  std::atomic<uint64_t> start_ns;
  std::atomic<uint64_t> samples;
  std::atomic<uint64_t> samples_in_scope;  // in code and thread
  std::atomic<uint64_t> cpu_start_ns;      // of its CPU time, when the figures began
  std::atomic<uint64_t> cpu_ns;            // written at the end; 0: not known
  // The slot's counters when the figures began.
  std::atomic<uint64_t> visits_before[kMaxPoints];
};

struct EndedThread {
  std::atomic<uint64_t> written;  // its number in the ring + 1, once the rest is there
  int32_t pid;
  int32_t tid;
  ThreadName name;
  uint64_t start_ns;
  uint64_t end_ns;
  uint64_t samples;
  uint64_t samples_in_scope;
  uint64_t cpu_ns;
  uint64_t visits[kMaxPoints];
  CallSums times[kMaxTimedFunctions];
};

inline constexpr uint32_t kMaxEndedThreads = 4096;  // that have not been read yet
struct EndedThreads {
  std::atomic<uint32_t> has_reader;  // 0: nothing is to be written
  alignas(64) std::atomic<uint64_t> next;
  alignas(64) std::atomic<uint64_t> read;  // so many have been read; the supervisor writes it
  std::atomic<uint64_t> lost;
  std::atomic<uint64_t> lost_samples;
  EndedThread threads[kMaxEndedThreads];
};

}  // namespace coz::shared

#endif  // COZ_SHARED_THREAD_FIGURES_H_
