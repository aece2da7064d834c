#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <string>

#include "absl/strings/str_replace.h"
#include "coz/report/analysis/experiment_table.h"
#include "coz/report/format/profile.pb.h"
#include "coz/report/testing/reports.h"
#include "coz/report/testing/synthetic_profile.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace coz::report {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

using report_testing::FourLines;
using report_testing::ReportOf;
using report_testing::SyntheticOptions;
using report_testing::SyntheticProfile;

TEST(ReportNotesTest, TaintsFallbackAndCutsAreNoted) {
  profile::Profile made = FourLines();
  made.mutable_session(0)->set_fallback_reason("perf is forbidden (EACCES)");
  made.mutable_experiment(0)->mutable_validity()->add_taint()->set_reason(
      profile::Taint::OWED_DELAY);
  made.mutable_experiment(1)->mutable_validity()->add_taint()->set_reason(
      profile::Taint::SUPERVISOR_LATE);
  made.clear_session_end();
  const std::string text = absl::StrReplaceAll(ReportOf(made, 300), {{"\n", " "}});
  EXPECT_THAT(text, HasSubstr("note: perf is forbidden (EACCES)"));
  EXPECT_THAT(text, HasSubstr("2 experiments not used: 1 delay still owed at the end, 1 without "
                              "delays at its end, as coz got no CPU in time"));
  EXPECT_THAT(text, HasSubstr("cut short, or still running"));
}

// The profile is of 2023.
TEST(ReportNotesTest, SaysThatASourceWasChangedSinceItWasMeasured) {
  EXPECT_THAT(ReportOf(FourLines()), Not(HasSubstr("changed after")));
  profile::Profile profile = FourLines();
  for (profile::Unit& unit : *profile.mutable_unit()) {
    if (unit.line() != 41) continue;
    unit.set_file(::testing::TempDir() + "/edited.cc");
    std::ofstream(unit.file()) << "int a;\n";
  }
  EXPECT_THAT(absl::StrReplaceAll(ReportOf(profile, 300), {{"\n", " "}}),
              HasSubstr("note: edited.cc was changed after the profile was begun, so its lines"));
}

TEST(ReportNotesTest, LoopsOfALibraryAreNotTheUsersToChange) {
  profile::Profile made = FourLines();
  for (profile::Experiment& experiment : *made.mutable_experiment()) {
    experiment.mutable_validity()->set_spinning_samples(experiment.total_samples() / 2);
  }
  EXPECT_THAT(ReportOf(made), AllOf(HasSubstr("COZ_PRE_BLOCK"), Not(HasSubstr("OMP_WAIT_POLICY"))));
  for (profile::Experiment& experiment : *made.mutable_experiment()) {
    experiment.mutable_validity()->set_spinning_outside_samples(experiment.total_samples() / 3);
  }
  EXPECT_THAT(ReportOf(made),
              AllOf(HasSubstr("OMP_WAIT_POLICY=passive"), Not(HasSubstr("COZ_PRE_BLOCK"))));
}

TEST(ReportNotesTest, SaysThatTheMachineWasCrowded) {
  profile::Profile made = FourLines();
  EXPECT_THAT(ReportOf(made), Not(HasSubstr("more threads of the program")));
  for (profile::Experiment& experiment : *made.mutable_experiment()) {
    experiment.mutable_validity()->set_cpus(2);
    experiment.mutable_validity()->set_runnable_threads_average(3.5);
  }
  EXPECT_THAT(ReportOf(made),
              HasSubstr("more threads of the program were runnable (3.5 on average)"));
}

// A thread of the program and two of others on two CPUs.
TEST(ReportNotesTest, OtherProgramsAreNotTakenForTheProgramsOwnThreads) {
  profile::Profile made = FourLines();
  const auto live_threads = [&made](uint32_t threads) {
    for (profile::Experiment& experiment : *made.mutable_experiment()) {
      profile::Validity* validity = experiment.mutable_validity();
      validity->set_cpus(2);
      validity->set_live_threads(threads);
      validity->set_runnable_threads_average(3);
      validity->set_busy_cpu_ns(4 * experiment.elapsed_ns());
      validity->set_idle_cpu_ns(experiment.elapsed_ns() / 10);
    }
  };
  live_threads(1);
  EXPECT_THAT(ReportOf(made), AllOf(HasSubstr("note: other programs used"),
                                    Not(HasSubstr("more threads of the program"))));
  live_threads(3);
  EXPECT_THAT(ReportOf(made), AllOf(HasSubstr("note: other programs used"),
                                    HasSubstr("more threads of the program")));
  for (profile::Experiment& experiment : *made.mutable_experiment()) {
    experiment.mutable_validity()->set_runnable_threads_average(2);
    experiment.mutable_validity()->set_threads_beside_average(7.5);
  }
  EXPECT_THAT(ReportOf(made), AllOf(HasSubstr("note: other programs used"),
                                    Not(HasSubstr("more threads of the program"))));
}

