// The ring through which samples reach the supervisor.
//
// Shape    `lap:24 | weight:8 | unit:32` in each entry. The lap, from 1, tells an entry of this
//          round from one of another. Any thread of the target writes, one reader reads
// Units    a weight is a number of sampling periods, at most 255
// Errors   samples that are overwritten before they are read, or never stored, are counted
// Threads  PushSample: safe, across processes. SampleRingReader: compatible
// Signals  PushSample is async-signal-safe
// Source   docs/design.md, "Shared memory"
#ifndef COZ_SHARED_SAMPLE_RING_H_
#define COZ_SHARED_SAMPLE_RING_H_

#include <atomic>
#include <cstdint>

namespace coz::shared {

inline constexpr uint32_t kSampleRingEntries = 1 << 16;
inline constexpr uint64_t kMostSampleWeight = 255;

struct SampleRing {
  alignas(64) std::atomic<uint64_t> next;  // samples that have been given a place
  alignas(64) std::atomic<uint64_t> entries[kSampleRingEntries];
};

struct RingSample {
  uint32_t unit = 0;
  uint32_t weight = 0;
};

enum class RingEntry {
  kThisLap,
  kOlder,  // its writer has taken the place and not yet stored the sample
  kNewer   // another sample has overwritten it
};

namespace sample_ring_internal {
inline constexpr uint64_t kLapMask = 0xffffff;
inline constexpr uint64_t LapOf(uint64_t index) {
  return (index / kSampleRingEntries + 1) & kLapMask;
}
}  // namespace sample_ring_internal

// The entry of the sample with number `index`. A weight above 255 is stored as 255.
inline constexpr uint64_t EncodeSample(uint64_t index, uint32_t unit, uint64_t weight) {
  return sample_ring_internal::LapOf(index) << 40 |
         (weight < kMostSampleWeight ? weight : kMostSampleWeight) << 32 | unit;
}

// Sets `sample` where `entry` is that of the sample with number `index`.
inline constexpr RingEntry DecodeSample(uint64_t index, uint64_t entry, RingSample* sample) {
  const uint64_t ahead =
      ((entry >> 40) - sample_ring_internal::LapOf(index)) & sample_ring_internal::kLapMask;
  if (ahead != 0) {
    return ahead <= sample_ring_internal::kLapMask / 2 ? RingEntry::kNewer : RingEntry::kOlder;
  }
  *sample = {static_cast<uint32_t>(entry), static_cast<uint32_t>(entry >> 32) & 0xff};
  return RingEntry::kThisLap;
}

inline void PushSample(SampleRing& ring, uint32_t unit, uint64_t weight) {
  const uint64_t index = ring.next.fetch_add(1, std::memory_order_relaxed);
  ring.entries[index % kSampleRingEntries].store(EncodeSample(index, unit, weight),
                                                 std::memory_order_release);
}

class SampleRingReader {
 public:
  explicit SampleRingReader(const SampleRing* ring) : ring_(*ring) {}

  // Calls `visit` with each sample that has come since the last call. It stops before a sample that
  // is still being written. A writer may be killed there: once later samples have waited for half
  // a second, it is given up. `now_ns` is of CLOCK_MONOTONIC.
  template <typename Visit>
  void Drain(uint64_t now_ns, Visit visit) {
    const uint64_t written = ring_.next.load(std::memory_order_acquire);
    SkipOverwritten(written);
    for (; read_ < written; ++read_) {
      RingSample sample;
      const uint64_t entry =
          ring_.entries[read_ % kSampleRingEntries].load(std::memory_order_acquire);
      const RingEntry kind = DecodeSample(read_, entry, &sample);
      if (kind == RingEntry::kOlder && Awaits(written, now_ns)) return;
      stuck_since_ns_ = 0;
      if (kind == RingEntry::kThisLap) {
        visit(sample);
      } else {
        ++lost_;
      }
    }
  }

  uint64_t lost() const { return lost_; }

 private:
  // A thread may lose its CPU between taking its place and storing the sample.
  static constexpr uint64_t kLongestWriteNs = 500'000'000;

  void SkipOverwritten(uint64_t written) {
    if (written - read_ <= kSampleRingEntries) return;
    lost_ += written - read_ - kSampleRingEntries;
    read_ = written - kSampleRingEntries;
  }

  // The last sample holds nothing up, so it is awaited for ever.
  bool Awaits(uint64_t written, uint64_t now_ns) {
    if (written - read_ == 1) return true;
    if (stuck_since_ns_ == 0) stuck_since_ns_ = now_ns;
    return now_ns < stuck_since_ns_ + kLongestWriteNs;
  }

  const SampleRing& ring_;
  uint64_t read_ = 0;  // the number of the next sample
  uint64_t lost_ = 0;
  uint64_t stuck_since_ns_ = 0;  // when the next sample began to hold up later ones; 0: it does not
};

}  // namespace coz::shared

#endif  // COZ_SHARED_SAMPLE_RING_H_
