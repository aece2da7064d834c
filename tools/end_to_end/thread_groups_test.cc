// Units by group of threads: two named threads run the same line, and each has its own unit.
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "coz/testing/coz_run.h"
#include "coz/testing/one_sentence.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace coz {
namespace {

using ::coz::testing::CommandResult;
using ::coz::testing::Coz;
using ::coz::testing::ExpectOneSentence;
using ::coz::testing::LineWith;
using ::coz::testing::Puppet;
using ::coz::testing::RunCommand;
using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// alpha does so many rounds, and beta twice as many.
constexpr const char* kRounds = "2000";

class ThreadGroupsTest : public testing::CozRunTest {
 protected:
  // Samples of all units, by their group of threads.
  std::map<std::string, uint64_t> SamplesByGroup() const {
    const profile::Profile profile = Profile();
    const std::map<uint32_t, std::string> groups = GroupOfUnits(profile);
    std::map<std::string, uint64_t> samples;
    const auto add = [&](const auto& record) {
      for (int i = 0; i < record.unit_id_size(); ++i) {
        samples[groups.at(record.unit_id(i))] += record.unit_samples(i);
      }
    };
    for (const auto& record : profile.experiment()) add(record);
    for (const auto& record : profile.control()) add(record);
    for (const auto& record : profile.sample_counts()) add(record);
    return samples;
  }

  static std::map<uint32_t, std::string> GroupOfUnits(const profile::Profile& profile) {
    std::map<uint32_t, std::string> groups;
    for (const profile::Unit& unit : profile.unit()) groups[unit.id()] = unit.thread_group();
    return groups;
  }

  // Samples in code in scope, by the thread's name.
  std::map<std::string, uint64_t> SamplesByName() const {
    std::map<std::string, uint64_t> samples;
    const profile::Profile profile = Profile();
    for (const profile::Thread& thread : profile.thread()) {
      samples[thread.name()] += thread.samples_in_scope();
    }
    return samples;
  }

  std::set<std::string> Selected() const {
    const profile::Profile profile = Profile();
    const std::map<uint32_t, std::string> groups = GroupOfUnits(profile);
    std::set<std::string> selected;
    for (const profile::Experiment& experiment : profile.experiment()) {
      selected.insert(groups.at(experiment.selected_unit()));
    }
    return selected;
  }

  const std::vector<std::string> program_ = {Puppet("named"), kRounds};
  const std::string line_ = LineWith("named.c", "the shared line");
};

TEST_F(ThreadGroupsTest, EachGroupHasTheSamplesOfItsThreads) {
  const CommandResult result = Run({"--thread-group=first=al*", "--thread-group=beta"}, program_);
  ASSERT_EQ(result.status, 0) << result.errors;
  std::map<std::string, uint64_t> by_group = SamplesByGroup();
  std::map<std::string, uint64_t> by_name = SamplesByName();
  EXPECT_GT(by_group["first"], 0u);
  EXPECT_EQ(by_group["first"], by_name["alpha"]);
  EXPECT_EQ(by_group["beta"], by_name["beta"]);
  EXPECT_EQ(by_group["others"], by_name["early"] + by_name["named"]);
  EXPECT_EQ(by_group.count(""), 0u);
  EXPECT_THAT(Profile().session(0).options().thread_group(), ElementsAre("first=al*", "beta"));
}

// The known answer: a line that two threads run is sped up in the threads of one group, and samples
// of the other impose nothing.
TEST_F(ThreadGroupsTest, AnExperimentSpeedsUpOneGroupAlone) {
  const CommandResult result = Run({"--thread-group=alpha", "--thread-group=beta",
                                    absl::StrCat("--fixed-line=", line_), "--fixed-speedup=50"},
                                   program_);
  ASSERT_EQ(result.status, 0) << result.errors;
  EXPECT_THAT(Selected(), ::testing::IsSupersetOf({"alpha", "beta"}));
  const profile::Profile profile = Profile();
  for (const profile::Experiment& experiment : profile.experiment()) {
    if (experiment.virtual_speedup() == 0) continue;
    uint64_t own = 0;
    for (int i = 0; i < experiment.unit_id_size(); ++i) {
      if (experiment.unit_id(i) == experiment.selected_unit()) own += experiment.unit_samples(i);
    }
    // A sample at an experiment's edge may be on either side.
    EXPECT_NEAR(static_cast<double>(experiment.selected_samples()), static_cast<double>(own),
                0.1 * static_cast<double>(own) + 5);
    EXPECT_LE(experiment.inserted_delay_ns(),
              (experiment.selected_samples() + 5) * profile.session(0).sampling_period_ns());
  }
}

TEST_F(ThreadGroupsTest, AGroupCanBeNamedAndGiven) {
  Run({"--thread-group=alpha", "--thread-group=beta", absl::StrCat("--fixed-line=", line_, "@beta"),
       absl::StrCat("--given=", line_, "@alpha=50%")},
      program_);
  EXPECT_THAT(Selected(), ElementsAre("beta"));
  const CommandResult report = RunCommand({Coz(), "report"}, options_);
  EXPECT_THAT(report.output, HasSubstr("@alpha is 50 % faster already"));
  EXPECT_THAT(report.output, ContainsRegex("thread groups: @beta [0-9.]+ %, @alpha [0-9.]+ %"));
  EXPECT_THAT(report.output, ContainsRegex(":[0-9]+@beta "));
}

TEST_F(ThreadGroupsTest, CallPathsAndWaitsAreSplitToo) {
  Run({"--unit=path", "--thread-group=beta"}, program_);
  EXPECT_GT(SamplesByGroup()["beta"], SamplesByGroup()["others"]);
  Run({"--unit=wait", "--follow=none", "--thread-group=first=waits", "-o", "waits.pb"},
      {Puppet("waits"), "1"});
  const profile::Profile waits = Profile("waits.pb");
  ASSERT_GT(waits.unit_size(), 0);
  for (const profile::Unit& unit : waits.unit()) EXPECT_EQ(unit.thread_group(), "first");
}

TEST_F(ThreadGroupsTest, WhatCannotBeIsRefused) {
  ExpectOneSentence(Run({"--thread-group=io="}, program_), "lacks a name or a pattern");
  ExpectOneSentence(Run({"--thread-group=others=io*"}, program_), "cannot be named so");
  ExpectOneSentence(Run({"--thread-group=io=a_name_of_17_letters"}, program_),
                    "'io=a_name_of_17_le*'");
  ExpectOneSentence(Run({"--thread-group=beta", absl::StrCat("--given=", line_, "=50%")}, program_),
                    "is in every group of threads");
  ExpectOneSentence(
      Run({"--thread-group=beta", absl::StrCat("--fixed-line=", line_, "@alpha")}, program_),
      "belongs to this line");
}

TEST_F(ThreadGroupsTest, AGroupWithoutThreadsIsSaid) {
  const CommandResult result = Run({"--thread-group=io=io-*"}, program_);
  EXPECT_THAT(result.errors, HasSubstr("--thread-group=io-* matched no thread"));
  EXPECT_THAT(result.errors, Not(HasSubstr("--thread=")));
}

}  // namespace
}  // namespace coz
