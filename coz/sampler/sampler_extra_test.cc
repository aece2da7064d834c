// Extra samples, which a callback asks for.
#include <thread>

#include "coz/sampler/sampler.h"
#include "coz/sampler/testing/sampler_fixture.h"
#include "coz/testing/in_child.h"

namespace coz::sampler {
namespace {

using testing::RunInChild;

using ExtraTest = SamplerTest;
INSTANTIATE_TEST_SUITE_P(Sources, ExtraTest, EverySource(), NameOfSource);

constexpr uint64_t kExtraNs = kMs / 4;

thread_local uint64_t extras_here = 0;
thread_local uint64_t extras_wanted = 0;

// Asks from the first regular sample of a thread that wants some, and stops after as many.
void CountBoth(const Sample& sample) {
  periods_here += sample.weight;
  if (!sample.is_extra) {
    if (extras_wanted != 0 && extras_here == 0 && !TakesExtraSamples()) {
      outcome->values[4] += TakeExtraSampleAfter(kExtraNs) ? 1 : 0;
    }
    return;
  }
  outcome->values[5] += sample.weight;
  if (++extras_here == extras_wanted) {
    StopExtraSamples();
  } else {
    TakeExtraSampleAfter(kExtraNs);
  }
}

TEST_P(ExtraTest, ComeBesideTheOthersAndChangeNothingAboutThem) {
  ASSERT_EQ(RunInChild([] {
              Start(&CountBoth);
              std::thread([] {
                StartThreadSampling();
                extras_wanted = 1 << 20;
                BurnInUserCode(400 * kMs);
                outcome->values[0] = ThreadCpuNs();
                outcome->values[1] = periods_here;
                outcome->values[2] = extras_here;
                outcome->values[3] = CountDescriptorsOfPerf();
                StopThreadSampling();
              }).join();
              StopSampler();
              outcome->counters = ReadSamplerCounters();
              outcome->values[6] = CountDescriptorsOfPerf();
            }),
            0);
  const double periods = static_cast<double>(outcome->values[0]) / kMs;
  // Extra samples are the kernel's work too, a tenth of the time and more on a slow machine: where
  // that is left out, periods are lost to it.
  const uint64_t ended = outcome->values[1] + outcome->counters.lost_periods;
  EXPECT_NEAR(static_cast<double>(ended), periods, 0.1 * periods + 2);
  // Of other samples, too: one that comes early weighs nothing.
  EXPECT_LE(static_cast<double>(outcome->counters.samples), 1.1 * static_cast<double>(ended) + 2);
  EXPECT_EQ(outcome->values[5], 0u) << "the weight of extra samples";
  EXPECT_EQ(outcome->values[6], 0u) << "descriptors left";
  if (GetParam() == SamplingSource::kPerfSigtrap) {
    EXPECT_EQ(outcome->values[3], 2u) << "the inherited event and the extra one";
    // Each takes a while itself, and the machine may be busy.
    EXPECT_GT(static_cast<double>(outcome->values[2]), 2 * periods);
    EXPECT_LT(static_cast<double>(outcome->values[2]), 4.5 * periods);
  } else {
    EXPECT_EQ(outcome->values[2], 0u);
    EXPECT_EQ(outcome->values[4], 0u) << "refused";
  }
}

TEST_P(ExtraTest, EndWhenTheyAreStopped) {
  if (GetParam() != SamplingSource::kPerfSigtrap) GTEST_SKIP() << "has none";
  ASSERT_EQ(RunInChild([] {
              Start(&CountBoth);
              extras_wanted = 10;
              BurnInUserCode(50 * kMs);
              outcome->values[0] = extras_here;
              outcome->values[1] = periods_here;
              outcome->values[2] = CountDescriptorsOfPerf();
              StopSampler();
              outcome->counters = ReadSamplerCounters();
            }),
            0);
  EXPECT_EQ(outcome->values[0], 10u);
  EXPECT_GT(outcome->values[1] + outcome->counters.lost_periods, 40u);
  EXPECT_EQ(outcome->values[2], 1u) << "the inherited event";
}

// Regular samples burn for longer than the time to the next extra one, which is late then; between
// them it comes in time.
thread_local uint64_t late_here = 0;
thread_local uint64_t regular_here = 0;
void BurnAndCountLate(const Sample& sample) {
  if (!sample.is_extra) {
    ++regular_here;
    if (outcome->values[1] != 0) BurnInUserCode(kExtraNs * 3 / 2);
    if (!TakesExtraSamples()) TakeExtraSampleAfter(kExtraNs);
    return;
  }
  ++extras_here;
  late_here += sample.is_late ? 1 : 0;
  TakeExtraSampleAfter(kExtraNs);
}

TEST_P(ExtraTest, OneThatFellDueInACallbackIsLate) {
  if (GetParam() != SamplingSource::kPerfSigtrap) GTEST_SKIP() << "has none";
  for (const bool burns : {false, true}) {
    ASSERT_EQ(RunInChild([burns] {
                outcome->values[1] = burns ? 1 : 0;
                Start(&BurnAndCountLate);
                BurnInUserCode(200 * kMs);
                outcome->values[2] = extras_here;
                outcome->values[3] = late_here;
                outcome->values[4] = regular_here;
                StopSampler();
              }),
              0);
    const auto extras = static_cast<double>(outcome->values[2]);
    const auto late = static_cast<double>(outcome->values[3]);
    const auto regular = static_cast<double>(outcome->values[4]);
    EXPECT_GT(extras, 50) << burns;
    EXPECT_GT(regular, 50) << burns;
    if (burns) {
      EXPECT_GT(late, 0.6 * regular) << "one behind each regular sample";
      EXPECT_LT(late, 1.2 * regular);
    } else {
      EXPECT_LT(late, 0.1 * extras);
    }
  }
}

}  // namespace
}  // namespace coz::sampler
