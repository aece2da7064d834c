#include "coz/supervisor/calibration/calibration.h"

#include <cstdlib>
#include <fstream>
#include <string>

#include "coz/testing/run_command.h"
#include "gtest/gtest.h"

namespace coz::supervisor {
namespace {

TEST(CalibrationTest, SumsErrorsUpWithoutTheirSigns) {
  const Calibration calibration = CalibrationOf({0.01, -0.03, 0.02}, 7);
  EXPECT_EQ(calibration.figures, 3u);
  EXPECT_NEAR(calibration.mean_error, 0.02, 1e-12);
  EXPECT_NEAR(calibration.worst_error, 0.03, 1e-12);
  EXPECT_EQ(calibration.time_s, 7);
}

TEST(CalibrationTest, ReadsBackWhatItWrote) {
  const std::string path = testing::TemporaryFolder() + "/new/folder/calibration.json";
  ASSERT_TRUE(WriteCalibration(path, CalibrationOf({0.5, -0.25}, 123)).ok());
  const auto read = ReadCalibration(path);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->time_s, 123);
  EXPECT_EQ(read->figures, 2u);
  EXPECT_EQ(read->mean_error, 0.375);
  EXPECT_EQ(read->worst_error, 0.5);
}

TEST(CalibrationTest, AnotherMachinesSaysNothing) {
  const std::string path = testing::TemporaryFolder() + "/calibration.json";
  ASSERT_TRUE(WriteCalibration(path, CalibrationOf({0.5}, 1), "there 6.1 8").ok());
  EXPECT_FALSE(ReadCalibration(path).has_value());
  EXPECT_TRUE(ReadCalibration(path, "there 6.1 8").has_value());
}

TEST(CalibrationTest, DamagedOnesAreNone) {
  const std::string path = testing::TemporaryFolder() + "/calibration.json";
  for (const char* text :
       {"", "{", "[]", "{}", R"({"machine":"m","time_s":"x","figures":1})",
        R"({"machine":"m","time_s":1,"figures":0,"mean_error":0,"worst_error":0})"}) {
    std::ofstream(path) << text;
    EXPECT_FALSE(ReadCalibration(path, "m").has_value()) << text;
  }
  EXPECT_FALSE(ReadCalibration("/nowhere/at/all", "m").has_value());
}

TEST(CalibrationTest, FolderThatCannotBeMadeIsNamed) {
  const absl::Status status = WriteCalibration("/proc/no/calibration.json", {});
  EXPECT_FALSE(status.ok());
  EXPECT_NE(status.message().find("/proc/no/calibration.json"), std::string::npos);
  EXPECT_FALSE(WriteCalibration("", {}).ok());
}

TEST(CalibrationTest, IsKeptInTheUsersStateFolder) {
  setenv("HOME", "/home/me", 1);
  unsetenv("XDG_STATE_HOME");
  EXPECT_EQ(CalibrationPath(), "/home/me/.local/state/coz/calibration.json");
  setenv("XDG_STATE_HOME", "/state", 1);
  EXPECT_EQ(CalibrationPath(), "/state/coz/calibration.json");
  setenv("XDG_STATE_HOME", "relative", 1);
  unsetenv("HOME");
  EXPECT_EQ(CalibrationPath(), "");
}

}  // namespace
}  // namespace coz::supervisor
