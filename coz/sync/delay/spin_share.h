// How large a share of its time a thread has spun of late.
//
// A thread that spins on memory waits. No call tells when this wait begins and ends, or which
// thread ends it. Samples tell how often the thread is found spinning. That share of its time is
// credited, as if wakers that have paid had ended its waits. At best the prediction is as good as
// for a wrapped wait. Where a waker pays only after it has written, the spinning thread goes on too
// early by that payment, once.
//
// Regular samples keep step with rounds that take as long as a sampling period. They then find the
// thread spinning always or never. So a thread that was found spinning gets *spin probes*: extra
// samples at random times, exponentially distributed.
//
// Shape    SpinShare: one per thread, in its ledger; zero: never found spinning
// Units    shares in kWhole
// Errors   none
// Threads  the owner only
// Signals  async-signal-safe
// Source   docs/design/waits-and-credit.md
#ifndef COZ_SYNC_DELAY_SPIN_SHARE_H_
#define COZ_SYNC_DELAY_SPIN_SHARE_H_

#include <algorithm>
#include <cstdint>

namespace coz::delay {

class SpinShare {
 public:
  static constexpr uint32_t kWhole = 1 << 15;
  // Probing ends after this many probes in a row that do not find the thread spinning.
  static constexpr uint32_t kProbesInVain = 128;
  // The mean time between probes, in sampling periods. A probe costs as much as a sample.
  static constexpr uint64_t kPeriodsBetweenProbes = 4;

  void Reset() { *this = SpinShare(); }

  // Notes whether the thread was found spinning. It must not be in a wrapped wait.
  void Note(bool spins) {
    constexpr uint32_t kSamples = 16;
    const uint32_t before = share_ - share_ / kSamples;
    share_ = static_cast<uint16_t>(before + (spins ? kWhole / kSamples : 0));
  }

  // Begins probing, after a sample that is no probe has found the thread spinning.
  void BeginProbes() { probes_left_ = kProbesInVain; }

  // As Note, for a probe. Returns whether another probe is to follow.
  bool NoteProbe(bool spins) {
    Note(spins);
    probes_left_ = static_cast<uint8_t>(spins ? kProbesInVain : probes_left_ - 1);
    return probes_left_ != 0;
  }

  // A thread that tries to take a lock again and again spins, too. So many vain tries before a
  // sample tell it: a loop of them makes thousands in a sampling period.
  static constexpr uint32_t kTriesOfALoop = 64;
  // Behind each call that takes a lock or fails at once. A sample in between may add to the tries
  // that it has taken.
  void NoteTry(bool is_vain) {
    if (!is_vain) {
      vain_tries_ = 0;
    } else if (vain_tries_ < kTriesOfALoop) {
      ++vain_tries_;
    }
  }
  // Called by a sample: since the last one, or since the last try that took the lock.
  uint32_t TakeTries() {
    const uint32_t tries = vain_tries_;
    vain_tries_ = 0;
    return tries;
  }

  // At each sample: the thread has run for `ran_ns` since the last one.
  void Earn(uint64_t ran_ns) {
    const uint64_t spun_ns = ran_ns * share_ / kWhole;
    unspent_ns_ = static_cast<uint32_t>(
        std::min({unspent_ns_ + spun_ns, kKeptRuns * spun_ns, kMostUnspentNs}));
  }
  // How much of `owed_ns` is credited for time that the thread has spun.
  uint64_t Spend(uint64_t owed_ns) {
    const auto spent_ns = static_cast<uint32_t>(std::min<uint64_t>(owed_ns, unspent_ns_));
    unspent_ns_ -= spent_ns;
    return spent_ns;
  }

 private:
  // A thread may have spun between two samples and owe for it only behind the next one.
  static constexpr uint64_t kKeptRuns = 2;

  static constexpr uint64_t kMostUnspentNs = UINT32_MAX;

  uint32_t unspent_ns_ = 0;
  uint16_t share_ = 0;
  uint8_t probes_left_ = 0;
  uint8_t vain_tries_ = 0;
};

}  // namespace coz::delay

#endif  // COZ_SYNC_DELAY_SPIN_SHARE_H_
