// How a thread's running time divides into stretches, and the delay that accrues while they run.
//
// A *stretch* is the running time from one wrapped call to the next. Between the two calls the
// thread meets no other thread. So it does not matter when within a stretch delay is imposed. It
// does matter how much is imposed in which stretch. Stretches that begin behind the same call of
// the program are of one *kind*. Samples say what share of a kind is in the selected unit. The
// delay of the kind then *accrues* while its stretches run. It is not imposed all at once in the
// one stretch that a sample hit.
//
// Shape    Stretches: one per thread, in its ledger; zero until Reset
// Units    ns of CLOCK_MONOTONIC; counts of samples, which fade
// Errors   none
// Threads  the owner only, except AccruingForOthers, imposes and is_running_at
// Signals  a handler of the same thread may call anything here at any moment. BusyScope keeps it
//          from changing what it has interrupted
// Source   docs/design/delays.md
#ifndef COZ_SYNC_DELAY_STRETCHES_H_
#define COZ_SYNC_DELAY_STRETCHES_H_

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "coz/sync/delay/call_pace.h"

namespace coz::delay {

// The unit that a sample fell in.
enum class SampledUnit : uint8_t { kOther, kSelected, kGiven };

// A sample that fell in the selected unit or in the given one. It stands for so many periods of the
// thread's running time, and imposes the delay of each. A sample of a CPU timer stands for many, in
// the middle of which it falls. One of a perf event stands for more than one where it came late:
// the others are past, and may have accrued.
struct SampleDelay {
  SampledUnit unit;
  uint64_t delay_ns;     // per period; 0 in a baseline
  uint64_t period_ns;    // the sampling period
  uint64_t deadline_ns;  // the end of the experiment
  uint64_t selection;    // the ledger's, at the time when `delay_ns` was read; not 0
  uint64_t periods = 1;
  uint64_t periods_past = 0;  // those of them that ended before the one that the sample fell in
};

// The rules of spreading delay over stretches. //coz/testing/sim:ablation_report varies them to
// measure what each is worth.
struct SpreadRules {
  // False: every sample imposes at once, as in the paper.
  bool spreads = true;
  // How far accrued delay may differ from the delay that samples stand for, in samples. Samples
  // that come about as often as a kind of stretch keep step with it: they hit it in many rounds in
  // a row, and then miss it in as many. Ahead is better than behind, because delay that is left at
  // the end of an experiment is lost.
  uint64_t most_samples_ahead = 32;
  uint64_t most_samples_behind = 2;
};

// Which calls end a stretch where calls follow each other quickly. A call that is left out imposes
// nothing. Where it wakes another thread, that thread then pays for what the next call imposes.
enum class CallsThatEnd {
  kFew,   // locks, which take about as long as a reading of the clock
  kMany,  // calls that wake or wait
  kEach,  // calls that are system calls in any case
};

class Stretches {
 public:
  // Kinds that a thread knows, one of which is the pool of all that it has no place for.
  static constexpr int kKinds = 12;
  // The rate at which all running time becomes delay.
  static constexpr uint32_t kWholeRate = 1 << 16;
  // The rate in a baseline.
  static constexpr uint32_t kImposesNothing = ~uint32_t{0};

  // Marks that this thread is in the middle of a change. A handler that interrupts it sees
  // is_first() false, and leaves the stretches alone. The fences order the mark and the change for
  // handlers of the same thread, which needs no more than that.
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

  // The selection for which delay accrues. 0: no delay accrues. In a baseline what accrues is no
  // delay at all.
  uint64_t selection() const { return selection_.load(std::memory_order_relaxed); }
  bool accrues() const { return selection() != 0; }
  // What a sample in the selected unit imposes, while delay accrues. 0 in a baseline.
  uint64_t selected_delay_ns() const { return selected_delay_ns_; }
  uint64_t deadline_ns() const { return deadline_ns_; }
  void EndAccrual() { selection_.store(0, std::memory_order_relaxed); }

