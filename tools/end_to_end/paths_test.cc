// Call paths as units: one function's samples and experiments by who calls it.
#include <map>
#include <set>
#include <string>

#include "absl/strings/match.h"
#include "coz/testing/coz_run.h"
#include "coz/testing/one_sentence.h"
#include "coz/testing/whole_run.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace coz {
namespace {

using ::coz::testing::CommandResult;
using ::coz::testing::ExpectOneSentence;
using ::coz::testing::kUsageStatus;
using ::coz::testing::Puppet;
using ::coz::testing::SamplesInRun;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Gt;
using ::testing::HasSubstr;
using ::testing::Lt;

class PathsTest : public testing::CozRunTest {
 protected:
  std::set<std::string> Selected() const {
    const profile::Profile profile = Profile();
    EXPECT_GT(profile.experiment_size(), 0);
    std::set<std::string> names;
    for (const profile::Experiment& experiment : profile.experiment()) {
      for (const profile::Unit& unit : profile.unit()) {
        if (unit.id() == experiment.selected_unit()) names.insert(unit.function());
      }
    }
    return names;
  }

  // Samples of one unit for each of another.
  double Ratio(const std::string& unit, const std::string& other) {
    std::map<std::string, uint64_t> samples = SamplesInRun(Profile());
    EXPECT_GT(samples[other], 0u) << other;
    return static_cast<double>(samples[unit]) / static_cast<double>(samples[other]);
  }
};

// Shares by CPU time, so a busy machine does not change them.
TEST_F(PathsTest, FunctionSplitsByWhoCallsIt) {
  const CommandResult result = Run({"--unit=path"}, {Puppet("callers"), "1.5"});
  EXPECT_EQ(result.status, 0) << result.errors;
  EXPECT_THAT(Ratio("helper < serve", "own < serve"), AllOf(Gt(1.0), Lt(2.2)));
  EXPECT_THAT(Ratio("helper < sweep", "helper < serve"), AllOf(Gt(0.6), Lt(1.15)));
  EXPECT_THAT(Ratio("inner < pack", "helper < sweep"), AllOf(Gt(0.17), Lt(0.6)));
  // Calls of itself fold, as far as they are followed.
  EXPECT_THAT(Ratio("deep < sweep", "helper < sweep"), AllOf(Gt(0.17), Lt(0.6)));
  EXPECT_THAT(Ratio("well < ?", "helper < sweep"), AllOf(Gt(0.17), Lt(0.6)));
  const profile::Profile profile = Profile();
  EXPECT_EQ(profile.session(0).options().callers(), 1u);
  for (const profile::Unit& unit : profile.unit()) {
    EXPECT_EQ(unit.kind(), profile::UNIT_KIND_PATH);
    EXPECT_NE(unit.function(), "helper");
  }
}

// All of a library's work for one function of the program is one unit, and for another one another.
TEST_F(PathsTest, LibraryIsSplitByWhoCallsIt) {
  const CommandResult result =
      Run({"--unit=path", "--binary-scope=MAIN", "--binary-scope=libapi.so%",
           "--group=api=libapi.so%", "--progress=api:libapi.so:ApiPlain"},
          {Puppet("api_caller_now"), "60000"});
  EXPECT_EQ(result.status, 0) << result.errors;
  uint64_t for_round = 0;
  uint64_t for_callback = 0;
  for (const auto& [unit, samples] : SamplesInRun(Profile())) {
    if (!absl::StartsWith(unit, "api < ")) continue;
    if (absl::StrContains(unit, "Round")) for_round += samples;
    if (absl::StrContains(unit, "Callback")) for_callback += samples;
  }
  EXPECT_GT(for_round, for_callback);
  EXPECT_GT(for_callback, 0u);
}

TEST_F(PathsTest, MoreCallersTellMorePathsApart) {
  const CommandResult result = Run({"--unit=path", "--callers=2"}, {Puppet("callers"), "1"});
  EXPECT_EQ(result.status, 0) << result.errors;
  EXPECT_GT(SamplesInRun(Profile())["inner < pack < sweep"], 0u);
  EXPECT_GT(SamplesInRun(Profile())["helper < serve"], 0u);  // nobody in scope calls `serve`
}

TEST_F(PathsTest, NamedPathAloneIsSpedUp) {
  const CommandResult result =
      Run({"--fixed-line=helper<serve", "--fixed-speedup=50"}, {Puppet("callers"), "2"});
  EXPECT_EQ(result.status, 0) << result.errors;
  EXPECT_THAT(Selected(), ElementsAre("helper < serve"));
  const profile::Profile profile = Profile();
  uint64_t selected = 0;
  uint64_t of_serve = 0;
  uint64_t inserted_ns = 0;
  for (const profile::Experiment& experiment : profile.experiment()) {
    if (experiment.virtual_speedup() == 0) continue;
    selected += experiment.selected_samples();
    inserted_ns += experiment.inserted_delay_ns();
    for (int i = 0; i < experiment.unit_id_size(); ++i) {
      if (experiment.unit_id(i) == experiment.selected_unit()) {
        of_serve += experiment.unit_samples(i);
      }
    }
  }
  EXPECT_GT(inserted_ns, 0u);
  // A sample at an experiment's edge may be on either side.
  EXPECT_NEAR(static_cast<double>(selected), static_cast<double>(of_serve),
              0.1 * static_cast<double>(of_serve) + 5);
}

TEST_F(PathsTest, PathThatCannotBeIsNamed) {
  ExpectOneSentence(Run({"--fixed-line=helper<serv"}, {Puppet("callers"), "1"}),
                    "no code of the program belongs to serv (");
  ExpectOneSentence(Run({"--unit=line", "--callers=2"}, {Puppet("callers"), "1"}),
                    "add --unit=path", kUsageStatus);
  ExpectOneSentence(Run({"--unit=path", "--callers=1", "--fixed-line=inner<pack<sweep"},
                        {Puppet("callers"), "1"}),
                    "--callers=N", kUsageStatus);
}

TEST_F(PathsTest, ReportShowsPathsByName) {
  Run({"--fixed-line=helper<serve"}, {Puppet("callers"), "2"});
  // Names are shortened where there is no room for them.
  const CommandResult report = testing::RunCommand(
      {"env", "COLUMNS=160", testing::Coz(), "report", Path("profile.pb")}, options_);
  EXPECT_EQ(report.status, 0) << report.errors;
  EXPECT_THAT(report.output, HasSubstr("helper < serve"));
  EXPECT_THAT(report.output, HasSubstr("    helper "));
  EXPECT_THAT(report.output, HasSubstr("      < serve "));
}

}  // namespace
}  // namespace coz
