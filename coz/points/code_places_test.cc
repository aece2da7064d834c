#include "coz/points/code_places.h"

#include <fstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "coz/testing/run_command.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace coz::points {
namespace {

using ::coz::testing::RunfilePath;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kSource[] = "coz/points/testdata/places_program.cc";
constexpr char kLinesSource[] = "coz/points/testdata/lines_program.cpp";

// The line with the comment PLACE(label).
int LineOf(const std::string& label, const std::string& file = kSource) {
  std::ifstream source(RunfilePath(file));
  std::string text;
  for (int line = 1; std::getline(source, text); ++line) {
    if (absl::StrContains(text, absl::StrCat("// PLACE(", label, ")"))) return line;
  }
  return 0;
}

std::unique_ptr<CodePlaces> OpenProgram(const std::string& name) {
  absl::StatusOr<std::unique_ptr<CodePlaces>> places =
      CodePlaces::Open(RunfilePath("coz/points/" + name));
  EXPECT_TRUE(places.ok()) << places.status();
  return places.ok() ? *std::move(places) : nullptr;
}

class CodePlacesTest : public ::testing::Test {
 protected:
  absl::StatusOr<std::vector<CodePlace>> Find(const std::string& text,
                                              InlinedCopies inlined = InlinedCopies::kLeave) {
    return places_->Find(*ParsePointSpec(text), inlined, &note_);
  }
  std::string ErrorOf(const std::string& text) {
    return std::string(Find(text).status().message());
  }

  const std::unique_ptr<CodePlaces> places_ = OpenProgram("places_program");
  std::string note_;
};

TEST_F(CodePlacesTest, FindsAFunctionByItsLastParts) {
  const auto found = Find("Server::Reply");
  ASSERT_TRUE(found.ok()) << found.status();
  ASSERT_EQ(found->size(), 1u);
  EXPECT_EQ(found->front().name, "shop::Server::Reply(int)");
  EXPECT_EQ(found->front().probe_offset, found->front().file_offset + 4) << "behind endbr64";
  EXPECT_GT(found->front().resume_offset, found->front().probe_offset) << "behind an instruction";
  EXPECT_LE(found->front().resume_offset, found->front().probe_offset + 15);
  EXPECT_EQ(note_, "");
}

TEST_F(CodePlacesTest, MangledNameThatIsNoneGetsTheClosestMangled) {
  EXPECT_THAT(ErrorOf("_ZN4shop6Server5RepliEi"),
              HasSubstr("the closest are: _ZN4shop6Server5ReplyEi"));
}

TEST(VersionedSymbolTest, IsFoundByTheNameThatItsSourceHas) {
  std::string note;
  const auto found = OpenProgram("libversioned.so")
                         ->Find(*ParsePointSpec("versioned_work"), InlinedCopies::kLeave, &note);
  ASSERT_TRUE(found.ok()) << found.status();
  ASSERT_EQ(found->size(), 1u);
  EXPECT_EQ(found->front().name, "versioned_work");
}

TEST(RustSymbolTest, IsFoundByTheNameThatItsSourceHas) {
  std::string note;
  const auto places = OpenProgram("libversioned.so");
  for (const char* name : {"shop::work", "work", "_ZN4shop4work17h0123456789abcdefE"}) {
    const auto found = places->Find(*ParsePointSpec(name), InlinedCopies::kLeave, &note);
    ASSERT_TRUE(found.ok()) << found.status();
    ASSERT_EQ(found->size(), 1u);
    EXPECT_EQ(found->front().name, "shop::work");
  }
}

TEST_F(CodePlacesTest, KnowsTheLineThatAFunctionBeginsIn) {
  for (const CodePlaces::Function& function : places_->functions()) {
    if (function.name != "shop::Server::Reply(int)") continue;
    EXPECT_EQ(places_->LineOf(function), absl::StrCat("places_program.cc:", LineOf("reply") - 2));
    return;
  }
  ADD_FAILURE() << "no function Reply";
}

TEST_F(CodePlacesTest, FindsEveryOverload) {
  const auto found = Find("shop::Overloaded");
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->size(), 2u);
  EXPECT_EQ(Find("shop::Overloaded(char)")->size(), 1u);
}

TEST_F(CodePlacesTest, FindsALineInTheFunctionItIsIn) {
  const auto found = Find(absl::StrCat("places_program.cc:", LineOf("reply")));
  ASSERT_TRUE(found.ok()) << found.status();
  ASSERT_EQ(found->size(), 1u);
  EXPECT_EQ(found->front().name, "shop::Server::Reply(int)");
}

