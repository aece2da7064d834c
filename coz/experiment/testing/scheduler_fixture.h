// The fixture of the scheduler's tests: a scheduler over a fake target, stepped when it asks for
// it.
//
// Shape    options are set before the first RunFor or Make; the target may change at any time
// Units    ns of the fake clock
// Errors   options that do not pass Check() fail the test
// Threads  compatible
// Signals  none
// Source   none
#ifndef COZ_EXPERIMENT_TESTING_SCHEDULER_FIXTURE_H_
#define COZ_EXPERIMENT_TESTING_SCHEDULER_FIXTURE_H_

#include <algorithm>
#include <cstdint>
#include <optional>

#include "coz/experiment/options.h"
#include "coz/experiment/record.h"
#include "coz/experiment/scheduler.h"
#include "coz/experiment/testing/fake_target.h"
#include "gtest/gtest.h"

namespace coz::experiment {

class SchedulerTest : public ::testing::Test {
 protected:
  SchedulerTest() {
    options_.seed = 1;
    options_.shortest_experiment_ns = options_.min_experiment_ns;  // one length for all
    target_.program = {{1000}};
  }

  Scheduler& Make() {
    EXPECT_TRUE(options_.Check().ok()) << options_.Check();
    scheduler_.emplace(options_, &target_, &sink_);
    return *scheduler_;
  }
  void RunFor(uint64_t duration_ns) {
    if (!scheduler_.has_value()) Make();
    StepUntil(*scheduler_, target_, target_.NowNs() + duration_ns);
  }
  bool HasTaint(const ExperimentRecord& record, TaintKind kind) {
    return std::any_of(record.taints.begin(), record.taints.end(),
                       [kind](const Taint& taint) { return taint.kind == kind; });
  }

  SchedulerOptions options_;
  FakeTarget target_;
  FakeSink sink_;
  std::optional<Scheduler> scheduler_;
};

}  // namespace coz::experiment

#endif  // COZ_EXPERIMENT_TESTING_SCHEDULER_FIXTURE_H_
