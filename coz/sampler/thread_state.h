// Which event samples a thread.
//
// A thread begins with the event that all threads inherit. Where threads are short
// (short_threads.h), a new one is sampled in another way until it proves to be long.
//
// Shape    ThreadState: one per thread; a new one is sampled by the inherited event
// Units    samples
// Errors   none
// Threads  the owner's only
// Signals  async-signal-safe
// Source   docs/design/sampling.md
#ifndef COZ_SAMPLER_THREAD_STATE_H_
#define COZ_SAMPLER_THREAD_STATE_H_

#include <cstdint>

namespace coz::sampler {

enum class SampledBy : uint8_t {
  kInherited,       // the inherited event
  kInheritedRests,  // the same, and its samples also stand for the rests of ended threads
  kOwn,             // an event of its own, whose samples stand for other threads too
  kOthers           // no event: samples of other threads stand for it
};

class ThreadState {
 public:
  // A thread that began short proves to be long with this many samples.
  static constexpr uint32_t kSamplesOfLongThread = 16;

  SampledBy by() const { return by_; }
  // Its own event, if any, is for extra samples.
  bool is_long() const { return by_ == SampledBy::kInherited; }
  // Samples of an own event stand for it.
  bool is_in_a_group() const { return by_ == SampledBy::kOwn || by_ == SampledBy::kOthers; }

  // Whether signals of its own event, or else those of the inherited one, sample the thread.
  bool IsSampledBy(bool own_event) const {
    switch (by_) {
      case SampledBy::kInherited:
      case SampledBy::kInheritedRests:
        return !own_event;
      case SampledBy::kOwn:
        return own_event;
      case SampledBy::kOthers:
        return false;
    }
    return false;
  }

  // From now on no event of its own samples it: it is long or suspended, or has a timer.
  void BecomeLong() { *this = ThreadState(); }
  // The thread starts where threads are short.
  void BeginShort(SampledBy by) {
    by_ = by;
    samples_left_ = by == SampledBy::kInherited ? 0 : kSamplesOfLongThread;
    awaits_first_own_sample_ = by == SampledBy::kOwn;
  }

  enum class Change { kNone, kFirstOwnSample, kProvedLong };
  // A signal of its own event or of the inherited one has come. kProvedLong: the inherited event
  // samples it from the next one on.
  Change NoteSignal(bool own_event) {
    if (by_ == SampledBy::kInherited) return Change::kNone;
    // Of a thread's two events only one counts towards its length.
    const bool has_own = by_ == SampledBy::kOwn;
    if (by_ != SampledBy::kInheritedRests && has_own != own_event) return Change::kNone;
    if (--samples_left_ == 0) {
      BecomeLong();
      return Change::kProvedLong;
    }
    if (!own_event || !awaits_first_own_sample_) return Change::kNone;
    awaits_first_own_sample_ = false;
    return Change::kFirstOwnSample;
  }

 private:
  SampledBy by_ = SampledBy::kInherited;
  bool awaits_first_own_sample_ = false;
  uint32_t samples_left_ = 0;
};

}  // namespace coz::sampler

#endif  // COZ_SAMPLER_THREAD_STATE_H_