TEST(ReportNotesTest, WarmUpIsSaidAndItsExperimentsAreNotCountedAsPoor) {
  SyntheticProfile made({}, {{"/src/a.cc", 5, "A()", 0.5, 0.5, {}}});
  made.AddRandomExperiments(120);
  made.End();
  profile::Profile profile = made.profile();
  for (int i = 0; i < 3; ++i) {
    profile::Experiment& experiment = *profile.mutable_experiment(i);
    experiment.set_virtual_speedup(0);
    profile::PointCounts& counts = *experiment.mutable_point(0);
    counts.set_visits(5 * counts.visits());
  }
  const std::string report = ReportOf(profile);
  EXPECT_THAT(
      report,
      AllOf(HasSubstr("the first 1.5 s are not used for requests, which came 5.1 times as often "
                      "then as later"),
            Not(HasSubstr("fewer than 5 visits"))));
}

TEST(ReportNotesTest, WindDownIsSaid) {
  SyntheticProfile made({}, {{"/src/a.cc", 5, "A()", 0.5, 0.5, {}}});
  made.AddRandomExperiments(120);
  made.End();
  profile::Profile profile = made.profile();
  profile::PointCounts& counts = *profile.mutable_experiment(119)->mutable_point(0);
  counts.set_visits(counts.visits() / 8);
  EXPECT_THAT(ReportOf(profile), HasSubstr("s of a run are not used for requests, which came 0."));
  profile.mutable_session_end(0)->set_reason(profile::END_REASON_DURATION_REACHED);
  EXPECT_THAT(ReportOf(profile), Not(HasSubstr("s of a run are not used")));
}

TEST(ReportNotesTest, RunsAsAWholeHaveNoPace) {
  report_testing::SyntheticOptions options;
  options.running_threads = 0.5;
  options.kind = profile::PROGRESS_POINT_KIND_END_TO_END;
  SyntheticProfile made(options, {{"/src/a.cc", 5, "A()", 0.5, 0.5, {}}});
  made.AddRandomExperiments(60);
  made.End();
  EXPECT_THAT(ReportOf(made.profile()), Not(HasSubstr("no thread of the program ran")));
}

TEST(ReportNotesTest, TimeThatAQuotaTookIsNoWait) {
  report_testing::SyntheticOptions options;
  options.running_threads = 0.5;
  SyntheticProfile made(options, {{"/src/a.cc", 5, "A()", 0.5, 0.5, {}}});
  made.AddRandomExperiments(60);
  made.End();
  profile::Profile profile = made.profile();
  EXPECT_THAT(ReportOf(profile), HasSubstr("no thread of the program ran"));
  for (profile::Experiment& experiment : *profile.mutable_experiment()) {
    experiment.mutable_validity()->set_quota_throttled_ns(experiment.elapsed_ns() / 2);
    experiment.mutable_validity()->add_taint()->set_reason(profile::Taint::CPU_QUOTA);
  }
  EXPECT_THAT(ReportOf(profile),
              AllOf(Not(HasSubstr("no thread of the program ran")), HasSubstr("note: a CPU quota"),
                    HasSubstr("60 experiments not used: 60 stopped by a CPU quota")));
}

TEST(ReportNotesTest, SaysThatThreadsFoundNoPlace) {
  profile::Profile made = FourLines();
  made.mutable_session_end(0)->set_threads_without_slot(2);
  EXPECT_THAT(ReportOf(made), HasSubstr("note: a thread found all places for threads taken"));
}

TEST(ReportNotesTest, SaysThatDelayWasStillOwed) {
  profile::Profile made = FourLines();
  const auto owe = [&made](double share) {
    for (profile::Experiment& experiment : *made.mutable_experiment()) {
      const double owed_ns = share * static_cast<double>(experiment.elapsed_ns());
      experiment.mutable_validity()->set_owed_ns(static_cast<uint64_t>(owed_ns));
    }
  };
  owe(0.04);
  EXPECT_THAT(ReportOf(made), Not(HasSubstr("still owed")));
  owe(0.2);
  EXPECT_THAT(ReportOf(made), HasSubstr("still owed pauses at the end, 20 % of the experiment"));
}

