#include "coz/report/doctor/finding.h"

#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "coz/report/wording/text_layout.h"
#include "gtest/gtest.h"

namespace coz::report {
namespace {

const std::vector<FindingGroup>& Some() {
  static const auto* const groups = new std::vector<FindingGroup>{
      {"This machine",
       {{Grade::kGood, "kernel", "6.1.0", ""},
        {Grade::kWarning, "permission",
         "the kernel refuses perf events, so samples come from a CPU timer each 4 ms",
         "sudo sysctl kernel.perf_event_paranoid=2"}}},
      {"./server", {{Grade::kProblem, "debug info", "none", "build with -g"}}}};
  return *groups;
}

TEST(FindingTest, TextHasALineForEachAndTheRemedyBelow) {
  EXPECT_EQ(FindingsText(Some(), 120),
            "This machine\n"
            "  ok       kernel      6.1.0\n"
            "  warning  permission  the kernel refuses perf events, so samples come from a CPU "
            "timer each 4 ms\n"
            "                       → sudo sysctl kernel.perf_event_paranoid=2\n"
            "\n"
            "./server\n"
            "  problem  debug info  none\n"
            "                       → build with -g\n");
}

TEST(FindingTest, TextIsWrapped) {
  const std::string text = FindingsText(Some(), 60);
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    if (line.find("sysctl") != line.npos) continue;  // a command that has no room
    EXPECT_LE(DisplayWidth(line), 60) << line;
  }
}

TEST(FindingTest, ProblemOfAnyGroupCounts) {
  EXPECT_TRUE(HasProblem(Some()));
  EXPECT_FALSE(HasProblem({Some().front()}));
}

TEST(FindingTest, JsonHoldsWhatTextSays) {
  const auto json = FindingsJson(Some());
  EXPECT_EQ(json["schema"], "coz-doctor");
  EXPECT_EQ(json["has_problem"], true);
  EXPECT_EQ(json["groups"][0]["findings"][1]["grade"], "warning");
  EXPECT_EQ(json["groups"][0]["findings"][1]["remedy"], "sudo sysctl kernel.perf_event_paranoid=2");
  EXPECT_EQ(json["groups"][1]["title"], "./server");
}

TEST(FindingTest, LastClauseOfANoteIsTheRemedy) {
  const Finding finding = FindingOfNote("steal", "the host kept much; effects look larger; wait");
  EXPECT_EQ(finding.what, "the host kept much; effects look larger");
  EXPECT_EQ(finding.remedy, "wait");
  EXPECT_EQ(FindingOfNote("end", "ended by signal 9").remedy, "");
}

}  // namespace
}  // namespace coz::report
