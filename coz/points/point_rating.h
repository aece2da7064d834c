// Judges whether a function would be a good progress point, by counts of its calls in slices of a
// run.
//
// Shape    a candidate's slices in order of time; each is as long as the function was counted
// Units    ns; visits per second; fractions
// Errors   none
// Threads  safe: values
// Signals  not safe
// Source   docs/progress-points.md, "Which place?"
#ifndef COZ_POINTS_POINT_RATING_H_
#define COZ_POINTS_POINT_RATING_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace coz::points {

struct VisitSlice {
  uint64_t visits;
  uint64_t duration_ns;
};

enum class PointFitness {
  kFit,
  kUnknown,      // too few slices to tell
  kTooRare,      // fewer visits than an experiment needs
  kTooFrequent,  // steady, but counting would take more than kMaxCountingShare of a CPU
  kUnsteady,     // of a phase of the run: set-up, an end, a burst
};

inline constexpr double kMinVisitsPerSecond = 5;
inline constexpr double kMaxCountingShare = 0.05;

struct PointRating {
  PointFitness fitness = PointFitness::kUnknown;
  double visits_per_s = 0;
  // Standard deviation of the rate over tenths of the slices, as a share of the rate, without the
  // part due to chance (Poisson's).
  double variation = 0;
  double score = 0;  // more is better, among those of the same fitness
};

// `sample_share`: of the samples that had the function on the stack. Slices before the first visit
// are set-up and left out, unless they are more than half of all.
PointRating RatePoint(const std::vector<VisitSlice>& slices, double sample_share,
                      double visit_cost_ns);

// Whether counting in these slices has taken more than `share` of a CPU.
bool IsTooFrequent(const std::vector<VisitSlice>& slices, double visit_cost_ns, double share);

// The slice as it would have been without the counting, which took `counting_ns` of the program's
// time.
VisitSlice WithoutCounting(const VisitSlice& slice, double counting_ns);

// The share of a CPU that a breakpoint there takes, as it slows callers too.
double CountingShare(double visits_per_s, double visit_cost_ns);

// Indexes of those of this fitness, best first.
std::vector<size_t> RankPoints(const std::vector<PointRating>& ratings, PointFitness fitness);

}  // namespace coz::points

#endif  // COZ_POINTS_POINT_RATING_H_