  // Where the stretch in progress began.
  const void* site() const { return site_.load(std::memory_order_relaxed); }
  void NoteSite(const void* site) { site_.store(site, std::memory_order_relaxed); }

  // Counts a sample of the stretch in progress. The caller calls this only while there is a
  // selection. The counts of kinds hold for `selected_unit`; for another unit they start again from
  // zero. Does nothing in a handler that has interrupted one of these functions.
  void Count(SampledUnit sampled, uint32_t selected_unit, uint64_t periods = 1);

  // A sample has fallen in another unit. Where the thread is known to run the unit of the new
  // selection, delay accrues for it from now on: not only from the first sample on that hits it,
  // which stands for a time before. `selected` is what such a sample would be.
  void BeginIfKnown(const SampleDelay& selected, uint64_t now_ns);

  // Adds the delay of a counted sample. Returns how much of it the thread has to impose at once:
  // all where the sample's kind is not spread, else nothing. Begins to accrue for sample.selection.
  uint64_t Add(const SampleDelay& sample, uint64_t now_ns,
               const SpreadRules& rules = SpreadRules());

  // Lets delay accrue for the running time until now.
  void Accrue(uint64_t now_ns, const SpreadRules& rules = SpreadRules());

  // Lets the delay accrue that samples stand for and that has not accrued yet. For the thread's
  // end.
  void AccrueBalance();

  // Ends the stretch in progress and begins one behind `site`.
  void End(const void* site, uint64_t now_ns);

  // Takes accrued delay, but no more than the stretch is long: it cannot take less than no time,
  // and no thread may go back behind the meeting at its beginning (meeting.h). The rest is for the
  // stretches that follow. Takes nothing and returns 0 where that is less than `least_ns`.
  uint64_t TakeAccrued(uint64_t least_ns);

  // Takes all: the thread is at its end.
  uint64_t TakeAllAccrued() {
    const uint64_t taken_ns = accrued_ns_;
    accrued_ns_ = 0;
    return taken_ns;
  }

  // Whether this wrapped call ends a stretch.
  bool CallEnds(CallsThatEnd ends) { return ends == CallsThatEnd::kEach || PaceOf(ends).IsDue(); }
  // Whether it ends none, and counts it then. Otherwise CallEnds() is next.
  bool SkipsCall(CallsThatEnd ends) { return ends != CallsThatEnd::kEach && PaceOf(ends).Skips(); }

  // The thread stops running: it is about to wait or to pause.
  void Stop(uint64_t now_ns) {
    const uint64_t since_ns = running_since_ns_.exchange(0, std::memory_order_relaxed);
    if (since_ns != 0 && now_ns > since_ns) ran_ns_ += now_ns - since_ns;
  }
  // Leaves `queued_ns` out of the running time until now: the thread was queued for a CPU.
  void LeaveOut(uint64_t queued_ns, uint64_t now_ns) {
    const uint64_t since_ns = running_since_ns_.load(std::memory_order_relaxed);
    if (since_ns == 0 || since_ns >= now_ns) return;
    running_since_ns_.store(since_ns + std::min(queued_ns, now_ns - since_ns),
                            std::memory_order_relaxed);
  }
  void Resume(uint64_t now_ns) { running_since_ns_.store(now_ns, std::memory_order_relaxed); }

  // Any thread may call the next three functions. AccruingForOthers gives the delay of the stretch
  // in progress that the owner has not accounted for yet. It counts at most this much running time.
  static constexpr uint64_t kMostInProgressNs = 4'000'000;
  bool is_running_at(uint64_t now_ns) const {
    const uint64_t since_ns = running_since_ns_.load(std::memory_order_relaxed);
    return since_ns != 0 && since_ns <= now_ns;
  }
  // False in a baseline.
  bool imposes() const { return rate_.load(std::memory_order_relaxed) != kImposesNothing; }
  uint64_t AccruingForOthers(uint64_t now_ns) const;

