// Sums up the experiments of many sessions, so that a profile of millions of them stays small.
//
// Shape    records in, as a profile file has them; records out. Up to `most` experiments come out
//          as they came in. Beyond that, experiments of one unit, speedup and block become one that
//          holds their sums (Experiment.pooled), and sessions that are alike but for their times
//          become one (Session.pooled_session)
// Units    as profile.proto
// Errors   none; records that name no session are dropped
// Threads  compatible
// Signals  not async-signal-safe
// Source   docs/fleet.md: what is kept, and what is not
//
// Blocks. Times of visits are divided by those of the baselines near them (five or more of the same
// session), so that sessions of different speed can be added up. The hash of session and place in
// it says in which block an experiment is summed. Where there are too many sums, blocks are halved
// by using one bit less of the hash; at kLeastBits machines are put together. So the result depends
// on the set of sessions alone: compacting in any order and any grouping gives the same sums, up to
// the rounding of doubles.
#ifndef COZ_REPORT_COMPACT_COMPACT_H_
#define COZ_REPORT_COMPACT_COMPACT_H_

#include <cstddef>
#include <memory>

#include "absl/status/status.h"
#include "coz/report/format/merge.h"
#include "coz/report/format/profile.pb.h"

namespace coz::report {

class Compactor : public MergeFilter {
 public:
  // A report of so many takes some 30 MB.
  static constexpr size_t kMostExperiments = size_t{1} << 16;

  explicit Compactor(size_t most = kMostExperiments);
  ~Compactor() override;

  // A session is in one input.
  void Add(const profile::Profile& record) override;
  void EndInput() override;
  absl::Status Finish(const Sink& sink) override;

  // Whether machines were put together, so that hosts cannot be told apart.
  bool ArePooledMachines() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace coz::report

#endif  // COZ_REPORT_COMPACT_COMPACT_H_