TEST(ReportNotesTest, SaysThatThreadsSpin) {
  profile::Profile made = FourLines();
  const auto spin = [&made](double share, double share_at_speedups) {
    for (profile::Experiment& experiment : *made.mutable_experiment()) {
      const double of = experiment.virtual_speedup() == 0 ? share : share_at_speedups;
      experiment.mutable_validity()->set_spinning_samples(
          static_cast<uint64_t>(of * static_cast<double>(experiment.total_samples())));
    }
  };
  spin(0.04, 0.4);
  EXPECT_THAT(ReportOf(made), Not(HasSubstr("wait for something on their CPU")));
  spin(0.2, 0.4);
  EXPECT_THAT(
      ReportOf(made),
      HasSubstr("20 % of the samples fell into loops that wait for something on their CPU"));
  EXPECT_THAT(ReportOf(made), Not(HasSubstr("such loops hold CPUs")));
  for (profile::Experiment& experiment : *made.mutable_experiment()) {
    experiment.mutable_validity()->set_runnable_threads_average(50);
  }
  EXPECT_THAT(ReportOf(made), HasSubstr("may bring some 20 %, whatever"));
}

TEST(ReportNotesTest, SaysWhereThreadsSpin) {
  profile::Profile made = FourLines();
  for (profile::Experiment& experiment : *made.mutable_experiment()) {
    experiment.mutable_validity()->set_spinning_samples(experiment.total_samples() / 5);
  }
  profile::SampleCounts* counts = made.add_sample_counts();
  counts->set_session(made.session(0).id());
  for (const auto& [unit, samples] : {std::pair(0, 10), std::pair(1, 300), std::pair(2, 50)}) {
    counts->add_spinning_unit_id(made.unit(unit).id());
    counts->add_spinning_unit_samples(static_cast<uint64_t>(samples));
  }
  EXPECT_THAT(ReportOf(made),
              HasSubstr("such loops are above all at src/größe.cc:7 (Grow()), lib/lock.cc:103 "
                        "(app::Lock<std::mutex>::Acquire(int, long))\n"));
}

TEST(ReportNotesTest, SaysThatTheProgramWaitedForSomethingOutside) {
  const auto made_with = [](double running_threads) {
    report_testing::SyntheticOptions options;
    options.running_threads = running_threads;
    SyntheticProfile made(options, {{"/src/a.cc", 5, "A()", 0.5, 0.5, {}}});
    made.AddRandomExperiments(40);
    return made.profile();
  };
  EXPECT_THAT(ReportOf(made_with(0.6)),
              HasSubstr("no thread of the program ran for at least 40 % of the time"));
  EXPECT_THAT(ReportOf(made_with(1.0)), Not(HasSubstr("no thread of the program ran")));
  // Time in the kernel that is not sampled is no idleness.
  profile::Profile kernel = made_with(0.6);
  for (profile::Experiment& experiment : *kernel.mutable_experiment()) {
    experiment.mutable_validity()->set_lost_periods(experiment.total_samples());
  }
  EXPECT_THAT(ReportOf(kernel), Not(HasSubstr("no thread of the program ran")));
  profile::Profile waits = made_with(0.6);
  waits.mutable_session(0)->mutable_options()->set_unit_kind(profile::UNIT_KIND_WAIT);
  EXPECT_THAT(ReportOf(waits), Not(HasSubstr("no thread of the program ran")))
      << "these waits are the units";
}

TEST(ReportNotesTest, SaysHowMuchOfTheirTimeThreadsWaitedForEachOther) {
  SyntheticProfile made({}, {{"/src/a.cc", 5, "A()", 0.5, 0.5, {}}});
  made.AddRandomExperiments(40);
  made.End();
  profile::Profile profile = made.profile();
  const uint64_t outside_ns =
      BuildExperimentTable(profile).samples * profile.session(0).sampling_period_ns();
  profile::Thread* thread = profile.add_thread();
  thread->set_session(profile.session(0).id());
  thread->set_threads(1);
  thread->set_end_ns(2 * outside_ns);
  thread->set_cpu_ns(outside_ns / 5);
  EXPECT_THAT(ReportOf(profile), Not(HasSubstr("threads spent"))) << "samples are of CPU time";
  profile.mutable_session(0)->mutable_options()->set_unit_kind(profile::UNIT_KIND_WAIT);
  EXPECT_THAT(ReportOf(profile),
              HasSubstr("threads spent 10 % of their time on CPUs, 50 % in waits for the outside, "
                        "which are the units, and 40 % in waits for each other"));
}

