#include "coz/report/compare/file_match.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace coz::report {
namespace {

using ::testing::HasSubstr;

TEST(FileMatchTest, AFileInAnotherFolderIsFound) {
  const FileMatch match({"/ci/job1/a.cc", "/ci/job1/lib/b.cc", "/usr/include/c.h"},
                        {"/ci/job2/a.cc", "/ci/job2/lib/b.cc", "/usr/include/c.h"});
  EXPECT_EQ(match.AfterOf("/ci/job1/a.cc"), "/ci/job2/a.cc");
  EXPECT_EQ(match.AfterOf("/ci/job1/lib/b.cc"), "/ci/job2/lib/b.cc");
  EXPECT_EQ(match.AfterOf("/usr/include/c.h"), "/usr/include/c.h");
  EXPECT_EQ(match.WhyUnclear(), "");
}

TEST(FileMatchTest, TheLongestEndTellsFilesOfOneNameApart) {
  const FileMatch match({"/one/util.cc", "/one/x/util.cc", "/one/y/util.cc"},
                        {"/two/y/util.cc", "/two/x/util.cc", "/two/util.cc"});
  EXPECT_EQ(match.AfterOf("/one/x/util.cc"), "/two/x/util.cc");
  EXPECT_EQ(match.AfterOf("/one/y/util.cc"), "/two/y/util.cc");
  EXPECT_EQ(match.AfterOf("/one/util.cc"), "/two/util.cc");
}

TEST(FileMatchTest, ARelativePathIsTheEndOfAnAbsoluteOne) {
  const FileMatch match({"src/a.cc"}, {"/build/src/a.cc"});
  EXPECT_EQ(match.AfterOf("src/a.cc"), "/build/src/a.cc");
}

TEST(FileMatchTest, WhatIsNotClearIsNamed) {
  const FileMatch match({"/one/util.cc"}, {"/two/x/util.cc", "/two/y/util.cc"});
  EXPECT_EQ(match.AfterOf("/one/util.cc"), "/one/util.cc");
  EXPECT_THAT(match.WhyUnclear(),
              HasSubstr("which of /one/util.cc of the first profile is which of /two/x/util.cc, "
                        "/two/y/util.cc of the second is not clear"));
}

TEST(FileMatchTest, FilesOfOneNameInATreeThatStayedAreTwo) {
  const FileMatch match({"/src/client/main.cc", "/src/client/a.cc"},
                        {"/src/server/main.cc", "/src/client/a.cc"});
  EXPECT_EQ(match.AfterOf("/src/client/main.cc"), "/src/client/main.cc");
  EXPECT_EQ(match.WhyUnclear(), "");
}

}  // namespace
}  // namespace coz::report
