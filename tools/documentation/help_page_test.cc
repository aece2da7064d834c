#include "tools/documentation/help_page.h"

#include <string>
#include <vector>

#include "CLI/App.hpp"
#include "CLI/Config.hpp"
#include "CLI/Formatter.hpp"
#include "absl/strings/str_split.h"
#include "coz/report/wording/text_layout.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace coz {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class HelpPageTest : public ::testing::Test {
 protected:
  HelpPageTest() {
    CLI::App* run = app_.add_subcommand("run", "run a program under the profiler, from its start");
    run->group("Measure");
    run->option_defaults()->group("How long");
    run->add_option("--seconds", seconds_, "end after so many seconds (default 20)")
        ->check(CLI::Range(2, 3600));
    run->option_defaults()->group("Expert");
    run->add_option("--source", source_, "how samples are taken")
        ->check(CLI::IsMember({"auto", "timer", "event"}));
    run->add_flag("-v,--verbose",
                  "say what each experiment did, and why, in a line that is longer "
                  "than any terminal is wide");
    run->add_option("program", program_, "the program");
    SetExamples(run, {{"run --- ./server", "profile a server"}});
    CLI::App* report = app_.add_subcommand("report", "show it");
    report->group("Look");
    report->add_option("file", source_, "a profile")->required();
  }
  std::string RunPage(int width = 80) const {
    return HelpPage(DescribeCommand(app_).subcommands.at(0), "coz", "bin/coz", width);
  }

  CLI::App app_{"coz tells what matters.", "coz"};
  int seconds_ = 20;
  std::string source_;
  std::vector<std::string> program_;
};

TEST_F(HelpPageTest, OptionsStandInGroupsAndHelpLast) {
  const std::string page = RunPage();
  const size_t how_long = page.find("\nHow long:\n  --seconds=NUMBER");
  const size_t expert = page.find("\nExpert:\n  --source=auto|timer|event\n");
  const size_t common = page.find("\nOptions:\n  -h, --help");
  const size_t examples = page.find("\nExamples:\n    bin/coz run --- ./server\n");
  EXPECT_LT(how_long, expert) << page;
  EXPECT_LT(expert, common) << page;
  EXPECT_LT(common, examples) << page;
  EXPECT_NE(examples, std::string::npos) << page;
}

TEST_F(HelpPageTest, SaysHowACommandIsWritten) {
  EXPECT_THAT(RunPage(), HasSubstr("\nUsage: coz run [options] --- PROGRAM [ARGUMENTS]\n"));
  EXPECT_THAT(HelpPage(DescribeCommand(app_).subcommands.at(1), "coz", "coz", 80),
              HasSubstr("\nUsage: coz report [options] FILE\n"));
  EXPECT_THAT(HelpPage(DescribeCommand(app_), "", "coz", 80),
              HasSubstr("\nUsage: coz COMMAND [options]\n"));
}

TEST_F(HelpPageTest, CommandsStandInGroups) {
  EXPECT_THAT(
      HelpPage(DescribeCommand(app_), "", "coz", 80),
      HasSubstr("\nMeasure:\n  run          run a program under the profiler, from its start\n"
                "\nLook:\n  report       show it\n"));
}

TEST_F(HelpPageTest, NothingOfTheParserIsLeft) {
  for (const char* debris : {"INT", " in [", "{", "TEXT", "..."}) {
    EXPECT_THAT(RunPage(), Not(HasSubstr(debris)));
  }
}

TEST_F(HelpPageTest, LinesAreAsWideAsAsked) {
  for (int width = 40; width <= 100; ++width) {
    for (absl::string_view line : absl::StrSplit(RunPage(width), '\n')) {
      EXPECT_LE(report::DisplayWidth(line), width) << line;
    }
  }
  // Too narrow for all choices: a word for them, and the choices in the text.
  EXPECT_THAT(RunPage(26), HasSubstr("  --source=KIND\n"));
  EXPECT_THAT(RunPage(26), HasSubstr("one of auto,\n      timer, event\n"));
}

}  // namespace
}  // namespace coz
