#include "coz/supervisor/run/earlier_profiles.h"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "coz/report/format/profile.pb.h"
#include "coz/testing/run_command.h"
#include "gtest/gtest.h"

namespace coz::supervisor {
namespace {

class EarlierProfilesTest : public ::testing::Test {
 protected:
  void Write(const std::string& suffix, const std::string& content) const {
    std::ofstream(file_ + suffix, std::ios::binary) << content;
  }
  std::string Read(const std::string& suffix) const {
    std::ostringstream content;
    content << std::ifstream(file_ + suffix, std::ios::binary).rdbuf();
    return content.str();
  }
  bool Exists(const std::string& suffix) const { return std::filesystem::exists(file_ + suffix); }
  // The name of what was kept, without the folder.
  std::string Keep() {
    const absl::StatusOr<EarlierProfiles> kept = KeepEarlier(file_);
    EXPECT_TRUE(kept.ok()) << kept.status();
    if (kept.ok()) earlier_ = *kept;
    return kept.ok() ? std::filesystem::path(kept->last).filename().string() : "";
  }
  // A profile of so many experiments, whose session has the number.
  static std::string ProfileOf(uint64_t session, int experiments) {
    profile::Profile profile;
    profile.add_session()->set_id(session);
    for (int i = 0; i < experiments; ++i) {
      profile::Experiment* const experiment = profile.add_experiment();
      experiment->set_session(session);
      experiment->set_elapsed_ns(static_cast<uint64_t>(i) + 1);
    }
    return profile.SerializeAsString();
  }

  EarlierProfiles earlier_;
  const std::string file_ = testing::TemporaryFolder() + "/p.pb";
};

TEST_F(EarlierProfilesTest, LastOneHasTheFirstNumber) {
  for (uint64_t run = 1; run <= 3; ++run) {
    EXPECT_EQ(Keep(), run == 1 ? "" : "p.pb.1");
    EXPECT_FALSE(Exists(""));
    Write("", ProfileOf(run, 2));
    SettleEarlier(file_);
  }
  EXPECT_EQ(Read(""), ProfileOf(3, 2));
  EXPECT_EQ(Read(".1"), ProfileOf(2, 2));
  EXPECT_EQ(Read(".2"), ProfileOf(1, 2));
  EXPECT_FALSE(Exists(".3"));
}

TEST_F(EarlierProfilesTest, NineAreKept) {
  for (uint64_t run = 1; run <= 12; ++run) {
    Keep();
    Write("", ProfileOf(run, 1));
    SettleEarlier(file_);
  }
  EXPECT_EQ(Read(".1"), ProfileOf(11, 1));
  EXPECT_EQ(Read(".9"), ProfileOf(3, 1));
  EXPECT_FALSE(Exists(".10"));
}

TEST_F(EarlierProfilesTest, RunWithoutExperimentsGivesAllBack) {
  Write("", ProfileOf(10, 1));
  for (int i = 1; i <= kEarlierProfiles; ++i) Write(absl::StrCat(".", i), ProfileOf(10 - i, 1));
  EXPECT_EQ(Keep(), "p.pb.1");
  Write("", ProfileOf(11, 0));
  GiveBackEarlier(file_, earlier_);
  EXPECT_EQ(Read(""), ProfileOf(10, 1));
  for (int i = 1; i <= kEarlierProfiles; ++i) {
    EXPECT_EQ(Read(absl::StrCat(".", i)), ProfileOf(10 - i, 1)) << i;
  }
  EXPECT_FALSE(Exists(".10"));
}

TEST_F(EarlierProfilesTest, RunThatWroteNothingLeavesNoFile) {
  Keep();
  Write("", "");
  GiveBackEarlier(file_, earlier_);
  EXPECT_FALSE(Exists(""));
  Write("", "");
  Keep();
  GiveBackEarlier(file_, earlier_);
  EXPECT_TRUE(Exists("")) << "it was there before";
}

TEST_F(EarlierProfilesTest, GapEndsTheRow) {
  Write("", ProfileOf(1, 1));
  Write(".2", "not moved");
  EXPECT_EQ(Keep(), "p.pb.1");
  EXPECT_EQ(Read(".2"), "not moved");
  GiveBackEarlier(file_, earlier_);
  EXPECT_EQ(Read(""), ProfileOf(1, 1));
  EXPECT_EQ(Read(".2"), "not moved");
}

TEST_F(EarlierProfilesTest, ProfilesWithoutExperimentsAreNotKept) {
  for (const std::string& nothing : {std::string(), ProfileOf(1, 0)}) {
    Write("", nothing);
    EXPECT_EQ(Keep(), "");
    EXPECT_EQ(Read(""), nothing);
  }
}

TEST_F(EarlierProfilesTest, OtherFilesAreKept) {
  Write("", "dear diary\n");
  EXPECT_EQ(Keep(), "p.pb.1");
  EXPECT_EQ(Read(".1"), "dear diary\n");
}

// What is lost in it may be an experiment.
TEST_F(EarlierProfilesTest, DamagedProfilesAreKept) {
  profile::Profile damaged;
  damaged.add_session()->set_id(1);
  damaged.add_experiment();
  Write("", damaged.SerializeAsString());
  EXPECT_EQ(Keep(), "p.pb.1");
  Write("", ProfileOf(2, 0) + "\"");
  EXPECT_EQ(Keep(), "p.pb.1");
}

TEST_F(EarlierProfilesTest, DevicesAreLeftAlone) {
  const absl::StatusOr<EarlierProfiles> kept = KeepEarlier("/dev/null");
  EXPECT_TRUE(kept.ok() && kept->last.empty());
}

TEST_F(EarlierProfilesTest, SaysWhatCannotBeMoved) {
  Write("", ProfileOf(1, 1));
  std::filesystem::create_directory(file_ + ".1");
  Write(".1/full", "x");
  for (int i = 2; i <= kEarlierProfiles + 1; ++i) {
    std::filesystem::create_directory(absl::StrCat(file_, ".", i));
    Write(absl::StrCat(".", i, "/full"), "x");
  }
  const absl::StatusOr<EarlierProfiles> kept = KeepEarlier(file_);
  EXPECT_EQ(kept.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(Read(""), ProfileOf(1, 1));
}

}  // namespace
}  // namespace coz::supervisor
