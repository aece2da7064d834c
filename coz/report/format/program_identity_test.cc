#include "coz/report/format/program_identity.h"

#include <cstdint>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace coz::report {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

void Add(uint64_t session, const std::string& path, const std::string& build_id,
         profile::Profile* profile) {
  profile::Binary* binary = profile->add_binary();
  binary->set_session(session);
  binary->set_path(path);
  binary->set_build_id(build_id);
}

TEST(ProgramIdentityTest, IsTheBuildIdWhereItIsKnown) {
  EXPECT_TRUE((ProgramIdentity{"\x1a", "/a"}.Matches({"\x1a", "/moved/a"})));
  EXPECT_FALSE((ProgramIdentity{"\x1a", "/a"}.Matches({"\x1b", "/a"})));
  EXPECT_TRUE((ProgramIdentity{"", "/a"}.Matches({"\x1b", "/a"})));
  EXPECT_FALSE((ProgramIdentity{"", "/a"}.Matches({"", "/b"})));
  EXPECT_EQ((ProgramIdentity{"\x1a\x2b", "/a"}.Text()), "/a, build-id 1a2b");
  EXPECT_EQ((ProgramIdentity{"", "/a"}.Text()), "/a");
}

TEST(ProgramIdentityTest, FirstBinaryOfASessionIsItsProgram) {
  profile::Profile profile;
  EXPECT_THAT(ProgramsOf(profile), IsEmpty());
  Add(1, "/a", "one", &profile);
  Add(1, "/lib/c", "c", &profile);
  Add(2, "/a", "one", &profile);
  EXPECT_THAT(ProgramsOf(profile), SizeIs(1));
  Add(3, "/a", "two", &profile);
  EXPECT_THAT(ProgramsOf(profile), SizeIs(2));
}

}  // namespace
}  // namespace coz::report