TEST_F(CodePlacesTest, FindsALineByTheAbsolutePathOfItsFile) {
  const std::string line = absl::StrCat(":", LineOf("reply"));
  for (const char* path :
       {"coz/points/testdata/places_program.cc", "./coz/points/testdata/places_program.cc",
        "/proc/self/cwd/coz/points/testdata/places_program.cc"}) {
    const auto found = Find(path + line);
    ASSERT_TRUE(found.ok()) << found.status();
    EXPECT_EQ(found->size(), 1u);
  }
  EXPECT_FALSE(Find("/proc/self/cwd/points/testdata/places_program.cc" + line).ok());
}

class LinePlacesTest : public ::testing::TestWithParam<std::string> {
 protected:
  std::vector<CodePlace> Find(const std::string& label) {
    const std::unique_ptr<CodePlaces> places =
        OpenProgram(absl::StrCat("lines_program_", GetParam()));
    const auto found = places->Find(
        *ParsePointSpec(absl::StrCat("lines_program.cpp:", LineOf(label, kLinesSource))),
        InlinedCopies::kFind, &note_);
    EXPECT_TRUE(found.ok()) << found.status();
    return found.ok() ? *found : std::vector<CodePlace>();
  }
  std::string note_;
};

INSTANTIATE_TEST_SUITE_P(Levels, LinePlacesTest, ::testing::Values("O0", "O1", "O2", "O3"));

TEST_P(LinePlacesTest, FindsEachCopyOfALineInAnUnrolledLoop) {
  const bool is_unrolled = GetParam() != "O0";
  EXPECT_EQ(Find("round").size(), is_unrolled ? 3u : 1u);
  EXPECT_THAT(note_, HasSubstr(is_unrolled ? "3 copies of its begin follow one another" : ""));
  EXPECT_EQ(Find("head").size(), 1u);
}

TEST_P(LinePlacesTest, WhatIsInlinedIntoALineIsPartOfIt) {
  EXPECT_EQ(Find("end_of_scope").size(), 1u);
  EXPECT_EQ(note_, "");
}

TEST_F(CodePlacesTest, NamesTheCallsOfAnInlinedFunction) {
  EXPECT_THAT(ErrorOf("Tiny"), HasSubstr("is inlined wherever it is called"));
  EXPECT_THAT(ErrorOf("Tiny"),
              HasSubstr(absl::StrCat("--progress=places_program.cc:", LineOf("tiny"))));
}

TEST_F(CodePlacesTest, SaysThatInlinedFunctionsAreNotKnownWithoutSplitFiles) {
  EXPECT_THAT(ErrorOf("Nowhere"), Not(HasSubstr(".dwo")));
  const auto packed = CodePlaces::Open(RunfilePath("coz/sourcemap/testdata/split_package/fixture"));
  ASSERT_TRUE(packed.ok()) << packed.status();
  const auto found = (*packed)->Find(*ParsePointSpec("Nowhere"), InlinedCopies::kLeave, &note_);
  EXPECT_THAT(std::string(found.status().message()),
              AllOf(HasSubstr(".dwo files are missing"), HasSubstr("/fixture.dwp")));
}

TEST_F(CodePlacesTest, ACallThatOnlyAPointCountsIsCalledOne) {
  EXPECT_THAT(ErrorOf("Tiny"), HasSubstr("make one of the calls a progress point: --progress="));
}

TEST_F(CodePlacesTest, FindsInlinedCopiesThatBeginOncePerCall) {
  const auto found = Find("Tiny", InlinedCopies::kFind);
  ASSERT_TRUE(found.ok()) << found.status();
  ASSERT_EQ(found->size(), 1u);
  EXPECT_GT(found->front().function_bytes, 5u) << "in " << found->front().name;
  EXPECT_EQ(note_, "");
  EXPECT_FALSE(Find("Ti*y", InlinedCopies::kFind).ok()) << "a glob may match any number";
}

TEST_F(CodePlacesTest, PaddingThatSomeThreadsSkipIsNoBeginOfACopy) {
  for (const char* name : {"Padded", "Aligned"}) {
    const auto found = Find(name, InlinedCopies::kFind);
    ASSERT_TRUE(found.ok()) << found.status();
    ASSERT_EQ(found->size(), 1u);
    std::ifstream file(RunfilePath("coz/points/places_program"), std::ios::binary);
    file.seekg(static_cast<std::streamoff>(found->front().file_offset));
    EXPECT_EQ(file.get(), 0xff) << "the opcode of decl, in " << name;
  }
}

TEST_F(CodePlacesTest, LeavesInlinedCopiesThatBeginWithALoop) {
  const std::string call = absl::StrCat("places_program.cc:", LineOf("countdown"));
  EXPECT_THAT(
      std::string(Find("Countdown", InlinedCopies::kFind).status().message()),
      HasSubstr(absl::StrCat("is in line ", call, ", which has no code of its own either")));
  EXPECT_FALSE(Find(call).ok()) << "so it is not what to type";
}

