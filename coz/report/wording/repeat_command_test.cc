#include "coz/report/wording/repeat_command.h"

#include "coz/base/sampling_period.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace coz::report {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

profile::Session PlainSession() {
  profile::Session session;
  session.set_seed(18446744073709551615u);
  session.set_sampling_period_ns(DefaultSamplingPeriodNs(session.seed()));
  session.add_command("./my server");
  session.add_command("--port=80");
  session.mutable_options()->add_binary_scope("MAIN");
  session.mutable_options()->set_min_experiment_ns(500'000'000);
  return session;
}

TEST(RepeatCommandTest, OfAnAttachedProfileIsAttachWhereThatHasTheOption) {
  profile::Profile profile;
  *profile.add_session() = PlainSession();
  const std::string text = "with `sudo coz run --awake`, or `coz run --sampler=cpu-timer`";
  EXPECT_EQ(WithItsCommand(text, profile), text);
  profile.mutable_session(0)->mutable_options()->set_attached_pid(4711);
  EXPECT_EQ(WithItsCommand(text, profile),
            "with `sudo coz attach --awake`, or `coz run --sampler=cpu-timer`");
  EXPECT_EQ(WithItsCommand("coz run --follow=none, coz run -o x, coz run --sampling-period=2, coz "
                           "run --- PROGRAM, coz run --repeat 2 and coz run",
                           profile),
            "coz run --follow=none, coz attach -o x, coz attach --sampling-period=2, coz run --- "
            "PROGRAM, coz run --repeat 2 and coz run");
}

TEST(RepeatCommandTest, DefaultsAreNotSaid) {
  EXPECT_EQ(RepeatCommand(PlainSession()),
            "coz run --seed=18446744073709551615 --- './my server' --port=80");
}

