// How much of its time a thread has spun of late.
//
// A thread that spins on memory waits, and no call tells from when until when, nor for whom.
// Samples tell how often it is found spinning. So much of what it owes is credited, as if by wakers
// who have paid. At best the prediction is that of a wait. Where a waker pays only after it has
// written, the spinning thread is early by that once.
//
// Regular samples keep step with rounds that take as long as a sampling period, and then find the
// thread spinning always, or never. So a thread that was found spinning is asked by *spin probes*:
// extra samples at random times, exponentially distributed.
//
// Shape    SpinShare: one per thread, in its ledger; zero: never found spinning
// Units    shares in kWhole
// Errors   none
// Threads  the owner's only
// Signals  async-signal-safe
// Source   docs/design/waits-and-credit.md
#ifndef COZ_SYNC_DELAY_SPIN_SHARE_H_
#define COZ_SYNC_DELAY_SPIN_SHARE_H_

#include <cstdint>

namespace coz::delay {

class SpinShare {
 public:
  static constexpr uint32_t kWhole = 1 << 16;
  // So many probes in a row that find the thread not spinning end the probing.
  static constexpr uint32_t kProbesInVain = 128;
  // The mean time between probes. A probe costs what a sample does.
  static constexpr uint64_t kPeriodsBetweenProbes = 4;

  void Reset() { *this = SpinShare(); }

  // The thread, which is in no wrapped wait, was found spinning or not.
  void Note(bool spins) {
    constexpr uint32_t kSamples = 16;
    share_ -= share_ / kSamples;
    if (spins) share_ += kWhole / kSamples;
  }

  // A sample has found the thread spinning, which is no probe itself: probes begin.
  void BeginProbes() { probes_left_ = kProbesInVain; }

  // As Note, by a probe. Whether another one is to follow.
  bool NoteProbe(bool spins) {
    Note(spins);
    probes_left_ = spins ? kProbesInVain : probes_left_ - 1;
    return probes_left_ != 0;
  }

  uint64_t Of(uint64_t ran_ns) const { return ran_ns * share_ / kWhole; }

 private:
  uint32_t share_ = 0;
  uint32_t probes_left_ = 0;
};

}  // namespace coz::delay

#endif  // COZ_SYNC_DELAY_SPIN_SHARE_H_