// Shares are of the time of all threads; what has less than half a percent is left out.
TEST(ReportNotesTest, SaysWhereTheLongestWaitsAreThatAreNoUnits) {
  SyntheticProfile made({}, {{"/src/app/a.cc", 5, "A()", 0.5, 0.5, {}}});
  made.AddRandomExperiments(40);
  made.End();
  profile::Profile profile = made.profile();
  profile.mutable_session(0)->mutable_options()->set_unit_kind(profile::UNIT_KIND_WAIT);
  for (uint64_t line = 1; line <= 6; ++line) {
    profile::OwnWait* wait = profile.mutable_session_end(0)->add_own_wait();
    wait->set_file("/src/app/lock.cc");
    wait->set_line(static_cast<uint32_t>(line));
    wait->set_function("Lock()");
    wait->set_waited_ns(line * 1'000'000'000);
  }
  EXPECT_THAT(ReportOf(profile),
              HasSubstr("of waits that are no units, the longest are at lock.cc:6 (Lock()) 6 s, "
                        "lock.cc:5 (Lock()) 5 s, lock.cc:4 (Lock()) 4 s, lock.cc:3 (Lock()) 3 s, "
                        "lock.cc:2 (Lock()) 2 s in all threads"));
  profile::Thread* thread = profile.add_thread();
  thread->set_session(profile.session(0).id());
  thread->set_threads(1);
  thread->set_end_ns(1'001'000'000'000);
  profile.mutable_session_end(0)->mutable_own_wait(5)->set_file("");
  EXPECT_THAT(ReportOf(profile), HasSubstr("the longest are at Lock() 1 % of the threads' time"));
}

TEST(ReportNotesTest, SaysWhatShortThreadsHide) {
  profile::Profile made = FourLines();
  for (profile::Experiment& experiment : *made.mutable_experiment()) {
    experiment.mutable_validity()->set_unsampled_ns(experiment.total_samples() * 1'000'000);
  }
  EXPECT_THAT(ReportOf(made), HasSubstr("50 % of the CPU time was used by threads that ended"));
}

TEST(ReportNotesTest, SaysThatSamplingSlowsSwitches) {
  profile::Profile made = FourLines();
  ASSERT_GT(made.session_end_size(), 0);
  profile::SessionEnd* end = made.mutable_session_end(0);
  end->set_run_time_ns(10'000'000'000);
  end->set_thread_switches(400'000);
  end->set_switch_cost_ns(1000);
  EXPECT_THAT(ReportOf(made), Not(HasSubstr("threads were switched")));
  end->set_switch_cost_ns(20'000);
  EXPECT_THAT(ReportOf(made), HasSubstr("threads were switched 40000 times a second, and with a "
                                        "sampling timer of its own each switch may take 20 us more "
                                        "(80 % of a CPU in all)"));
}

TEST(ReportNotesTest, SaysThatAnotherSourceTookOverAndWhy) {
  profile::Profile made = FourLines();
  profile::SourceChange* change = made.add_source_change();
  change->set_session(made.session(0).id());
  change->set_at_ns(600'000'000);
  change->set_sampling_source(profile::SAMPLING_SOURCE_CPU_TIMER);
  change->set_switches_per_second(25'000);
  change->set_cpu_ns_per_second(1.9e9);
  change->set_switch_cost_ns(40'000);
  EXPECT_THAT(ReportOf(made),
              AllOf(HasSubstr("from 0.6 s on samples come from CPU timers"),
                    HasSubstr("25000 switches a second that take 40 us more each are 100 % of a "
                              "CPU, of 190 % that the program used"),
                    HasSubstr("effects may look smaller than they are")));
}

TEST(ReportNotesTest, DoesNotBlameTheSourceThatAnotherTookOverFrom) {
  profile::Profile made = FourLines();
  made.mutable_session(0)->set_fallback_reason("time in the kernel is not sampled");
  EXPECT_THAT(ReportOf(made),
              AllOf(HasSubstr("time in the kernel is not sampled"), Not(HasSubstr("on by"))));
  profile::SourceChange* change = made.add_source_change();
  change->set_session(made.session(0).id());
  change->set_sampling_source(profile::SAMPLING_SOURCE_CPU_TIMER);
  EXPECT_THAT(ReportOf(made), AllOf(Not(HasSubstr("time in the kernel is not sampled")),
                                    HasSubstr("; from 0.0 s on by cpu timer")));
}

TEST(ReportNotesTest, SaysThatTheKernelHeldSamplesBack) {
  profile::Profile made = FourLines();
  EXPECT_THAT(ReportOf(made), Not(HasSubstr("held back")));
  const auto throttle = [&made](uint64_t one_in) {
    for (profile::Experiment& experiment : *made.mutable_experiment()) {
      experiment.mutable_validity()->set_throttled(experiment.total_samples() / one_in);
    }
  };
  throttle(1000);
  EXPECT_THAT(ReportOf(made), Not(HasSubstr("held back")));
  throttle(4);
  EXPECT_THAT(ReportOf(made), HasSubstr("may have held back up to 25 % of the samples"));
  EXPECT_THAT(ReportOf(made),
              HasSubstr("run: sudo sysctl kernel.perf_event_max_sample_rate=100000"));
  made.mutable_session(0)->set_sampling_period_ns(5000);
  EXPECT_THAT(ReportOf(made), HasSubstr("kernel.perf_event_max_sample_rate=200000"));
}

TEST(ReportNotesTest, ABinaryIsNamedOnce) {
  profile::Profile made = FourLines();
  profile::Binary* const binary = made.add_binary();
  binary->set_session(made.session(0).id());
  binary->set_path("/usr/lib/libz.so");
  binary->add_debug_info_skipped("/usr/lib/libz.so has no debug information");
  binary->add_debug_info_skipped("a section in an unknown compression");
  EXPECT_THAT(ReportOf(made),
              AllOf(HasSubstr("note: /usr/lib/libz.so has no debug information\n"),
                    HasSubstr("note: /usr/lib/libz.so: a section in an unknown compression\n")));
}

// The table at the end of a run has notes, and no heading.
TEST(ReportNotesTest, SaysThatMostSamplesAreOutOfScope) {
  profile::Profile made = FourLines();
  EXPECT_THAT(ReportOf(made), Not(HasSubstr("on no line in scope")));
  profile::SampleCounts* const counts = made.add_sample_counts();
  counts->set_session(made.session(0).id());
  counts->set_out_of_scope_samples(10'000'000);
  EXPECT_THAT(ReportOf(made),
              ContainsRegex("note: 100 % of the samples fell on no line in scope, .*"
                            "run --unit=library"));
}

TEST(ReportNotesTest, SaysThatSpeedupsWereMissed) {
  report_testing::SyntheticOptions options;
  options.achieved_share = 0.7;
  SyntheticProfile made(options, {{"/src/a.cc", 5, "A()", 0.5, 0.5, {}}});
  made.AddRandomExperiments(40);
  EXPECT_THAT(ReportOf(made.profile()), HasSubstr("pauses made 70 % of the virtual speedups"));
  EXPECT_THAT(ReportOf(FourLines()), Not(HasSubstr("pauses made")));
}

TEST(ReportNotesTest, BaselinesAskForNoSpeedup) {
  profile::Profile made = FourLines();
  for (profile::Experiment& experiment : *made.mutable_experiment()) {
    if (experiment.virtual_speedup() == 0) experiment.set_achieved_virtual_speedup(7e12);
  }
  EXPECT_THAT(ReportOf(made), Not(HasSubstr("pauses made")));
}

// Two samples by chance miss by any share.
TEST(ReportNotesTest, ASpeedupOfFewSamplesIsNotMissed) {
  report_testing::SyntheticOptions options;
  options.achieved_share = 0.7;
  SyntheticProfile one_line(options, {{"/src/a.cc", 5, "A()", 0.5, 0.5, {}}});
  one_line.AddRandomExperiments(40);
  profile::Profile made = one_line.profile();
  for (profile::Experiment& experiment : *made.mutable_experiment()) {
    experiment.set_selected_samples(0);
  }
  auto& experiments = *made.mutable_experiment();
  std::find_if(experiments.begin(), experiments.end(), [](const profile::Experiment& experiment) {
    return experiment.virtual_speedup() != 0;
  })->set_selected_samples(2);
  EXPECT_THAT(ReportOf(made), Not(HasSubstr("pauses made")));
}

TEST(ReportNotesTest, AMissedSpeedupOnABusyMachineIsNoMatterOfCpusThatHalt) {
  report_testing::SyntheticOptions options;
  options.achieved_share = 0.7;
  SyntheticProfile one_line(options, {{"/src/a.cc", 5, "A()", 0.5, 0.5, {}}});
  one_line.AddRandomExperiments(40);
  profile::Profile made = one_line.profile();
  EXPECT_THAT(ReportOf(made), HasSubstr("leave the machine idle and profile again with `coz run"));
  for (profile::Experiment& experiment : *made.mutable_experiment()) {
    experiment.mutable_validity()->set_cpus(2);
    experiment.mutable_validity()->set_runnable_threads_average(3.5);
  }
  EXPECT_THAT(ReportOf(made),
              AllOf(HasSubstr("pauses made 70 %"), Not(HasSubstr("leave the machine idle"))));
}

TEST(ReportNotesTest, ProfileMergedWithItselfCountsOnce) {
  profile::Profile twice = FourLines();
  twice.MergeFrom(FourLines());
  const std::string text = ReportOf(twice);
  EXPECT_THAT(text, HasSubstr("120 experiments found twice and used once"));
  EXPECT_THAT(text, HasSubstr("120 experiments (23 at 0 %)"));
}

TEST(ReportNotesTest, ImpossibleFiguresAreLeftOut) {
  profile::Profile made = FourLines();
  made.mutable_experiment(0)->set_virtual_speedup(std::nan(""));
  made.mutable_experiment(1)->set_virtual_speedup(-3);
  made.mutable_experiment(2)->set_unit_samples(0, uint64_t{1} << 32);
  EXPECT_THAT(ReportOf(made), HasSubstr("3 experiments not used: impossible figures"));
}

TEST(ReportNotesTest, SaysWhatSamplingTakesWhereItIsMuch) {
  for (const double share : {0.3, 0.09, 0.01}) {
    SyntheticOptions options;
    options.noise = 0.002;
    options.bare_share = share;
    SyntheticProfile made(options, {{"/src/a.cc", 1, "Work()", 0.5, 0.5, {}}});
    for (int i = 0; i < 20; ++i) {
      made.AddRandomExperiments(8);
      made.AddBareInterval();
    }
    const std::string report = ReportOf(made.profile());
    const bool says = report.find("being sampled takes ") != std::string::npos;
    EXPECT_EQ(says, share > 0.02) << report;
    const bool says_nine = report.find("being sampled takes 9 % (") != std::string::npos;
    EXPECT_EQ(says_nine, share == 0.09) << report;
    const bool advises = report.find("--sampler=cpu-timer` may take less") != std::string::npos;
    EXPECT_EQ(advises, share > 0.1) << report;
  }
}

TEST(ReportNotesTest, SaysThatExperimentsWereSpoiltFromOutside) {
  SyntheticOptions options;
  options.noise = 0.005;
  SyntheticProfile made(options, {{"/src/a.cc", 1, "Work()", 0.5, 0.5, {}}});
  for (int i = 0; i < 16; ++i) made.AddExperiment(0, 0);
  for (int i = 1; i <= 10; ++i) made.AddExperiment(0, 0.1 * i);
  EXPECT_THAT(ReportOf(made.profile()), Not(HasSubstr("took far longer")));
  profile::PointCounts* counts = made.profile().mutable_experiment(3)->mutable_point(0);
  counts->set_visits(counts->visits() / 2);
  EXPECT_THAT(ReportOf(made.profile(), 300),
              HasSubstr("up to 1 experiment of a line took far longer or shorter"));
}

TEST(ReportNotesTest, APairOfWhichOnlyTheEndIsPassedIsAMismatch) {
  profile::Profile profile = FourLines();
  profile::ProgressPoint* pair = profile.add_progress_point();
  pair->set_session(profile.session(0).id());
  pair->set_id(77);
  pair->set_name("order");
  pair->set_kind(profile::PROGRESS_POINT_KIND_LATENCY);
  for (profile::Experiment& experiment : *profile.mutable_experiment()) {
    profile::PointCounts* counts = experiment.add_point();
    counts->set_point(77);
    counts->set_departures(50);
  }
  const std::string text = ReportOf(profile);
  EXPECT_THAT(text,
              ContainsRegex("Progress point order \\(latency\\): begin and end do not match:"));
  EXPECT_THAT(text, HasSubstr("though only 0 began"));
  EXPECT_THAT(text, Not(HasSubstr("order was never visited")));
}

}  // namespace
}  // namespace coz::report
