// The samples of each unit in one experiment, packed: a merged profile has millions of these
// counts, most of them small.
//
// Shape    pairs of a unit and its samples, units ascending, each once; about 2 bytes a pair; a
//          lookup scans from the first
// Units    counts
// Errors   none
// Threads  compatible
// Signals  not async-signal-safe
// Source   Protocol Buffers' varints
#ifndef COZ_REPORT_ANALYSIS_UNIT_SAMPLES_H_
#define COZ_REPORT_ANALYSIS_UNIT_SAMPLES_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace coz::report {

class UnitSamples {
 public:
  UnitSamples() = default;
  // In any order. Counts of the same unit are added up.
  explicit UnitSamples(std::vector<std::pair<size_t, uint64_t>> counts);

  bool empty() const { return bytes_ == nullptr; }
  // 0 for a unit that has none.
  uint64_t Of(size_t unit) const;

  // Calls visit(unit, samples) for each.
  template <typename Visit>
  void ForEach(Visit visit) const {
    size_t unit = 0;
    uint64_t samples = 0;
    const uint8_t* at = bytes_.get();
    while (Next(&at, &unit, &samples)) visit(unit - 1, samples);
  }

 private:
  // `unit` is one more than the unit's number. False at the end.
  static bool Next(const uint8_t** at, size_t* unit, uint64_t* samples);

  // For each pair: the distance from the unit before (from -1 for the first), never 0; then the
  // samples. A 0 ends it.
  std::unique_ptr<uint8_t[]> bytes_;
};

}  // namespace coz::report

#endif  // COZ_REPORT_ANALYSIS_UNIT_SAMPLES_H_
