#include "coz/report/text/annotate.h"

#include <fstream>
#include <sstream>
#include <string>

#include "coz/report/testing/synthetic_profile.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace coz::report {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;

class AnnotateTest : public ::testing::Test {
 protected:
  AnnotateTest() : source_(::testing::TempDir() + "/annotated.cc") {
    std::ofstream(source_) << "int a;\nint b;\nint c;\n";
    report_testing::SyntheticProfile made({}, {{source_, 2, "B()", 0.5, 0.5, {}},
                                               {"/src/other.cc", 1, "O()", 0.3, 0, {}},
                                               {source_, 3, "C()", 0.01, 0, {}}});
    for (int i = 0; i < 60; ++i) made.AddExperiment(i % 2 == 0 ? 0 : 1, i % 5 * 0.25);
    options_.path = ::testing::TempDir() + "/annotate.pb";
    std::ofstream(options_.path, std::ios::binary) << made.profile().SerializeAsString();
  }

  profile::Profile Read() const {
    profile::Profile profile;
    std::ifstream in(options_.path, std::ios::binary);
    profile.ParseFromIstream(&in);
    return profile;
  }
  void Write(const profile::Profile& profile) const {
    std::ofstream(options_.path, std::ios::binary) << profile.SerializeAsString();
  }
  void SetAttached() {
    profile::Profile profile = Read();
    profile.mutable_session(0)->mutable_options()->set_attached_pid(4711);
    Write(profile);
  }

  // The output, or the error.
  std::string Run(const std::string& file) {
    options_.file = file;
    std::ostringstream out;
    const absl::Status status = Annotate(options_, out);
    return status.ok() ? out.str() : std::string(status.message());
  }

  const std::string source_;
  AnnotateOptions options_;
};

TEST_F(AnnotateTest, GainsStandBesideTheirLines) {
  const std::string text = Run(source_);
  EXPECT_THAT(text, HasSubstr("at progress point requests"));
  EXPECT_THAT(text,
              ContainsRegex("\\+1[456] % .1[0-9] to 1[0-9]. +[45].\\.. %  worth it +2  int b;"));
  EXPECT_THAT(text, ContainsRegex("\n +1  int a;\n"));
}

TEST_F(AnnotateTest, SmallLinesHaveTheirLimit) {
  EXPECT_THAT(Run(source_), ContainsRegex("\nat most [0-9.]+ % +[0-9.]+ %  no gain +3  int c;"));
}

TEST_F(AnnotateTest, ALineHasTheFiguresOfTheThreadGroupWithMostSamples) {
  profile::Profile profile = Read();
  for (profile::Unit& unit : *profile.mutable_unit()) {
    unit.set_thread_group(unit.function() == "C()" ? "io" : "others");
    if (unit.function() == "C()") unit.set_line(2);
  }
  Write(profile);
  const std::string text = Run(source_);
  EXPECT_THAT(text, HasSubstr("lines are split by groups of threads"));
  EXPECT_THAT(text, ContainsRegex("worth it +2  int b;"));
}

TEST_F(AnnotateTest, TheEndOfAPathIsEnough) {
  EXPECT_THAT(Run("annotated.cc"), HasSubstr("int b;"));
}

TEST_F(AnnotateTest, SaysThatTheSourceIsNewerThanTheProfile) {
  // The profile is of 2023.
  EXPECT_THAT(Run(source_), HasSubstr("changed after the profile was begun"));
}

TEST_F(AnnotateTest, AttachedProfileNamesItsCommand) {
  SetAttached();
  EXPECT_THAT(Run("nowhere.cc"), HasSubstr("`coz attach --source-scope=%`"));
}

TEST_F(AnnotateTest, UnitsOtherThanLinesAreWhatIsLacking) {
  profile::Profile profile = Read();
  for (profile::Unit& unit : *profile.mutable_unit()) unit.set_kind(profile::UNIT_KIND_FUNCTION);
  Write(profile);
  EXPECT_EQ(Run(source_), "the profile has no lines of " + source_ +
                              ", for its units are functions; profile again with `coz run "
                              "--unit=line`");
}

TEST_F(AnnotateTest, BadNamesAreErrors) {
  EXPECT_THAT(Run("nowhere.cc"), HasSubstr("no sample in a line of nowhere.cc; profile again with "
                                           "`coz run --source-scope=%`"));
  EXPECT_THAT(Run("other.cc"), HasSubstr("the source /src/other.cc is not here"));
  EXPECT_THAT(Run("*.cc"), HasSubstr("fits 2 files"));
  options_.point = "replies";
  EXPECT_THAT(Run(source_), HasSubstr("no progress point replies; it has requests"));
  options_.path = "/nowhere.pb";
  EXPECT_THAT(Run(source_), HasSubstr("cannot open the profile"));
}

}  // namespace
}  // namespace coz::report
