// Takes samples out of the ring, counts them per unit, and draws the unit of the next experiment.
//
// Shape    counts that only grow, and the units of the last samples, a bounded number of them
// Units    sampling periods
// Errors   samples that were lost in the ring are counted, and with them those of no unit
// Threads  compatible
// Signals  none
// Source   coz/shared/sample_ring.h
#ifndef COZ_SUPERVISOR_TARGET_UNIT_SAMPLES_H_
#define COZ_SUPERVISOR_TARGET_UNIT_SAMPLES_H_

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "coz/base/random.h"
#include "coz/experiment/target.h"
#include "coz/shared/sample_ring.h"
#include "coz/sync/delay/outside_wait.h"

namespace coz::supervisor {

class UnitSamples {
 public:
  // `are_waits`: samples stand for waits, whose kinds they tell (coz/shared/wait_samples.h).
  explicit UnitSamples(const shared::SampleRing* ring, bool are_waits = false)
      : reader_(ring), are_waits_(are_waits) {}

  // Counts what has come since the last call. `now_ns` is of CLOCK_MONOTONIC.
  void Drain(uint64_t now_ns);
  // Which units there are; without it, all numbers. The target writes the numbers, and could name
  // more than there is memory for.
  void SetUnits(std::function<bool(experiment::UnitId unit)> has) { has_unit_ = std::move(has); }
  // From now on `unit` is not drawn.
  void NeverDraw(experiment::UnitId unit) { never_drawn_ = unit; }

  // Samples per unit since the last call.
  absl::flat_hash_map<experiment::UnitId, uint64_t> TakeNew();
  // Samples per unit since the start.
  const absl::flat_hash_map<experiment::UnitId, uint64_t>& total() const { return total_; }
  // Samples of waits that are no units, by the unit of their call, since the start.
  const absl::flat_hash_map<experiment::UnitId, uint64_t>& own_waits() const { return own_waits_; }
  // What most of a unit's waits wait for; nothing where it has none.
  std::optional<delay::WaitKind> WaitKindOf(experiment::UnitId unit) const;
  // The unit of one of the last samples since the previous draw, each as likely as the others; of
  // waits, by their lengths.
  std::optional<experiment::UnitId> Draw(Random& random);
  uint64_t lost() const { return reader_.lost() + of_no_unit_; }

 private:
  void KeepForDraw(experiment::UnitId unit);

  shared::SampleRingReader reader_;
  const bool are_waits_;
  absl::flat_hash_map<experiment::UnitId, std::array<uint64_t, delay::kWaitKinds>> by_kind_;
  absl::flat_hash_map<experiment::UnitId, uint64_t> total_;
  absl::flat_hash_map<experiment::UnitId, uint64_t> new_;
  absl::flat_hash_map<experiment::UnitId, uint64_t> own_waits_;
  std::vector<experiment::UnitId> recent_;
  uint64_t recent_next_ = 0;  // where the next one goes, once `recent_` is full
  std::optional<experiment::UnitId> never_drawn_;
  std::function<bool(experiment::UnitId unit)> has_unit_;
  uint64_t of_no_unit_ = 0;
};

}  // namespace coz::supervisor

#endif  // COZ_SUPERVISOR_TARGET_UNIT_SAMPLES_H_
