#include "coz/report/statistics/time_blocks.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <tuple>
#include <vector>

#include "coz/report/statistics/statistics.h"

namespace coz::report {
namespace {

class Blocks {
 public:
  explicit Blocks(double baselines_per_block) : needed_(baselines_per_block) {}

  // `first` to before `last` are one sequence, in the order of time.
  void Place(std::vector<TimedObservation>::iterator first,
             std::vector<TimedObservation>::iterator last) {
    if (first->series != series_) EndSeries(first->series);
    double baselines = 0;
    for (auto i = first; i != last; ++i) baselines += Baselines(i->observation);
    if (first->series != 0 && !first->whole && baselines < needed_) {
      PutTogether(first, last, baselines);
    } else {
      Divide(first, last);
    }
  }

  void EndSeries(uint64_t next) {
    // What is left over joins the block before it.
    if (open_.has_value() && full_.has_value()) {
      for (TimedObservation* one : in_open_) one->observation.block = *full_;
    }
    CloseOpen();
    full_.reset();
    series_ = next;
  }

 private:
  // A baseline of weight 2 is still one.
  static double Baselines(const RateObservation& o) {
    return IsBaseline(o) ? std::min(o.weight, 1.0) : 0;
  }

  void CloseOpen() {
    open_.reset();
    open_baselines_ = 0;
    in_open_.clear();
  }

  void PutTogether(std::vector<TimedObservation>::iterator first,
                   std::vector<TimedObservation>::iterator last, double baselines) {
    if (!open_.has_value()) open_ = next_++;
    for (auto i = first; i != last; ++i) {
      i->observation.block = *open_;
      in_open_.push_back(&*i);
    }
    open_baselines_ += baselines;
    if (open_baselines_ < needed_) return;
    full_ = open_;
    CloseOpen();
  }

  void Divide(std::vector<TimedObservation>::iterator first,
              std::vector<TimedObservation>::iterator last) {
    double baselines = 0;
    auto start = first;
    for (auto i = first; i != last; ++i) {
      i->observation.block = next_;
      baselines += Baselines(i->observation);
      if (first->whole || baselines < needed_) continue;
      ++next_;
      start = i + 1;
      baselines = 0;
    }
    if (start == last) return;
    if (start == first) {
      ++next_;
      return;
    }
    // The rest of a sequence joins the block before it.
    for (auto i = start; i != last; ++i) i->observation.block = next_ - 1;
  }

  const double needed_;
  int next_ = 0;
  uint64_t series_ = 0;
  // Of the series: the block that short sequences go into, and the one that has its baselines.
  std::optional<int> open_;
  std::optional<int> full_;
  double open_baselines_ = 0;
  std::vector<TimedObservation*> in_open_;
};

}  // namespace

std::vector<RateObservation> InBlocks(std::vector<TimedObservation> observations,
                                      double baselines_per_block) {
  const auto order = [](const TimedObservation& o) {
    return std::tie(o.series, o.sequence_start_ns, o.sequence, o.start_ns);
  };
  std::stable_sort(observations.begin(), observations.end(),
                   [&order](const auto& a, const auto& b) { return order(a) < order(b); });
  Blocks blocks(baselines_per_block);
  for (auto first = observations.begin(); first != observations.end();) {
    const auto last =
        std::find_if(first, observations.end(), [first](const TimedObservation& other) {
          return other.sequence != first->sequence || other.series != first->series;
        });
    blocks.Place(first, last);
    first = last;
  }
  blocks.EndSeries(0);
  std::vector<RateObservation> result;
  result.reserve(observations.size());
  for (const TimedObservation& one : observations) result.push_back(one.observation);
  return result;
}

}  // namespace coz::report
