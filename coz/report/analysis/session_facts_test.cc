#include "coz/report/analysis/session_facts.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace coz::report {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kSession = 7;
constexpr uint64_t kPeriodNs = 250'000;
constexpr uint64_t kLonePeriodNs = 1'000'000;

profile::Profile WithThreads(uint32_t peak) {
  profile::Profile profile;
  profile::Session* session = profile.add_session();
  session->set_id(kSession);
  session->set_sampling_period_ns(kPeriodNs);
  session->set_lone_thread_period_ns(kLonePeriodNs);
  profile.add_session_end()->set_session(kSession + 1);
  profile::SessionEnd* end = profile.add_session_end();
  end->set_session(kSession);
  end->set_peak_threads(peak);
  return profile;
}

uint64_t Between(const profile::Profile& profile) {
  return TimeBetweenSamplesNs(profile.session(0), SessionEnds(profile).Of(profile.session(0)));
}

TEST(SessionFactsTest, ProgramOfOneThreadIsSampledAtItsOwnPeriod) {
  EXPECT_EQ(Between(WithThreads(1)), kLonePeriodNs);
  EXPECT_EQ(Between(WithThreads(2)), kPeriodNs);
}

TEST(SessionFactsTest, OnePeriodForAllIsThePeriodOfOneThread) {
  profile::Profile profile = WithThreads(1);
  profile.mutable_session(0)->clear_lone_thread_period_ns();
  EXPECT_EQ(Between(profile), kPeriodNs);
}

TEST(SessionFactsTest, MeanPeriodIsThatOfTheSamples) {
  EXPECT_EQ(MeanSamplingPeriodNs(profile::Profile()), 0);
  profile::Profile profile;
  const auto add = [&profile](uint64_t id, uint64_t period_ns) {
    profile::Session* session = profile.add_session();
    session->set_id(id);
    session->set_sampling_period_ns(period_ns);
  };
  add(1, 700'000);
  EXPECT_EQ(MeanSamplingPeriodNs(profile), 700'000);
  add(2, 1'000'000);
  EXPECT_EQ(MeanSamplingPeriodNs(profile), 850'000) << "cut short, both";
  profile::SessionEnd* end = profile.add_session_end();
  end->set_session(2);
  end->set_total_samples(98);
  EXPECT_EQ(MeanSamplingPeriodNs(profile), 997'000);
}

TEST(SessionFactsTest, SessionCutShortHasNoEnd) {
  profile::Profile profile = WithThreads(1);
  profile.mutable_session_end()->RemoveLast();
  EXPECT_EQ(SessionEnds(profile).Of(profile.session(0)), nullptr);
  EXPECT_EQ(Between(profile), kPeriodNs);
}

TEST(SessionFactsTest, SamplingIsThatOfEachSourceInItsTime) {
  profile::Profile profile = WithThreads(2);
  profile.mutable_session(0)->set_sampling_source(profile::SAMPLING_SOURCE_PERF_SIGTRAP);
  const auto described = [&profile] {
    return DescribeSampling(profile, profile.session(0), nullptr);
  };
  EXPECT_EQ(described(), "perf sigtrap every 0.25 ms of CPU time, user code");
  profile::SourceChange* change = profile.add_source_change();
  change->set_session(kSession);
  change->set_at_ns(600'000'000);
  change->set_sampling_source(profile::SAMPLING_SOURCE_CPU_TIMER);
  EXPECT_EQ(described(),
            "perf sigtrap every 0.25 ms of CPU time, user code; from 0.6 s on by cpu timer every "
            "4 ms, user and kernel code");
  change->set_sampling_source(profile::SAMPLING_SOURCE_CPU_CLOCK);
  EXPECT_THAT(described(), HasSubstr("; from 0.6 s on by cpu clock every 0.25 ms, user"));
}

TEST(SessionFactsTest, ChangeOfTheSourceSaysWhatToldIt) {
  profile::SourceChange change;
  change.set_at_ns(600'000'000);
  change.set_switches_per_second(8000);
  change.set_switch_cost_ns(10'000);
  change.set_cpu_ns_per_second(2e9);
  EXPECT_THAT(
      DescribeSourceChange(change),
      HasSubstr(
          "as perf events of threads are set anew at each switch: 8000 switches a second that "
          "take 10 us more each are 8 % of a CPU, of 200 % that the program used;"));
  change.set_threads_per_second(1234);
  EXPECT_THAT(DescribeSourceChange(change),
              HasSubstr("as perf events of threads are made for each thread, and 1234 began in a "
                        "second; --sampler"));
  change.set_slowdown(0.08);
  EXPECT_THAT(
      DescribeSourceChange(change),
      HasSubstr("as perf events of threads took at least 8 % of the time of a visit, with 8000 "
                "switches a second; --sampler"));
}

TEST(SessionFactsTest, CommandCanBeTyped) {
  profile::Session session;
  EXPECT_EQ(CommandText(session), "");
  for (const char* word : {"./app", "--name=a b", "it's", ""}) session.add_command(word);
  EXPECT_EQ(CommandText(session), "./app '--name=a b' 'it'\\''s' ''");
}

TEST(SessionFactsTest, CalibrationIsToldWhereThereIsOne) {
  profile::Session session;
  EXPECT_EQ(DescribeCalibration(session), "");
  profile::Calibration* calibration = session.mutable_machine()->mutable_calibration();
  calibration->set_time_s(1'790'000'000);
  calibration->set_figures(7);
  calibration->set_mean_error(0.012);
  calibration->set_worst_error(0.034);
  EXPECT_EQ(DescribeCalibration(session),
            "predictions were off by 1.2 points on average, 3.4 at worst, in `coz selftest` there "
            "on 2026-09-21");
}

}  // namespace
}  // namespace coz::report
