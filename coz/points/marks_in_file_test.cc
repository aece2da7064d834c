#include "coz/points/marks_in_file.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "coz/testing/run_command.h"
#include "gtest/gtest.h"

namespace coz::points {
namespace {

using Marks = std::vector<std::pair<std::string, MarkKind>>;

Marks Found(const std::string& program) {
  Marks marks;
  const std::string path = testing::RunfilePath("coz/points/" + program);
  for (const MarkInFile& mark : FindMarksInFile(path).marks) {
    marks.emplace_back(mark.name, mark.kind);
  }
  std::sort(marks.begin(), marks.end());
  return marks;
}

const Marks& Expected() {
  static const auto* const marks = new Marks{
      {"items", MarkKind::kThroughput}, {"order", MarkKind::kBegin}, {"order", MarkKind::kEnd}};
  return *marks;
}

// The loader fills in the names' addresses.
TEST(MarksInFileTest, FindsEachKindInAPositionIndependentProgram) {
  EXPECT_EQ(Found("marks_program_pie"), Expected());
}

TEST(MarksInFileTest, FindsThemWhereTheLinkerHasFilledThemIn) {
  EXPECT_EQ(Found("marks_program_no_pie"), Expected());
}

// Of a file's only mark clang sees all uses, and drops fields that nobody reads.
TEST(MarksInFileTest, FindsASingleMarkThatClangHasOptimized) {
  if (testing::RunCommand({"/usr/bin/env", "clang-14", "--version"}).status != 0) {
    ASSERT_EQ(getenv("COZ_REQUIRE_TOOLS"), nullptr) << "apt-get install clang-14";
    GTEST_SKIP() << "required clang-14, actual none";
  }
  const std::string folder = testing::TemporaryFolder();
  const std::string header = testing::RunfilePath("coz/runtime/coz.h");
  for (const char* mark : {"COZ_PROGRESS_NAMED(\"one\")", "COZ_BEGIN(\"one\")"}) {
    std::ofstream(folder + "/one.c")
        << "#include \"" << header << "\"\nint main(void) { " << mark << "; return 0; }\n";
    for (const char* optimization : {"-O1", "-O2", "-O3"}) {
      const std::string program = folder + "/one";
      const testing::CommandResult built = testing::RunCommand(
          {"/usr/bin/env", "clang-14", optimization, "-o", program, folder + "/one.c"});
      ASSERT_EQ(built.status, 0) << built.errors;
      const std::vector<MarkInFile> marks = FindMarksInFile(program).marks;
      ASSERT_EQ(marks.size(), 1u) << mark << optimization;
      EXPECT_EQ(marks[0].name, "one");
    }
  }
}

TEST(MarksInFileTest, ProgramWithoutMarksHasNone) {
  EXPECT_EQ(Found("places_program"), Marks());
  const std::string path = testing::RunfilePath("coz/points/places_program");
  EXPECT_FALSE(FindMarksInFile(path).has_marks_of_original);
}

TEST(MarksInFileTest, MarksOfTheOriginalAreTold) {
  const MarksInFile found = FindMarksInFile(testing::RunfilePath("coz/testing/puppets/original"));
  EXPECT_TRUE(found.has_marks_of_original);
  EXPECT_TRUE(found.marks.empty());
}

TEST(MarksInFileTest, DamagedFilesHaveNoneOrSome) {
  std::ifstream file(testing::RunfilePath("coz/points/marks_program_pie"), std::ios::binary);
  const std::string whole((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  ASSERT_GT(whole.size(), 4096u);
  const std::string path = testing::TemporaryFolder() + "/cut";
  for (size_t size = 0; size < whole.size(); size += whole.size() / 40) {
    std::ofstream(path, std::ios::binary) << whole.substr(0, size);
    EXPECT_LE(FindMarksInFile(path).marks.size(), 3u) << size;
  }
  EXPECT_TRUE(FindMarksInFile("/nowhere/at/all").marks.empty());
}

}  // namespace
}  // namespace coz::points