TEST(RepeatCommandTest, NamesEveryOption) {
  profile::Session session = PlainSession();
  profile::Options& options = *session.mutable_options();
  options.set_unit_kind(profile::UNIT_KIND_FUNCTION);
  options.set_without_inlined_copies(true);
  options.add_group("io=%/io.cc");
  options.add_exclude("Log*");
  options.set_given("a.cc:3=50%");
  options.set_innermost_only(true);
  options.add_progress("libz.so*!inflate");
  options.add_progress("a.cc:4");
  options.add_progress_sampled("a.cc:5");
  options.add_latency("Begin,mark:it's done");
  options.set_progress_source("uprobe");
  options.add_source_scope("%/src/%");
  options.add_fixed_line("Work");
  options.add_fixed_virtual_speedup(0.25);
  options.add_fixed_virtual_speedup(0.5);
  session.set_sampling_period_ns(250'000);
  options.set_min_experiment_ns(250'000'000);
  options.set_sampler("cpu-timer");
  options.set_unwinder("libunwind");
  options.set_exclude_kernel(true);
  options.set_end_to_end(true);
  options.set_repeat(20);
  options.set_duration_ns(90'000'000'000);
  options.set_until_width(0.1);
  options.set_follow("all");
  options.set_until_last(true);
  EXPECT_EQ(
      RepeatCommand(session),
      "coz run --seed=18446744073709551615 --unit=function --without-inlined-copies "
      "--group=io=%/io.cc --exclude='Log*' --given=a.cc:3=50% --attribution=innermost "
      "--progress='libz.so*!inflate' --progress=a.cc:4 --progress-sampled=a.cc:5 "
      "--latency='Begin,mark:it'\\''s done' --progress-source=uprobe --source-scope=%/src/% "
      "--fixed-line=Work --fixed-speedup=25,50 --sampling-period=0.25 --experiment-length=0.25 "
      "--sampler=cpu-timer --unwinder=libunwind --exclude-kernel --end-to-end --repeat=20 "
      "--duration=90 --until=10 --follow=all --daemon --- './my server' --port=80");
}

TEST(RepeatCommandTest, OneUnitIsLookedAtUnderTheSameConditions) {
  profile::Options options;
  EXPECT_EQ(FixedUnitCommand(options, "a.cc:5"), "coz run --fixed-line a.cc:5");
  options.add_binary_scope("libz.so%");
  options.add_progress("Serve *");
  options.set_follow("all");
  options.add_fixed_line("b.cc:7");
  options.set_duration_ns(1);
  EXPECT_EQ(
      FixedUnitCommand(options, "a.cc:5"),
      "coz run --progress='Serve *' --binary-scope=libz.so% --follow=all --fixed-line a.cc:5");
  options.Clear();
  options.set_end_to_end(true);
  EXPECT_EQ(FixedUnitCommand(options, "a.cc:5"),
            "coz run --end-to-end --repeat=40 --fixed-line a.cc:5");
}

TEST(RepeatCommandTest, LargerUnitsAreLookedAtUnderTheSameConditions) {
  profile::Profile profile;
  *profile.add_session() = PlainSession();
  profile.mutable_session(0)->mutable_options()->add_progress("Serve");
  profile.mutable_session(0)->mutable_options()->add_fixed_line("b.cc:7");
  EXPECT_EQ(CommandByUnit(profile::UNIT_KIND_FILE, profile),
            "coz run --unit=file --progress=Serve --- './my server' --port=80");
}

TEST(RepeatCommandTest, AttachedProcessIsAttachedToAgain) {
  profile::Profile profile;
  profile::Session& session = *profile.add_session();
  session = PlainSession();
  EXPECT_EQ(CommandAgain(session), "coz run --- './my server' --port=80");
  EXPECT_EQ(CommandWith("-b %", profile), "coz run -b % --- './my server' --port=80");
  session.mutable_options()->set_attached_pid(4711);
  session.mutable_options()->add_progress("Serve");
  session.mutable_options()->set_duration_ns(3'000'000'000);
  EXPECT_EQ(CommandAgain(session), "coz attach --progress=Serve --duration=3 4711");
  EXPECT_EQ(CommandWith("-b %", profile), "coz attach -b % 4711");
  session.mutable_options()->set_attached_tree(true);
  EXPECT_EQ(RepeatCommand(session),
            "coz attach --seed=18446744073709551615 --tree --progress=Serve --duration=3 4711");
  EXPECT_EQ(FixedUnitCommand(session.options(), "a.cc:5") + TargetWords(profile),
            "coz attach --tree --progress=Serve --fixed-line a.cc:5 4711");
}

TEST(RepeatCommandTest, UnknownProgramIsLeftToTheReader) {
  EXPECT_EQ(CommandAgain({}), "coz run --- PROGRAM ARGS");
}

TEST(RepeatCommandTest, RunsOfASeriesAreRepeatedByOneCommand) {
  profile::Session session = PlainSession();
  session.set_seed(102);
  session.set_sampling_period_ns(DefaultSamplingPeriodNs(102));
  session.mutable_options()->set_repeat(5);
  session.mutable_options()->set_repetition(2);
  EXPECT_THAT(RepeatCommand(session), HasSubstr("--seed=100 --repeat=5 "));
}

TEST(RepeatCommandTest, RunsAreAddedUnderTheSameConditions) {
  profile::Session session = PlainSession();
  session.mutable_options()->add_progress("Serve");
  EXPECT_EQ(CommandToAdd("a b.pb", 0, session),
            "coz run --append -o 'a b.pb' --progress=Serve --- './my server' --port=80");
  session.mutable_options()->set_repeat(5);
  EXPECT_EQ(CommandToAdd("", 0, session),
            "coz run --append --progress=Serve --repeat=5 --- './my server' --port=80");
  EXPECT_EQ(CommandToAdd("", 40, session),
            "coz run --append --progress=Serve --repeat=40 --- './my server' --port=80");
  EXPECT_EQ(FixedUnitCommand(session.options(), "a.cc:5"),
            "coz run --progress=Serve --repeat=5 --fixed-line a.cc:5");
}

TEST(RepeatCommandTest, AnOlderVersionsDefaultPeriodIsSaid) {
  profile::Session session = PlainSession();
  session.set_sampling_period_ns(500'000);
  session.set_lone_thread_period_ns(1'000'000);
  EXPECT_THAT(RepeatCommand(session), HasSubstr("--sampling-period=0.5 "));
}

TEST(RepeatCommandTest, MeasuredOptionsAreThoseThatFiguresDependOn) {
  profile::Session session = PlainSession();
  session.mutable_options()->set_duration_ns(1);
  session.mutable_options()->add_fixed_line("a.cc:1");
  EXPECT_THAT(MeasuredOptions(session.options()), ElementsAre());
  session.mutable_options()->set_unit_kind(profile::UNIT_KIND_LINE);
  EXPECT_THAT(MeasuredOptions(session.options()), ElementsAre());
  session.mutable_options()->set_given("f=10%");
  session.mutable_options()->add_progress("g h");
  EXPECT_THAT(MeasuredOptions(session.options()), ElementsAre("--given=f=10%", "--progress='g h'"));
}

}  // namespace
}  // namespace coz::report
