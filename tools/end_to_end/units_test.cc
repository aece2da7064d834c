// What experiments of the coz command speed up: units of each kind on real programs, and one
// sentence for each name that is none.
#include <cmath>
#include <map>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "coz/testing/coz_run.h"
#include "coz/testing/one_sentence.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace coz {
namespace {

using ::coz::testing::CommandResult;
using ::coz::testing::ExpectOneSentence;
using ::coz::testing::kUsageStatus;
using ::coz::testing::LineWith;
using ::coz::testing::Puppet;
using ::coz::testing::RunfilePath;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsSubsetOf;
using ::testing::Not;

std::string Pipeline() { return RunfilePath("examples/pipeline"); }

std::string FileOf(const profile::Unit& unit) {
  return unit.file().substr(unit.file().rfind('/') + 1);
}
std::string LineOf(const profile::Unit& unit) {
  return absl::StrCat(FileOf(unit), ":", unit.line());
}

class UnitsTest : public testing::CozRunTest {
 protected:
  // Units of experiments, as "KIND name".
  std::set<std::string> Selected() const {
    const profile::Profile profile = Profile();
    EXPECT_GT(profile.experiment_size(), 0);
    std::set<std::string> names;
    for (const profile::Experiment& experiment : profile.experiment()) {
      for (const profile::Unit& unit : profile.unit()) {
        if (unit.id() != experiment.selected_unit()) continue;
        const std::string file = unit.file().substr(unit.file().rfind('/') + 1);
        names.insert(
            absl::StrCat(profile::UnitKind_Name(unit.kind()).substr(10), " ",
                         unit.kind() == profile::UNIT_KIND_LINE ||
                                 (unit.kind() == profile::UNIT_KIND_WAIT && unit.line() != 0)
                             ? absl::StrCat(file, ":", unit.line())
                         : unit.function().empty() ? file
                                                   : unit.function()));
      }
    }
    return names;
  }
};

TEST_F(UnitsTest, FunctionsAreSpedUpAsAWhole) {
  const CommandResult result = Run({"--unit=function"}, {Puppet("busy"), "2"});
  EXPECT_EQ(result.status, 0) << result.errors;
  EXPECT_THAT(Selected(), Contains("FUNCTION spin"));
  const profile::Profile profile = Profile();
  EXPECT_EQ(profile.session(0).options().unit_kind(), profile::UNIT_KIND_FUNCTION);
  for (const profile::Unit& unit : profile.unit()) {
    EXPECT_EQ(unit.kind(), profile::UNIT_KIND_FUNCTION);
    if (unit.function() == "spin") {
      EXPECT_THAT(unit.file(), EndsWith("busy.c"));
    }
  }
}

TEST_F(UnitsTest, FunctionsNeedNoDebugInformation) {
  const CommandResult result = Run({"--unit=function"}, {Puppet("busy_symbols"), "2"});
  EXPECT_EQ(result.status, 0) << result.errors;
  EXPECT_THAT(Selected(), Contains("FUNCTION spin"));
}

TEST_F(UnitsTest, FunctionsNeedSymbols) {
  ExpectOneSentence(Run({"--unit=function"}, {Puppet("busy_stripped"), "1"}),
                    "neither debug information nor a symbol table");
}

TEST_F(UnitsTest, LibrariesNeedNoSymbols) {
  const CommandResult result = Run({"--unit=library"}, {Puppet("busy_stripped"), "2"});
  EXPECT_EQ(result.status, 0) << result.errors;
  EXPECT_THAT(Selected(), Contains("LIBRARY busy_stripped"));
  EXPECT_THAT(Selected(), Not(Contains("LIBRARY libcoz.so")));
}

TEST_F(UnitsTest, FileIsOneUnit) {
  Run({"--unit=file"}, {Puppet("busy"), "1"});
  EXPECT_THAT(Selected(), ElementsAre("FILE busy.c"));
}

TEST_F(UnitsTest, GroupsStandBesideOtherUnits) {
  const CommandResult result = Run(
      {"--group", "stage=Decode", "--group", "stage=Check", "--unit=function"}, {Pipeline(), "3"});
  EXPECT_EQ(result.status, 0) << result.errors;
  EXPECT_THAT(Selected(), Contains("GROUP stage"));
  const profile::Profile profile = Profile();
  for (const profile::Unit& unit : profile.unit()) {
    EXPECT_THAT(unit.function(), Not(HasSubstr("Decode")));
  }
}

TEST_F(UnitsTest, SeveralFixedUnitsAreTriedAndNoOthers) {
  Run({"--unit=function", "--fixed-unit=Decode", "--fixed-unit=Compress",
       "--fixed-speedup=0,40-50"},
      {Pipeline(), "3"});
  EXPECT_THAT(Selected(), ElementsAre("FUNCTION (anonymous namespace)::Compress",
                                      "FUNCTION (anonymous namespace)::Decode"));
  std::set<int> percents;
  const profile::Profile profile = Profile();
  for (const profile::Experiment& experiment : profile.experiment()) {
    percents.insert(static_cast<int>(std::lround(experiment.virtual_speedup() * 100)));
  }
  EXPECT_THAT(percents, IsSubsetOf({0, 40, 45, 50}));
}

TEST_F(UnitsTest, ExcludedCodeIsNeverTried) {
  Run({"--unit=function", "--exclude=Decode", "--exclude=Check"}, {Pipeline(), "2"});
  const profile::Profile profile = Profile();
  for (const profile::Unit& unit : profile.unit()) {
    EXPECT_THAT(unit.function(), Not(HasSubstr("Decode")));
    EXPECT_THAT(unit.function(), Not(HasSubstr("Check")));
  }
}

// The program's only work is given at 50 %, so even its baselines insert delay.
TEST_F(UnitsTest, GivenUnitIsSpedUpInBaselinesToo) {
  const CommandResult result =
      Run({"--unit=function", "--given=Decode=50%", "--fixed-unit=Compress", "--fixed-speedup=0"},
          {Pipeline(), "2"});
  EXPECT_EQ(result.status, 0) << result.errors;
  const profile::Profile profile = Profile();
  EXPECT_EQ(profile.session(0).options().given(), "Decode=50%");
  ASSERT_GT(profile.experiment_size(), 0);
  uint64_t inserted_ns = 0;
  for (const profile::Experiment& experiment : profile.experiment()) {
    EXPECT_EQ(experiment.virtual_speedup(), 0);
    inserted_ns += experiment.inserted_delay_ns();
  }
  EXPECT_GT(inserted_ns, 0u);
  EXPECT_THAT(result.errors, HasSubstr("Decode is 50 % faster already"));
}

// Threads impose the delay of samples ahead of them, as they run on. What is ahead when an
// experiment ends must not be missing from the next.
TEST_F(UnitsTest, AnExperimentAchievesItsSpeedupBehindALargerOne) {
  const CommandResult result =
      Run({"--unit=function", "--fixed-unit=Compress", "--fixed-speedup=25,75"}, {Pipeline(), "6"});
  EXPECT_EQ(result.status, 0) << result.errors;
  const profile::Profile profile = Profile();
  double achieved = 0;
  int experiments = 0;
  for (const profile::Experiment& experiment : profile.experiment()) {
    if (experiment.virtual_speedup() != 0.25) continue;
    achieved += experiment.achieved_virtual_speedup();
    ++experiments;
  }
  ASSERT_GT(experiments, 0);
  EXPECT_GT(achieved / experiments, 0.2);
}

// The thread's waits for the other one are of the program, and so is what the other one waits for.
TEST_F(UnitsTest, WaitsForTheOutsideAreUnitsByTheLineOfTheirCall) {
  const CommandResult result = Run({"--unit=wait", "--follow=none"}, {Puppet("waits"), "5"});
  EXPECT_EQ(result.status, 0) << result.errors;
  const std::string nap = LineWith("waits.c", "NAP");
  const std::string ask = LineWith("waits.c", "ASK");
  EXPECT_THAT(Selected(), IsSubsetOf({"WAIT " + nap, "WAIT " + ask}));
  const profile::Profile profile = Profile();
  EXPECT_EQ(profile.session(0).options().unit_kind(), profile::UNIT_KIND_WAIT);
  std::map<std::string, std::string> kinds;
  for (const profile::Unit& unit : profile.unit()) kinds[LineOf(unit)] = unit.wait();
  EXPECT_EQ(kinds, (std::map<std::string, std::string>{{nap, "sleep"}, {ask, "pipe"}}));
  const CommandResult report =
      testing::RunCommand({testing::Coz(), "report", Path("profile.pb")}, options_);
  EXPECT_THAT(report.output, HasSubstr("nap (sleep)"));
  EXPECT_THAT(report.output, HasSubstr("main (pipe)"));
  EXPECT_THAT(report.output, HasSubstr("in waits for the outside, which are the units, and"));
}

// The thread works for a small part of each round, and then waits for the next one.
TEST_F(UnitsTest, WaitsForThreadsAreShownByTheLineOfTheirCall) {
  const CommandResult result = Run({"--unit=wait", "--follow=none"}, {Puppet("waits"), "2"});
  EXPECT_EQ(result.status, 0) << result.errors;
  const profile::Profile profile = Profile();
  ASSERT_EQ(profile.session_end_size(), 1);
  ASSERT_GT(profile.session_end(0).own_wait_size(), 0);
  const profile::OwnWait& longest = profile.session_end(0).own_wait(0);
  const std::string idle = LineWith("waits.c", "IDLE");
  EXPECT_EQ(absl::StrCat("waits.c:", longest.line()), idle);
  EXPECT_EQ(longest.function(), "work");
  const std::string note =
      absl::StrCat("of waits that are no units, the longest are at ", idle, " (work) ");
  const CommandResult text =
      testing::RunCommand({testing::Coz(), "report", Path("profile.pb")}, options_);
  EXPECT_THAT(text.output, HasSubstr(note));
  const CommandResult json =
      testing::RunCommand({testing::Coz(), "report", "--json", Path("profile.pb")}, options_);
  EXPECT_THAT(json.output, HasSubstr("\"own_waits\""));
}

TEST_F(UnitsTest, WaitsAreSpedUpByTheShareOfTheirLength) {
  const std::string nap = LineWith("waits.c", "NAP");
  const CommandResult result =
      Run({"--unit=wait", "--follow=none", "--fixed-line=" + nap, "--fixed-speedup=50"},
          {Puppet("waits"), "3"});
  EXPECT_EQ(result.status, 0) << result.errors;
  const profile::Profile profile = Profile();
  double achieved = 0;
  int experiments = 0;
  for (const profile::Experiment& experiment : profile.experiment()) {
    if (experiment.virtual_speedup() != 0.5) continue;
    achieved += experiment.achieved_virtual_speedup();
    ++experiments;
  }
  ASSERT_GT(experiments, 0);
  EXPECT_GT(achieved / experiments, 0.4);
  EXPECT_LT(achieved / experiments, 0.6);
}

TEST_F(UnitsTest, WaitsWithoutALineAreUnitsByTheirKind) {
  const CommandResult result =
      Run({"--unit=wait", "--follow=none", "--fixed-unit=sleep", "--fixed-speedup=0,50"},
          {Puppet("waits_stripped"), "1"});
  EXPECT_EQ(result.status, 0) << result.errors;
  EXPECT_THAT(Selected(), ElementsAre("WAIT sleep"));
}

TEST_F(UnitsTest, UnknownNamesGetTheClosestOnes) {
  ExpectOneSentence(Run({"--fixed-line=busy.c:1"}, {Puppet("busy"), "1"}),
                    "the closest are busy.c:");
  ExpectOneSentence(Run({"--fixed-line=bussy.c:30"}, {Puppet("busy"), "1"}), "busy.c");
  ExpectOneSentence(Run({"--unit=function", "--fixed-unit=spinn"}, {Puppet("busy"), "1"}),
                    "the closest is spin");
  ExpectOneSentence(Run({"--given=nothing:1=10%"}, {Puppet("busy"), "1"}), "--given=nothing:1");
}

TEST_F(UnitsTest, GroupWhoseCodeHardlyRunsIsNamed) {
  EXPECT_THAT(Run({"--group", "input=copy_input"}, {Puppet("busy"), "1"}).errors,
              HasSubstr("--group input had no samples"));
}

TEST_F(UnitsTest, GroupsThatMakeNoSenseAreRefused) {
  ExpectOneSentence(Run({"--group", "a=spinn"}, {Puppet("busy"), "1"}), "the closest is spin");
  ExpectOneSentence(Run({"--group", "a=busy.c", "--group", "b=spin"}, {Puppet("busy"), "1"}),
                    "a and b both hold");
  ExpectOneSentence(Run({"--group", "spin"}, {Puppet("busy"), "1"}), "NAME=PATTERN", kUsageStatus);
}

TEST_F(UnitsTest, OptionsThatMakeNoSenseAreRefused) {
  const std::vector<std::string> program = {Puppet("busy"), "1"};
  ExpectOneSentence(Run({"--fixed-speedup=0,20-120"}, program), "20-120", kUsageStatus);
  ExpectOneSentence(Run({"--fixed-speedup=50-20"}, program), "50-20", kUsageStatus);
  ExpectOneSentence(Run({"--given=busy.c:30"}, program), "--given busy.c:30", kUsageStatus);
  ExpectOneSentence(Run({"--given=spin=0", "--unit=function"}, program), "above 0", kUsageStatus);
  ExpectOneSentence(Run({"--without-inlined-copies"}, program), "--unit=function", kUsageStatus);
  ExpectOneSentence(Run({"--unit=wait", "--attribution=innermost"}, program), "--unit=wait",
                    kUsageStatus);
  ExpectOneSentence(Run({"--unit=function", "--given=spin=50", "--fixed-unit=spin"}, program),
                    "both name spin");
}

// Samples of the whole run, by a name of their units.
template <typename NameOf>
std::map<std::string, uint64_t> SamplesBy(const profile::Profile& profile, NameOf name_of) {
  std::map<std::string, uint64_t> samples;
  const auto add = [&](const auto& record) {
    for (int i = 0; i < record.unit_id_size(); ++i) {
      for (const profile::Unit& unit : profile.unit()) {
        if (unit.id() == record.unit_id(i)) samples[name_of(unit)] += record.unit_samples(i);
      }
    }
  };
  for (const profile::Experiment& experiment : profile.experiment()) add(experiment);
  for (const profile::SampleCounts& counts : profile.sample_counts()) add(counts);
  return samples;
}

std::string FunctionOf(const profile::Unit& unit) { return unit.function(); }

std::map<std::string, uint64_t> SamplesByFile(const profile::Profile& profile) {
  return SamplesBy(profile, FileOf);
}

TEST_F(UnitsTest, LibrariesThatTakeTurnsAtOnePlaceAreToldApart) {
  const CommandResult result =
      Run({"-b", "lib%plugin.so"},
          {Puppet("reopener"), Puppet("libplugin.so"), Puppet("libother_plugin.so"), "30", "80"});
  ASSERT_EQ(result.status, 0) << result.errors;
  // Otherwise the test says nothing.
  EXPECT_GT(std::stoi(result.output), 10);
  std::map<std::string, uint64_t> samples = SamplesByFile(Profile());
  const uint64_t both = samples["plugin.c"] + samples["other_plugin.c"];
  EXPECT_GT(both, 300u);
  EXPECT_GT(samples["plugin.c"] * 4, both);
  EXPECT_GT(samples["other_plugin.c"] * 4, both);
  EXPECT_THAT(Profile().binary_size(), 2);
}

// More times than there are places for objects.
TEST_F(UnitsTest, LibrariesMayComeAndGoWithoutEnd) {
  const CommandResult result =
      Run({"-b", "lib%plugin.so", "--seed=1"},
          {Puppet("reopener"), Puppet("libplugin.so"), Puppet("libother_plugin.so"), "700", "4"});
  ASSERT_EQ(result.status, 0) << result.errors;
  Run({"-b", "lib%plugin.so", "--append"},
      {Puppet("reopener"), Puppet("libplugin.so"), Puppet("libother_plugin.so"), "10", "80"});
  EXPECT_GT(SamplesByFile(Profile())["plugin.c"], 50u);
}

// A second of CPU time is 250 samples or more; half of it is spent in memset.
TEST_F(UnitsTest, InnermostAttributionLeavesOutWhatALineCalls) {
  const std::string call = LineWith("layers.c", "memset(");
  const std::string own_work = LineWith("layers.c", "x >> 29");
  Run({}, {Puppet("layers"), "1"});
  std::map<std::string, uint64_t> callers = SamplesBy(Profile(), LineOf);
  EXPECT_FALSE(Profile().session(0).options().innermost_only());
  EXPECT_GT(callers[call], 80u);
  EXPECT_GT(callers[own_work], 80u);
  Run({"--attribution=innermost"}, {Puppet("layers"), "1"});
  std::map<std::string, uint64_t> innermost = SamplesBy(Profile(), LineOf);
  EXPECT_TRUE(Profile().session(0).options().innermost_only());
  EXPECT_LT(innermost[call] * 10, callers[call]);
  EXPECT_GT(innermost[own_work], 80u);
  EXPECT_GT(Profile().experiment_size(), 0);
}

TEST_F(UnitsTest, InlinedCopiesCountForTheirFunctionOrForTheOneAroundThem) {
  Run({"--unit=function"}, {Puppet("layers"), "1"});
  std::map<std::string, uint64_t> with = SamplesBy(Profile(), FunctionOf);
  EXPECT_GT(with["inner"], 80u);
  EXPECT_LT(with["outer"] * 10, with["inner"]);
  EXPECT_THAT(Selected(), Contains("FUNCTION inner"));
  Run({"--unit=function", "--without-inlined-copies"}, {Puppet("layers"), "1"});
  std::map<std::string, uint64_t> without = SamplesBy(Profile(), FunctionOf);
  EXPECT_EQ(without.count("inner"), 0u);
  EXPECT_GT(without["outer"], 80u);
  EXPECT_THAT(Selected(), Contains("FUNCTION outer"));
}

}  // namespace
}  // namespace coz
