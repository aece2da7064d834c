// Puts experiments into blocks of time, so that each is compared with the baselines near it: a
// program that drifts, or runs of different days in one profile, then cost no accuracy.
//
// Shape    blocks are stretches of one sequence, in the order of time; each has baselines worth
//          `baselines_per_block` or more. A sequence with less than that is one block; or, with
//          other such sequences of its series, a part of one
// Units    ns since any one moment for each sequence
// Errors   none
// Threads  safe: a pure function
// Signals  not async-signal-safe
// Source   blocking, as in the design of experiments; statistics_test.cc and analysis_test.cc for
//          coverage under drift
#ifndef COZ_REPORT_STATISTICS_TIME_BLOCKS_H_
#define COZ_REPORT_STATISTICS_TIME_BLOCKS_H_

#include <cstdint>
#include <vector>

#include "coz/report/statistics/statistics.h"

namespace coz::report {

// Five baselines have an error of 0.45 of that of one experiment, which widens the interval of a
// line with one experiment in each block by 10 %. With one baseline in four experiments of 0.5 s a
// block lasts some 11 s.
inline constexpr double kBaselinesPerBlock = 5;

struct TimedObservation {
  uint64_t sequence = 0;  // experiments that follow each other: a session
  uint64_t start_ns = 0;
  RateObservation observation;
  bool whole = false;  // the sequence is one block, whatever its baselines
  // Sequences that may be compared with each other, as short runs of one program. 0: it is of none.
  uint64_t series = 0;
  uint64_t sequence_start_ns = 0;  // the order of a series' sequences
};

// Sets `block` of each and gives them back in the order of time.
std::vector<RateObservation> InBlocks(std::vector<TimedObservation> observations,
                                      double baselines_per_block = kBaselinesPerBlock);

}  // namespace coz::report

#endif  // COZ_REPORT_STATISTICS_TIME_BLOCKS_H_
