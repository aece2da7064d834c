#include "coz/report/format/profile_io_error.h"

#include <cerrno>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace coz::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(ProfileIoErrorTest, TheCommandThatWritesIsNamed) {
  for (const int error : {ENOSPC, ENOENT, EACCES}) {
    const std::string run(ProfileWriteError("write", "/x/a.pb", error).message());
    EXPECT_THAT(run, HasSubstr("`coz run -o FILE"));
    const std::string merge(MergeWriteError("write", "/x/a.pb", error).message());
    EXPECT_THAT(merge, HasSubstr("`coz merge PROFILES -o FILE`"));
    EXPECT_THAT(merge, Not(HasSubstr("coz run")));
  }
}

TEST(ProfileIoErrorTest, StandardInputIsNoFileToLookAt) {
  for (const int error : {EBADF, EISDIR}) {
    const std::string message(ProfileReadError("read", "-", error).message());
    EXPECT_THAT(message, HasSubstr("cannot read the profile on standard input: "));
    EXPECT_THAT(message, HasSubstr("`coz report - < profile.pb`"));
    EXPECT_THAT(message, Not(HasSubstr("ls -l")));
  }
}

}  // namespace
}  // namespace coz::report