TEST_F(CodePlacesTest, NamesTheClosestFunctions) {
  EXPECT_THAT(ErrorOf("Server::Rply"), HasSubstr("the closest are: shop::Server::Reply"));
  EXPECT_THAT(ErrorOf("quaternion"), HasSubstr("; list them with: nm -C /"));
}

TEST(CodePlacesStrippedTest, ListsWhatIsExported) {
  const std::unique_ptr<CodePlaces> places = OpenProgram("libversioned_stripped.so");
  std::string note;
  const auto error =
      places->Find(*ParsePointSpec("quaternion"), InlinedCopies::kLeave, &note).status();
  EXPECT_THAT(std::string(error.message()),
              HasSubstr("; list those that it exports with: nm -DC /"));
}

TEST_F(CodePlacesTest, NamesTheNearestLinesWithCode) {
  EXPECT_THAT(ErrorOf("places_program.cc:1"),
              HasSubstr("nearest lines with code are places_program.cc:"));
  EXPECT_THAT(ErrorOf("place_program.cc:1"), HasSubstr("the closest are: places_program.cc"));
  const std::string left_out = absl::StrCat("places_program.cc:", LineOf("left_out"));
  EXPECT_THAT(ErrorOf(left_out), AllOf(HasSubstr("nearest lines with code are places_program.cc:"),
                                       Not(HasSubstr(absl::StrCat("are ", left_out))),
                                       Not(HasSubstr(absl::StrCat("and ", left_out)))));
}

TEST_F(CodePlacesTest, FindsAllPlacesOfAProbe) {
  const auto found = Find("usdt:shop:sold");
  ASSERT_TRUE(found.ok()) << found.status();
  ASSERT_EQ(found->size(), 2u);
  EXPECT_NE((*found)[0].elf_address, (*found)[1].elf_address);
  EXPECT_EQ((*found)[0].semaphore, 0u);
  EXPECT_GT((*found)[0].function_bytes, 0u);
  EXPECT_EQ(Find("usdt:s?op:*ld")->size(), 2u);
  EXPECT_THAT(ErrorOf("usdt:shop:solt"), HasSubstr("the closest are: usdt:shop:sold"));
  EXPECT_THAT(ErrorOf("usdt:shop:bad_semaphore"), HasSubstr("no probe of places_program"));
}

TEST(CodePlacesProbesTest, BinaryWithoutProbesIsSaidToHaveNone) {
  const std::unique_ptr<CodePlaces> places = OpenProgram("libversioned.so");
  std::string note;
  EXPECT_THAT(places->Find(*ParsePointSpec("usdt:shop:sold"), InlinedCopies::kLeave, &note)
                  .status()
                  .message(),
              HasSubstr("has no probes in its source"));
}

// The same function, known by its symbol and by its frame.
TEST(CodePlacesStrippedTest, FunctionAroundAProbeIsKnown) {
  const std::unique_ptr<CodePlaces> with = OpenProgram("places_program");
  const std::unique_ptr<CodePlaces> without = OpenProgram("places_program_stripped");
  std::string note;
  const auto known = with->Find(*ParsePointSpec("usdt:shop:sold"), InlinedCopies::kLeave, &note);
  const auto found = without->Find(*ParsePointSpec("usdt:shop:sold"), InlinedCopies::kLeave, &note);
  ASSERT_TRUE(found.ok()) << found.status();
  ASSERT_EQ(found->size(), 2u);
  EXPECT_GT(found->front().function_bytes, 5u);
  EXPECT_GE(found->front().function_room, found->front().function_bytes);
  EXPECT_LE(found->front().function_offset, found->front().file_offset);
  EXPECT_GT(known->front().function_bytes, 5u);
}

TEST(CodePlacesStrippedTest, SaysThatThereAreNoSymbols) {
  const std::unique_ptr<CodePlaces> places = OpenProgram("places_program_stripped");
  std::string note;
  EXPECT_THAT(places->Find(*ParsePointSpec("Server::Reply"), InlinedCopies::kLeave, &note)
                  .status()
                  .message(),
              HasSubstr("stripped"));
  EXPECT_THAT(
      places->Find(*ParsePointSpec("a.cc:1"), InlinedCopies::kLeave, &note).status().message(),
      HasSubstr("build it with -g"));
}

TEST(CodePlacesOpenTest, RefusesWhatIsNoBinary) {
  EXPECT_THAT(CodePlaces::Open(RunfilePath(kSource)).status().message(), HasSubstr("ELF"));
}

}  // namespace
}  // namespace coz::points
