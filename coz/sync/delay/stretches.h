// How a thread's running time divides into stretches, and the delay that accrues while they run.
//
// A *stretch* is the running time from one wrapped call to the next. Between them the thread meets
// no other: when within a stretch delay is imposed makes no difference, but how much is imposed in
// which stretch does. Stretches that begin behind the same call of the program are of one *kind*.
// Samples say what share of a kind is in the selected unit. Its delay then *accrues* with the time
// that stretches of the kind run, instead of all at once in the one stretch that a sample hit.
//
// Shape    Stretches: one per thread, in its ledger; zero until Reset
// Units    ns of CLOCK_MONOTONIC; counts of samples, which fade
// Errors   none
// Threads  the owner's only, but for AccruingForOthers and is_running_at
// Signals  a handler of the same thread may call anything here at any moment. BusyScope makes it
//          leave alone what it has interrupted
// Source   docs/design/delays.md
#ifndef COZ_SYNC_DELAY_STRETCHES_H_
#define COZ_SYNC_DELAY_STRETCHES_H_

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace coz::delay {

// What a sample was in.
enum class SampledUnit : uint8_t { kOther, kSelected, kGiven };

// A sample that fell in the selected unit or in the given one. It stands for `period_ns` of the
// thread's running time and imposes `delay_ns`.
struct SampleDelay {
  SampledUnit unit;
  uint64_t delay_ns;
  uint64_t period_ns;
  uint64_t deadline_ns;  // the end of the experiment
  uint64_t selection;    // as the ledger had it when `delay_ns` was read; not 0
};

// What the rules of spreading are worth is measured by varying them
// (//coz/testing/sim:ablation_report).
struct SpreadRules {
  // False: every sample is imposed at once, as in the paper.
  bool spreads = true;
  // The delay that accrued may differ by so many samples from what samples stand for. Samples that
  // come about as often as a kind of stretch keep step with it. They hit it in many rounds in a
  // row, and then miss it in as many. Ahead is better than behind: what is left at an experiment's
  // end is lost.
  uint64_t most_samples_ahead = 32;
  uint64_t most_samples_behind = 2;
};

class Stretches {
 public:
  static constexpr int kKinds = 8;
  // A rate at which all running time becomes delay.
  static constexpr uint32_t kWholeRate = 1 << 16;

  // Keeps a handler of this thread from what it has interrupted.
  class BusyScope {
   public:
    explicit BusyScope(Stretches& stretches)
        : stretches_(stretches),
          is_first_(stretches.busy_.exchange(1, std::memory_order_relaxed) == 0) {
      std::atomic_signal_fence(std::memory_order_seq_cst);
    }
    ~BusyScope() {
      std::atomic_signal_fence(std::memory_order_seq_cst);
      if (is_first_) stretches_.busy_.store(0, std::memory_order_relaxed);
    }
    BusyScope(const BusyScope&) = delete;
    BusyScope& operator=(const BusyScope&) = delete;

    bool is_first() const { return is_first_; }

   private:
    Stretches& stretches_;
    const bool is_first_;
  };

  // For a new thread.
  void Reset();

  // Delay accrues, for the selection that this is; 0: none.
  uint64_t selection() const { return selection_.load(std::memory_order_relaxed); }
  bool accrues() const { return selection() != 0; }
  uint64_t deadline_ns() const { return deadline_ns_; }
  void EndAccrual() { selection_.store(0, std::memory_order_relaxed); }

  // Where the stretch in progress began.
  const void* site() const { return site_.load(std::memory_order_relaxed); }
  void NoteSite(const void* site) { site_.store(site, std::memory_order_relaxed); }

  // Counts a sample of the stretch in progress, while there is a selection. Kinds are counted for
  // `selected_unit`; of another one they begin anew. Does nothing in a handler that has interrupted
  // one of these functions.
  void Count(SampledUnit sampled, uint32_t selected_unit);

  // Adds what a counted sample stands for. Returns what of it the thread has to impose at once: all
  // where the sample's kind is not spread. Begins to accrue for sample.selection.
  uint64_t Add(const SampleDelay& sample, uint64_t now_ns,
               const SpreadRules& rules = SpreadRules());

  // Lets delay accrue for the running time until now.
  void Accrue(uint64_t now_ns, const SpreadRules& rules = SpreadRules());

  // Adds what samples stand for beyond what has accrued: the thread is at its end.
  void AccrueBalance();

  // The stretch in progress is over, and one behind `site` begins.
  void End(const void* site, uint64_t now_ns);

  // Takes the accrued delay where it is at least so much; else 0.
  uint64_t TakeAccrued(uint64_t least_ns);

  // Whether the next wrapped call ends a stretch. Of calls in quick succession few do.
  bool CallEnds() { return (++calls_ & skipped_calls_) == 0; }

  // The thread runs no more: it is about to wait or to pause.
  void Stop(uint64_t now_ns) {
    const uint64_t since_ns = running_since_ns_.exchange(0, std::memory_order_relaxed);
    if (since_ns != 0 && now_ns > since_ns) ran_ns_ += now_ns - since_ns;
  }
  // So much of the time until now it has not run: it was queued for a CPU.
  void LeaveOut(uint64_t queued_ns, uint64_t now_ns) {
    const uint64_t since_ns = running_since_ns_.load(std::memory_order_relaxed);
    if (since_ns == 0 || since_ns >= now_ns) return;
    running_since_ns_.store(since_ns + std::min(queued_ns, now_ns - since_ns),
                            std::memory_order_relaxed);
  }
  void Resume(uint64_t now_ns) { running_since_ns_.store(now_ns, std::memory_order_relaxed); }

  // For any thread to ask: delay that accrues for the stretch in progress, of which the owner has
  // accounted for nothing yet. At most for so long.
  static constexpr uint64_t kMostInProgressNs = 4'000'000;
  bool is_running_at(uint64_t now_ns) const {
    const uint64_t since_ns = running_since_ns_.load(std::memory_order_relaxed);
    return since_ns != 0 && since_ns <= now_ns;
  }
  uint64_t AccruingForOthers(uint64_t now_ns) const;

  // For tests.
  uint64_t accrued_ns() const { return accrued_ns_; }
  int64_t balance_ns() const { return balance_ns_; }
  void SetBalanceForTest(int64_t balance_ns) { balance_ns_ = balance_ns; }
  uint32_t SamplesOfKindForTest(const void* site) const;
  // All running time from `since_ns` on accrues delay at `rate`, under `selection`.
  void SetInProgressForTest(uint64_t selection, uint32_t rate, uint64_t since_ns);

 private:
  struct Kind {
    const void* site;  // where the program goes on behind the call
    uint32_t samples;
    uint32_t selected;
    uint32_t given;
    uint32_t mean_ns;  // running time; 0 until one has been measured

    uint32_t others() const { return samples - selected - given; }
  };

  Kind* Find(const void* wanted);
  // Whether the kind's delay accrues: nearly all of it is in one unit, or what is not is short.
  bool IsSpread(const Kind& kind) const;
  // Delay for each sampling period of the kind.
  uint64_t DelayPerPeriod(const Kind& kind) const;
  uint64_t DelayFor(const Kind& kind, uint64_t ran_ns, const SpreadRules& rules) const;
  // Running time since it was last taken. A thread that does not run stays stopped.
  uint64_t TakeRunningTime(uint64_t now_ns);
  void BeginAccrual(uint64_t selection, uint64_t now_ns);
  void PublishRate(const Kind* kind);

  std::atomic<const void*> site_;
  std::atomic<uint64_t> selection_;
  std::atomic<uint32_t> busy_;
  uint32_t unit_;  // the selected one, for which kinds were counted
  uint64_t deadline_ns_;
  uint64_t period_ns_;
  uint64_t selected_delay_ns_;  // for each period
  uint64_t given_delay_ns_;
  // Of the stretch in progress. 0: the thread waits or pauses.
  std::atomic<uint64_t> running_since_ns_;
  uint64_t ran_ns_;      // before that, and not accounted for
  uint64_t length_ns_;   // accounted for
  uint64_t accrued_ns_;  // and not imposed yet
  // Delay that samples stand for, less what has accrued for it.
  int64_t balance_ns_;
  uint32_t calls_;
  uint32_t calls_at_sample_;
  uint32_t skipped_calls_;  // a mask: of so many and one calls one ends a stretch
  // Delay that accrues while the stretch in progress runs, in kWholeRate of its time.
  std::atomic<uint32_t> rate_;
  Kind kinds_[kKinds];
};

}  // namespace coz::delay

#endif  // COZ_SYNC_DELAY_STRETCHES_H_
