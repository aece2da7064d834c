#include "coz/report/wording/nothing_measured.h"

#include <optional>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "coz/report/testing/synthetic_profile.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace coz::report {
namespace {

using report_testing::SyntheticProfile;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// What is missing, or "" where something was measured.
std::string WhatIsMissing(const profile::Profile& profile) {
  const ExperimentTable table = BuildExperimentTable(profile);
  const auto nothing = FindNothingMeasured(profile, table, Analyze(profile, table));
  return nothing.has_value() ? nothing->what : "";
}

// Ten samples, `in_scope` of them in unit 1, and a hundred visits of point 1.
profile::SampleCounts* AddCounts(const SyntheticProfile& made, int in_scope,
                                 profile::Profile* profile) {
  profile::SampleCounts* counts = profile->add_sample_counts();
  counts->set_session(made.options().session);
  counts->set_unmapped_samples(static_cast<uint64_t>(10 - in_scope));
  if (in_scope > 0) {
    counts->add_unit_id(1);
    counts->add_unit_samples(static_cast<uint64_t>(in_scope));
  }
  counts->add_point()->set_point(1);
  counts->mutable_point(0)->set_visits(100);
  return counts;
}

TEST(NothingMeasuredTest, ProfileTellsWhatIsMissing) {
  SyntheticProfile made({}, {{}});
  profile::Profile profile = made.profile();
  EXPECT_EQ(WhatIsMissing(profile), "no progress point was visited");

  profile::Profile pointless = profile;
  pointless.clear_progress_point();
  EXPECT_EQ(WhatIsMissing(pointless), "no progress point was seen");

  AddCounts(made, 10, &profile);
  EXPECT_EQ(WhatIsMissing(profile), "no experiment was finished");

  profile.mutable_sample_counts(0)->clear_unit_id();
  profile.mutable_sample_counts(0)->clear_unit_samples();
  EXPECT_EQ(WhatIsMissing(profile), "no sample was taken");

  SyntheticProfile unscoped({}, {});
  AddCounts(unscoped, 0, &unscoped.profile());
  EXPECT_EQ(WhatIsMissing(unscoped.profile()), "no sample fell on a line in scope");
}

TEST(NothingMeasuredTest, ProgramsMeasuredEndToEndNeedNoPoint) {
  SyntheticProfile made({}, {{}});
  profile::Profile profile = made.profile();
  AddCounts(made, 10, &profile);
  profile.clear_progress_point();
  profile.mutable_session(0)->mutable_options()->set_end_to_end(true);
  EXPECT_THAT(WhatIsMissing(profile), StartsWith("the run ended before its line was chosen"));
}

TEST(NothingMeasuredTest, ExperimentsOfVisitedPointsAreSomething) {
  SyntheticProfile made({}, {{}});
  made.AddRandomExperiments(10);
  EXPECT_EQ(WhatIsMissing(made.profile()), "");
}

profile::Profile Attached() {
  profile::Profile profile;
  profile::Options* const options = profile.add_session()->mutable_options();
  options->set_attached_pid(4711);
  options->set_attached_tree(true);
  options->set_unit_kind(profile::UNIT_KIND_LINE);
  options->add_binary_scope("MAIN");
  return profile;
}

struct Advice {
  MissingPart missing;
  const char* command;
};
constexpr Advice kAdvices[] = {
    {MissingPart::kPoint, "--progress=FUNCTION"},
    {MissingPart::kVisit, "--progress=FUNCTION"},
    {MissingPart::kSample, "--duration=60"},
    {MissingPart::kSampleInScope, "--unit=function --binary-scope=% --source-scope=%"},
    {MissingPart::kChoice, "--duration=60"},
    {MissingPart::kExperiment, "--duration=60"}};

TEST(NothingMeasuredTest, ProcessThatWasAttachedToIsNotToBeStarted) {
  const NothingContext context = ContextOf(Attached());
  for (const Advice& advice : kAdvices) {
    const std::string remedy = Explain(advice.missing, context).remedy;
    EXPECT_THAT(remedy, HasSubstr(absl::StrCat("`coz attach --tree ", advice.command, " ")));
    EXPECT_THAT(remedy, HasSubstr(" 4711`"));
    EXPECT_EQ(remedy.find("coz run"), std::string::npos) << remedy;
    EXPECT_EQ(remedy.find("has ended"), std::string::npos) << remedy;
  }
  EXPECT_THAT(Explain(MissingPart::kChoice, context).what, HasSubstr("before its line was chosen"));
}

// Samples are of waits then, so their want says nothing of CPU time.
TEST(NothingMeasuredTest, ProgramWithoutWaitsIsToBeMeasuredByItsCode) {
  SyntheticProfile made({}, {});
  profile::Profile& profile = made.profile();
  profile::Session* const session = profile.mutable_session(0);
  session->mutable_options()->set_unit_kind(profile::UNIT_KIND_WAIT);
  profile::SampleCounts* const counts = profile.add_sample_counts();
  counts->set_session(session->id());
  counts->add_point()->set_point(1);
  counts->mutable_point(0)->set_visits(100);
  EXPECT_EQ(WhatIsMissing(profile), "no wait for what is outside the program was seen");
  EXPECT_EQ(Explain(MissingPart::kSample, ContextOf(profile)).remedy,
            "it computes, or its threads wait for each other; measure its code with: `coz run "
            "--sampling-period=1 --- ./app --threads=2`");
  session->mutable_options()->set_attached_pid(4711);
  const NothingMeasured attached = Explain(MissingPart::kSample, ContextOf(profile));
  EXPECT_EQ(attached.what, "no wait for what is outside the process was seen");
  EXPECT_THAT(attached.remedy, HasSubstr("`coz attach --sampling-period=1 4711`"));
}

TEST(NothingMeasuredTest, ProcessThatHasEndedIsNotToBeAttachedToAgain) {
  profile::Profile profile = Attached();
  profile.add_session_end()->set_reason(profile::END_REASON_TARGET_EXITED);
  const NothingContext context = ContextOf(profile);
  for (const Advice& advice : kAdvices) {
    const std::string remedy = Explain(advice.missing, context).remedy;
    EXPECT_THAT(remedy,
                StartsWith("the process has ended, so start another, whose number is PID; "));
    EXPECT_THAT(remedy, HasSubstr(absl::StrCat(advice.command, " PID`")));
    EXPECT_EQ(remedy.find("4711"), std::string::npos) << remedy;
  }
}

TEST(NothingMeasuredTest, ShorterExperimentsAreAdvisedWhereTheyAreLong) {
  profile::Profile profile;
  profile::Options* const options = profile.add_session()->mutable_options();
  for (const bool is_attached : {false, true}) {
    options->set_attached_pid(is_attached ? 4711 : 0);
    options->set_min_experiment_ns(500'000'000);
    EXPECT_THAT(Explain(MissingPart::kExperiment, ContextOf(profile)).remedy,
                HasSubstr("try --experiment-length=0.1"));
    for (const uint64_t short_ns : {50'000'000, 100'000'000}) {
      options->set_min_experiment_ns(short_ns);
      const std::string remedy = Explain(MissingPart::kExperiment, ContextOf(profile)).remedy;
      EXPECT_THAT(remedy, Not(HasSubstr("try")));
      EXPECT_THAT(remedy, HasSubstr("20 s or more"));
      EXPECT_THAT(remedy, HasSubstr("a point that is visited more often, with --progress"));
    }
  }
}

TEST(NothingMeasuredTest, RemedyNamesWhatTheProgramHas) {
  NothingContext context;
  context.command = "./app 1";
  context.next.again = "coz run --- ./app 1";
  context.points = {"requests", "replies"};
  context.unit = "server.cc:12";
  EXPECT_EQ(OneSentence(Explain(MissingPart::kVisit, context)),
            "nothing was measured: no progress point was visited; the program has requests, "
            "replies; give it work that reaches one, or put COZ_PROGRESS where it does its work, "
            "and run `coz run --- ./app 1` again");
  EXPECT_THAT(Explain(MissingPart::kUnit, context).what, HasSubstr("code of server.cc:12"));
  EXPECT_THAT(Explain(MissingPart::kPoint, context).remedy,
              HasSubstr("`coz points --- ./app 1` lists some"));
}

TEST(NothingMeasuredTest, RemedyNamesTheProgramThatALauncherRan) {
  NothingContext context;
  context.programs = {"mpirun", "solver", true};
  context.next.again = "coz run -b %solver";
  context.next.widened = "coz run --unit=function";
  EXPECT_EQ(OneSentence(Explain(MissingPart::kSampleInScope, context)),
            "nothing was measured: no sample fell on a line in scope; the program that mpirun ran "
            "is solver; take it in with `coz run --unit=function`");
  EXPECT_EQ(Explain(MissingPart::kPoint, context).remedy,
            "name a function of solver, which mpirun ran, that is called for each unit of work (a "
            "request, a block), with --progress=FUNCTION; or put COZ_PROGRESS of coz.h there, "
            "built with -g, and run `coz run -b %solver`; or measure the whole run, with "
            "--end-to-end");
  EXPECT_EQ(Explain(MissingPart::kUnit, context).remedy,
            "name another, or take in solver, which mpirun ran: `coz run -b %solver`");
}

// A launcher that has failed before its program came.
TEST(NothingMeasuredTest, LibrariesWithoutSymbolsAreMeasuredAsAWhole) {
  SyntheticProfile made({}, {});
  AddCounts(made, 0, &made.profile());
  profile::Options* const options = made.profile().mutable_session(0)->mutable_options();
  options->add_binary_scope("%libm.so%");
  EXPECT_EQ(WhatIsMissing(made.profile()), "no sample fell on a line in scope");
  options->set_unit_kind(profile::UNIT_KIND_FUNCTION);
  const NothingMeasured nothing = Explain(MissingPart::kSampleInScope, ContextOf(made.profile()));
  EXPECT_THAT(nothing.what,
              StartsWith("no sample fell on a function in scope, as its code hardly "));
  EXPECT_THAT(nothing.remedy, HasSubstr("coz run --unit=library --binary-scope=%libm.so% --- "));
  EXPECT_THAT(nothing.remedy, Not(HasSubstr("build with -g")));
}

TEST(NothingMeasuredTest, FailureIsSaidAsItWas) {
  profile::Profile profile;
  profile::Session* session = profile.add_session();
  session->add_command("/usr/bin/mpirun");
  session->add_command("./app");
  session->mutable_options()->set_follow("all");
  profile::SessionEnd* end = profile.add_session_end();
  end->set_reason(profile::END_REASON_TARGET_EXITED);
  end->set_exit_status(1);
  end->set_run_time_ns(120'000'000);
  const ExperimentTable table = BuildExperimentTable(profile);
  const auto nothing = FindNothingMeasured(profile, table, Analyze(profile, table));
  ASSERT_TRUE(nothing.has_value());
  EXPECT_EQ(OneSentence(*nothing),
            "nothing was measured: mpirun ended with exit status 1 after 0.12 s, before coz could "
            "profile what it started; try it without coz: `/usr/bin/mpirun ./app`");
  for (const char* program : {"/usr/bin/orterun", "/bin/uname"}) {
    profile.add_process()->set_program(program);
  }
  EXPECT_EQ(ContextOf(profile).failure, "mpirun ended with exit status 1 after 0.12 s");
  profile.clear_process();
  session->mutable_options()->clear_follow();
  session->mutable_options()->set_min_experiment_ns(5'000'000'000);
  end->set_exit_signal(11);
  end->set_run_time_ns(2'540'000'000);
  EXPECT_EQ(ContextOf(profile).failure, "mpirun was ended by signal 11 after 2.5 s");
}

// Whatever a process that was attached to has started, coz is not to start it.
TEST(NothingMeasuredTest, WorkersOfAttachedProcessesAreNotNamed) {
  profile::Profile profile;
  profile.add_session()->mutable_options()->set_attached_pid(4711);
  for (const char* program : {"/bin/sh", "/bin/app"}) {
    profile::Process* process = profile.add_process();
    process->set_pid(profile.process_size());
    process->set_program(program);
  }
  profile::Thread* thread = profile.add_thread();
  thread->set_pid(2);
  thread->set_cpu_ns(5);
  EXPECT_EQ(FindProgramsRun(profile).worker, "app");
  EXPECT_EQ(ContextOf(profile).programs.worker, "");
}

TEST(NothingMeasuredTest, EachMissingPartHasWordsOfItsOwn) {
  std::set<std::string> whats, remedies;
  for (int i = 0; i <= static_cast<int>(MissingPart::kExperiment); ++i) {
    const NothingMeasured nothing = Explain(static_cast<MissingPart>(i), {});
    whats.insert(nothing.what);
    remedies.insert(nothing.remedy);
  }
  EXPECT_EQ(whats.size(), 10u);
  EXPECT_EQ(remedies.size(), 10u);
}

}  // namespace
}  // namespace coz::report