  // For tests.
  uint64_t accrued_ns() const { return accrued_ns_; }
  int64_t balance_ns() const { return balance_ns_; }
  void SetBalanceForTest(int64_t balance_ns) { balance_ns_ = balance_ns; }
  uint32_t SamplesOfKindForTest(const void* site);
  // Running time from `since_ns` on accrues delay at `rate`, under `selection`.
  void SetInProgressForTest(uint64_t selection, uint32_t rate, uint64_t since_ns);

 private:
  // Samples of a kind in one part of its stretches.
  struct Part {
    uint8_t counted;  // in the selected unit or the given one
    uint8_t others;
  };
  static constexpr int kParts = 8;
  struct Kind {
    const void* site;  // where the program goes on behind the call; null for the pool
    uint32_t mean_ns;  // running time; 0 until one has been measured
    uint8_t samples;   // up to kMostSamples
    uint8_t selected;
    uint8_t given;
    // By how far a stretch had come: each is an eighth of 5/4 of the mean length, and the last one
    // also has all that is later.
    Part parts[kParts];

    uint32_t others() const { return samples - selected - given; }
    void CountSample(SampledUnit sampled);
    void CountPart(SampledUnit sampled, uint64_t position_ns);
    // Whether all stretches are alike: how far one has come tells the unit that it is in.
    bool IsAlike() const;
    void NoteLength(uint64_t length_ns);
    void Halve();
  };

  CallPace& PaceOf(CallsThatEnd ends) {
    return ends == CallsThatEnd::kFew ? lock_pace_ : wake_pace_;
  }
  Kind* FindOwn(const void* wanted);
  // The kind that tells of stretches behind `wanted`: their own, or the pool where that has too few
  // samples. Null where neither has any.
  Kind* Find(const void* wanted);
  Kind& PlaceFor(const void* site);
  Kind& pool() { return kinds_[kKinds - 1]; }
  bool RunsUnit() const;
  // Whether the kind's delay accrues: nearly all of the kind is in the selected or the given unit,
  // or the part that is in others is short, or its stretches are alike.
  bool IsSpread(const Kind& kind) const;
  // The kind's delay per sampling period.
  uint64_t DelayPerPeriod(const Kind& kind) const;
  uint64_t DelayFor(const Kind& kind, uint64_t ran_ns, const SpreadRules& rules) const;
  // Returns the running time since the last call. A stopped thread stays stopped.
  uint64_t TakeRunningTime(uint64_t now_ns);
  void BeginAccrual(uint64_t selection, uint64_t now_ns);
  void PublishRate(const Kind* kind);

  std::atomic<const void*> site_;
  std::atomic<uint64_t> selection_;
  std::atomic<uint16_t> busy_;
  uint16_t most_periods_;  // of a sample so far
  uint32_t unit_;          // the selected unit that kinds were counted for
  uint64_t deadline_ns_;
  uint64_t period_ns_;
  uint64_t selected_delay_ns_;  // per period
  uint64_t given_delay_ns_;     // per period
  // Since when the thread runs in the stretch in progress. 0: it waits or pauses.
  std::atomic<uint64_t> running_since_ns_;
  uint64_t ran_ns_;      // running time before that, not accounted for yet
  uint64_t length_ns_;   // running time of the stretch that is accounted for
  uint64_t accrued_ns_;  // accrued and not imposed yet
  // The delay that samples stand for, less what has accrued for it.
  int64_t balance_ns_;
  CallPace lock_pace_;
  CallPace wake_pace_;
  // The delay that accrues per running time of the stretch in progress; kWholeRate means all of it,
  // kImposesNothing that this is a baseline.
  std::atomic<uint32_t> rate_;
  // Running time of the stretch for which no delay has been imposed.
  uint32_t room_ns_;
  Kind kinds_[kKinds];
};

}  // namespace coz::delay

#endif  // COZ_SYNC_DELAY_STRETCHES_H_
