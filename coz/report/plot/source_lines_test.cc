#include "coz/report/plot/source_lines.h"

#include <sys/stat.h>

#include <fstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace coz::report {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

std::string Folder() {
  std::string folder =
      ::testing::TempDir() + "/" + ::testing::UnitTest::GetInstance()->current_test_info()->name();
  mkdir(folder.c_str(), 0755);
  return folder;
}

std::string WriteLines(const std::string& path, int count) {
  std::ofstream file(path);
  for (int i = 1; i <= count; ++i) file << "line " << i << "\n";
  return path;
}

TEST(SourceLinesTest, GivesTheLinesAroundAndMergesWhatOverlaps) {
  const std::string path = WriteLines(Folder() + "/a.cc", 100);
  const SourceText text = SourceReader(0, {}).Read(path, {3, 20, 30, 99});
  EXPECT_EQ(text.missing, "");
  ASSERT_THAT(text.runs, SizeIs(3));
  EXPECT_EQ(text.runs[0].first_line, 1u);
  EXPECT_THAT(text.runs[0].lines, SizeIs(9));
  EXPECT_EQ(text.runs[1].first_line, 14u);
  EXPECT_EQ(text.runs[1].lines.back(), "line 36");
  EXPECT_EQ(text.runs[2].lines.back(), "line 100");
}

TEST(SourceLinesTest, FindsFilesByTheLongestEndInAFolder) {
  const std::string folder = Folder();
  mkdir((folder + "/src").c_str(), 0755);
  WriteLines(folder + "/a.cc", 1);
  WriteLines(folder + "/src/a.cc", 2);
  const SourceText text =
      SourceReader(0, {"/nowhere", folder}).Read("/proc/self/cwd/src/a.cc", {1});
  ASSERT_THAT(text.runs, SizeIs(1));
  EXPECT_THAT(text.runs[0].lines, ElementsAre("line 1", "line 2"));
}

TEST(SourceLinesTest, SaysWhyThereIsNoText) {
  const std::string folder = Folder();
  EXPECT_THAT(SourceReader(0, {}).Read(folder + "/none.cc", {1}).missing, HasSubstr("not on the"));
  EXPECT_THAT(SourceReader(0, {}).Read(folder, {1}).missing, HasSubstr("not on the"));
  EXPECT_THAT(SourceReader(0, {}).Read("", {1}).missing, HasSubstr("not on the"));
  const std::string path = WriteLines(folder + "/short.cc", 2);
  EXPECT_THAT(SourceReader(0, {}).Read(path, {50}).missing, HasSubstr("no such line"));
}

TEST(SourceLinesTest, SizesAreBounded) {
  const std::string folder = Folder();
  std::ofstream(folder + "/long.cc") << std::string(100000, 'x') << "\n";
  const SourceText text = SourceReader(0, {}).Read(folder + "/long.cc", {1});
  EXPECT_LT(text.runs.at(0).lines.at(0).size(), 300u);
  std::ofstream(folder + "/huge.cc") << std::string(9 << 20, '\n');
  EXPECT_THAT(SourceReader(0, {}).Read(folder + "/huge.cc", {1}).missing, HasSubstr("larger than"));
}

TEST(SourceLinesTest, LaterChangesAreNoted) {
  const std::string path = WriteLines(Folder() + "/a.cc", 3);
  EXPECT_TRUE(SourceReader(1, {}).Read(path, {1}).changed_since);
  EXPECT_FALSE(SourceReader(UINT64_MAX, {}).Read(path, {1}).changed_since);
  EXPECT_FALSE(SourceReader(0, {}).Read(path, {1}).changed_since);
}

}  // namespace
}  // namespace coz::report
