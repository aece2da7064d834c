// The subcommands that read and write profiles, at the command line. Other tests check the figures.
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "coz/base/unique_fd.h"
#include "coz/report/format/profile_reader.h"
#include "coz/report/testing/synthetic_profile.h"
#include "coz/testing/one_sentence.h"
#include "coz/testing/run_command.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace coz {
namespace {

using ::coz::testing::CommandOptions;
using ::coz::testing::CommandResult;
using ::coz::testing::ExpectOneSentence;
using ::coz::testing::kUsageStatus;
using ::coz::testing::RunfilePath;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class ProfilesTest : public ::testing::Test {
 protected:
  ProfilesTest() : folder_(testing::TemporaryFolder()) { options_.folder = folder_; }

  CommandResult Coz(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), RunfilePath("tools/coz"));
    return testing::RunCommand(arguments, options_);
  }
  std::string Path(const std::string& name) const { return folder_ + "/" + name; }
  std::string Read(const std::string& name) const {
    std::ostringstream bytes;
    bytes << std::ifstream(Path(name), std::ios::binary).rdbuf();
    return bytes.str();
  }

  // One line that takes `share` of the time, in a program that takes `ns_per_visit`.
  profile::Profile Make(uint64_t session, double ns_per_visit = 1e6, double share = 0.6,
                        const std::string& program = "/bin/server") {
    report_testing::SyntheticOptions options;
    options.session = session;
    options.seed = session;
    options.ns_per_visit = ns_per_visit;
    report_testing::SyntheticLine line;
    line.share = share;
    line.slope = share;
    report_testing::SyntheticProfile synthetic(options, {line});
    synthetic.AddRandomExperiments(300);
    synthetic.End();
    profile::Profile profile = synthetic.profile();
    profile.clear_binary();
    profile::Binary* binary = profile.add_binary();
    binary->set_session(session);
    binary->set_path(program);
    binary->set_build_id(program);
    return profile;
  }
  void Write(const std::string& name, const profile::Profile& profile) const {
    std::ofstream(Path(name), std::ios::binary) << profile.SerializeAsString();
  }

  const std::string folder_;
  CommandOptions options_;
};

TEST_F(ProfilesTest, EveryCommandExplainsItself) {
  for (const char* command :
       {"export", "import", "merge", "diff", "verify", "history", "watch", "run", "report"}) {
    const CommandResult result = Coz({command, "--help"});
    EXPECT_EQ(result.status, 0) << command;
    EXPECT_THAT(result.output, HasSubstr("Options:")) << command;
    EXPECT_EQ(Coz({"help", command}).output, result.output);
  }
}

TEST_F(ProfilesTest, WrongCommandLinesGetOneSentence) {
  const auto refused = [this](const std::vector<std::string>& arguments, const std::string& part) {
    ExpectOneSentence(Coz(arguments), part, kUsageStatus);
  };
  refused({"run", "--nonsense", "---", "true"}, "coz run does not know --nonsense; look with: ");
  refused({"run", "--nonsense", "value", "---", "true"},
          "coz run does not know --nonsense; look with: ");
  refused({"merge"}, "the argument PROFILES is missing; look with: ");
  refused({"attach"}, "the argument PID is missing; look with: ");
  refused({"report", "--lines=x"}, "--lines: x is not a number of 0 or more");
  refused({"report", "--lines"}, "--lines needs a value behind it");
  refused({"run", "--seed=x", "true"}, "--seed: x is not a number");
  refused({"run", "--repeat=0", "---", "true"}, "--repeat: 0 is not a number from 1 to 1000000");
  refused({"run", "--duration=2 hours", "true"},
          "--duration: 2 hours is not a number of 0 or more");
  refused({"points", "--duration=1ms", "true"},
          "--duration: 0.001 is not a number from 1 to 86400");
  refused({"points", "--duration=25h", "true"},
          "--duration: 90000 is not a number from 1 to 86400");
  refused({"diff", "a.pb", "b.pb", "--json", "--markdown"}, "cannot be given together");
  refused({"run", "--seed=-1", "true"},
          "--seed: -1 is not a number from 0 to 18446744073709551615");
  refused({"run", "--seed=99999999999999999999", "true"}, "is not a number from 0 to");
  refused({"diff", "a.pb", "b.pb", "-n", "-1"}, "--lines: -1 is not a number from 0 to");
  refused({"run"}, "run --- PROGRAM ARGUMENTS");
  refused({"report", "a.pb", "b.pb"}, "coz report has no use for the word b.pb");
}

TEST_F(ProfilesTest, WhatIsNoNumberIsRefused) {
  const std::vector<std::vector<std::string>> lines = {
      {"run", "--duration=nan", "true"},
      {"run", "--sampling-period=nan", "true"},
      {"run", "--experiment-length=-nan", "true"},
      {"attach", "--duration=NaN", "1"},
      {"points", "--duration=nan", "true"},
      {"watch", "--interval=nan", "--once"},
      {"selftest", "--seconds=nan"},
      {"verify", "a.pb", "b.pb", "--line=a.cc:1", "--by=nan"}};
  for (const std::vector<std::string>& line : lines) {
    ExpectOneSentence(Coz(line), " is not a number; look with: ", kUsageStatus);
  }
}

TEST_F(ProfilesTest, NoWordIsTakenForAnEmptyValue) {
  Write("a.pb", Make(1));
  const std::string before = Read("a.pb");
  const std::vector<std::pair<std::string, std::vector<std::string>>> lines = {
      {"--output", {"plot", "--output=", "a.pb"}},
      {"--output", {"plot", "-o", "---", "a.pb"}},
      {"--source-path", {"plot", "a.pb", "--source-path="}},
      {"--serve", {"plot", "--serve=", "a.pb"}},
      {"--output", {"run", "--output=", "---", "true"}},
      {"--output", {"run", "--verbose", "-o", "---", "true"}},
      {"--duration", {"run", "--duration=", "---", "true"}},
      {"--duration", {"run", "--duration", "---", "true"}},
      {"--format", {"export", "a.pb", "--format="}}};
  for (const auto& [option, line] : lines) {
    ExpectOneSentence(Coz(line), absl::StrCat("coz: ", option, " needs a value behind it; look"),
                      kUsageStatus);
  }
  EXPECT_EQ(Read("a.pb"), before);
  // Of the program's words, none is an option of coz.
  EXPECT_THAT(Coz({"run", "---", "/nonexistent/program", "--output="}).errors,
              HasSubstr("cannot run /nonexistent/program"));
}

TEST_F(ProfilesTest, AFailedWriteOfTheOutputIsTold) {
  Write("profile.pb", Make(1));
  for (const char* arguments : {"--version", "--help", "help run", "run --help",
                                "doctor profile.pb", "watch --once", "report"}) {
    for (const char* output : {">/dev/full", ">&-"}) {
      const std::string line = absl::StrCat(RunfilePath("tools/coz"), " ", arguments, " ", output);
      ExpectOneSentence(testing::RunCommand({"/bin/sh", "-c", line}, options_), "cannot ");
    }
  }
}

TEST_F(ProfilesTest, WrongWordsAreSetRight) {
  const auto refused = [this](const std::vector<std::string>& arguments, const std::string& part) {
    ExpectOneSentence(Coz(arguments), part, kUsageStatus);
  };
  refused({"plott"}, "there is no command plott; did you mean plot? Look with: ");
  refused({"rep"}, "did you mean report?");
  refused({"help", "reprot"}, "there is no command reprot; did you mean report? Look with: ");
  refused({"xyzzy"}, "there is no command xyzzy; look with: ");
  refused({"run", "--durration=3", "---", "true"},
          "coz run does not know --durration; did you mean --duration? Look with: ");
  refused({"run", "--dur", "3", "---", "true"}, "did you mean --duration?");
  refused(
      {"export", "--format=cvs"},
      "--format: cvs is none of pprof, csv, jsonl, speedscope, coz, coz-text; did you mean csv?");
  refused({"export", "--format=xml"}, "--format: xml is none of");
  refused({"run", "--unit=functions", "true"}, "did you mean function?");
}

TEST_F(ProfilesTest, ExportsToEveryFormat) {
  Write("profile.pb", Make(1));
  EXPECT_EQ(Coz({"export", "--format=pprof", "-o", "p.gz"}).status, 0);
  EXPECT_THAT(Read("p.gz"), StartsWith("\x1f\x8b"));
  EXPECT_THAT(Coz({"export", "--format=csv"}).output, StartsWith("point,point_kind,"));
  EXPECT_THAT(Coz({"export", "--format=jsonl"}).output, StartsWith("{\"session\":\""));
  EXPECT_TRUE(nlohmann::json::accept(Coz({"export", "--format=speedscope"}).output));
  EXPECT_THAT(Coz({"export", "--format=coz"}).output, HasSubstr("\"type\":\"experiment\""));
  EXPECT_THAT(Coz({"export", "--format=coz-text"}).output, StartsWith("startup\ttime="));
}

TEST_F(ProfilesTest, ExportNamesWhatIsWrong) {
  ExpectOneSentence(Coz({"export", "missing.pb"}), "missing.pb");
  Write("profile.pb", Make(1));
  ExpectOneSentence(Coz({"export", "--format=csv", "-o", "/nonexistent/x.csv"}),
                    "/nonexistent/x.csv");
}

TEST_F(ProfilesTest, ImportsWhatWasExported) {
  Write("profile.pb", Make(1));
  ASSERT_EQ(Coz({"export", "--format=coz-text", "-o", "old.coz"}).status, 0);
  const CommandResult imported = Coz({"import", "old.coz", "-o", "new.pb"});
  EXPECT_EQ(imported.status, 0) << imported.errors;
  EXPECT_THAT(imported.errors, HasSubstr("300 experiments of 1 session are"));
  EXPECT_THAT(Coz({"report", "new.pb"}).output, HasSubstr("worth it"));
}

TEST_F(ProfilesTest, ImportKeepsTheEarlierProfile) {
  Write("profile.pb", Make(1));
  const std::string before = Read("profile.pb");
  std::ofstream(Path("old.coz")) << "experiment\tselected=a.c:3\tspeedup=0\tduration=1000\n";
  const CommandResult imported = Coz({"import", "old.coz"});
  EXPECT_EQ(imported.status, 0) << imported.errors;
  EXPECT_THAT(imported.errors, HasSubstr("1 experiment of 1 session is in profile.pb"));
  EXPECT_THAT(imported.errors, HasSubstr("the earlier profile.pb is now profile.pb.1"));
  EXPECT_EQ(Read("profile.pb.1"), before);
  EXPECT_EQ(Coz({"import", "old.coz", "-o", "profile.pb.1"}).status, 0);
  EXPECT_NE(Read("profile.pb.1"), before);
  EXPECT_FALSE(std::filesystem::exists(Path("profile.pb.1.1")));
}

TEST_F(ProfilesTest, ImportedProfilesAreNotAddedToOthers) {
  Write("profile.pb", Make(1));
  ASSERT_EQ(Coz({"export", "-o", "old.coz"}).status, 0);
  ASSERT_EQ(Coz({"import", "old.coz", "-o", "old.pb"}).status, 0);
  const std::string before = Read("old.pb");
  ExpectOneSentence(Coz({"merge", "profile.pb", "old.pb", "-o", "x.pb"}),
                    "old.pb is of the original Coz");
  ExpectOneSentence(Coz({"run", "--append", "--unit=library", "-o", "old.pb", "---", "/bin/true"}),
                    "cannot append to old.pb: it is of the original Coz");
  EXPECT_EQ(Read("old.pb"), before);
}

TEST_F(ProfilesTest, ImportNamesWhatIsWrong) {
  Write("profile.pb", Make(1));
  ExpectOneSentence(Coz({"import", "profile.pb", "-o", "x.pb"}), "coz report profile.pb");
  ExpectOneSentence(Coz({"import", "missing.coz"}), "import profile.coz -o old.pb");
  std::ofstream(Path("empty.coz")).flush();
  ExpectOneSentence(Coz({"import", "empty.coz"}), "cannot read empty.coz: it is empty; name ");
  ExpectOneSentence(Coz({"import", folder_}), "cannot read");
  EXPECT_FALSE(std::filesystem::exists(Path("x.pb")));
}

TEST_F(ProfilesTest, WritersFollowLinks) {
  Write("profile.pb", Make(1));
  ASSERT_EQ(Coz({"export", "--format=coz-text", "-o", "old.coz"}).status, 0);
  const std::vector<std::vector<std::string>> writers = {
      {"export"}, {"plot"}, {"merge", "profile.pb"}, {"import", "old.coz"}};
  for (std::vector<std::string> writer : writers) {
    const std::string name = writer.front();
    std::filesystem::create_symlink(name + ".file", Path(name));
    Write(name + ".file", Make(2));
    const std::string before = Read(name + ".file");
    writer.insert(writer.end(), {"-o", name});
    EXPECT_EQ(Coz(writer).status, 0) << name;
    EXPECT_TRUE(std::filesystem::is_symlink(Path(name))) << name;
    EXPECT_NE(Read(name + ".file"), before) << name;
    std::filesystem::create_symlink("/dev/full", Path(name + ".full"));
    writer.back() = name + ".full";
    ExpectOneSentence(Coz(writer), "No space left on device");
  }
}

TEST_F(ProfilesTest, TheLimitOfFileSizesIsNamed) {
  Write("profile.pb", Make(1));
  ASSERT_EQ(Coz({"export", "--format=coz-text", "-o", "old.coz"}).status, 0);
  const std::string run = absl::StrCat("run -o x --- ", RunfilePath("coz/testing/puppets/busy"));
  for (const std::string& words :
       {run, std::string("export -o x"), std::string("plot -o x"),
        std::string("merge profile.pb -o x"), std::string("import old.coz -o x")}) {
    // The streams of a test are files, too.
    const std::string line = absl::StrCat("set -o pipefail; (ulimit -f 0; exec ",
                                          RunfilePath("tools/coz"), " ", words, ") 2>&1 | cat >&2");
    ExpectOneSentence(testing::RunCommand({"/bin/bash", "-c", line}, options_),
                      "ulimit -f unlimited");
  }
}

TEST_F(ProfilesTest, NoWriterDestroysWhatItReads) {
  Write("profile.pb", Make(1));
  const std::string before = Read("profile.pb");
  std::filesystem::create_symlink("profile.pb", Path("link"));
  for (const char* command : {"plot", "export", "import"}) {
    ExpectOneSentence(Coz({command, "profile.pb", "-o", "profile.pb"}),
                      "cannot write profile.pb: it is the profile that is read, which",
                      kUsageStatus);
    ExpectOneSentence(Coz({command, "profile.pb", "-o", "link"}),
                      "cannot write link: it is the profile that is read as profile.pb, which",
                      kUsageStatus);
  }
  EXPECT_EQ(Read("profile.pb"), before);
  // It has read all when it replaces.
  Write("b.pb", Make(2));
  EXPECT_EQ(Coz({"merge", "profile.pb", "b.pb", "-o", "profile.pb"}).status, 0);
  EXPECT_EQ(report::ReadProfile(Path("profile.pb"))->profile.experiment_size(), 600);
}

TEST_F(ProfilesTest, ProfilesGoToStandardOutput) {
  Write("a.pb", Make(1));
  Write("b.pb", Make(2));
  EXPECT_EQ(Coz({"merge", "a.pb", "b.pb", "-o", "all.pb"}).status, 0);
  const CommandResult merged = Coz({"merge", "a.pb", "b.pb", "-o", "-"});
  EXPECT_EQ(merged.status, 0);
  EXPECT_EQ(merged.output, Read("all.pb"));
  EXPECT_EQ(merged.errors, "coz: 600 experiments of 2 sessions are in standard output\n");
  EXPECT_FALSE(std::filesystem::exists(Path("-")));
  EXPECT_EQ(Coz({"export", "a.pb", "-o", "a.coz"}).status, 0);
  const CommandResult imported = Coz({"import", "a.coz", "-o", "-"});
  EXPECT_THAT(imported.errors, HasSubstr("are in standard output\n"));
  EXPECT_THAT(imported.errors, Not(HasSubstr("coz report")));
}

TEST_F(ProfilesTest, MergesProfilesOfOneProgramOnly) {
  Write("a.pb", Make(1));
  Write("b.pb", Make(2));
  Write("other.pb", Make(3, 1e6, 0.6, "/bin/client"));
  const CommandResult merged = Coz({"merge", "a.pb", "b.pb", "a.pb", "-o", "all.pb"});
  EXPECT_EQ(merged.status, 0) << merged.errors;
  EXPECT_THAT(merged.errors, HasSubstr("600 experiments of 2 sessions"));
  EXPECT_THAT(merged.errors, HasSubstr("1 session was given twice"));
  EXPECT_EQ(report::ReadProfile(Path("all.pb"))->profile.experiment_size(), 600);
  const CommandResult refused = Coz({"merge", "a.pb", "other.pb", "-o", "x.pb"});
  ExpectOneSentence(refused, "a.pb and other.pb are of different programs");
  EXPECT_FALSE(std::filesystem::exists(Path("x.pb")));
  EXPECT_EQ(Coz({"merge", "a.pb", "other.pb", "-o", "x.pb", "--any-program"}).status, 0);
  EXPECT_THAT(Coz({"report", "x.pb"}).output, HasSubstr("sessions are of 2 programs, or builds"));
  EXPECT_THAT(Coz({"report", "a.pb"}).output, Not(HasSubstr("sessions are of")));
  ExpectOneSentence(Coz({"merge", "missing.pb", "-o", "x.pb"}), "make a profile first with `");
  ExpectOneSentence(Coz({"merge", folder_, "-o", "x.pb"}), "name the profile in it, e.g. `");
  std::ofstream(Path("text.pb")) << "no profile\n";
  ExpectOneSentence(Coz({"merge", "text.pb", "-o", "x.pb"}), "make a profile with `");
}

TEST_F(ProfilesTest, DiffVerifyAndHistoryTellOneStory) {
  Write("before.pb", Make(1));
  Write("after.pb", Make(2, 0.7e6, 0.43));
  const CommandResult diff = Coz({"diff", "before.pb", "after.pb"});
  EXPECT_THAT(diff.output, HasSubstr("30 % less time"));
  EXPECT_THAT(diff.output, HasSubstr("lost"));
  EXPECT_THAT(Coz({"diff", "before.pb", "after.pb", "--markdown"}).output, HasSubstr("|---|"));
  EXPECT_TRUE(nlohmann::json::accept(Coz({"diff", "before.pb", "after.pb", "--json"}).output));
  const CommandResult verified =
      Coz({"verify", "before.pb", "after.pb", "--line", "work.cc:1", "--record"});
  EXPECT_EQ(verified.status, 0) << verified.errors;
  EXPECT_THAT(verified.output, HasSubstr("the prediction held"));
  EXPECT_EQ(Coz({"verify", "before.pb", "after.pb"}).output, verified.output);
  const auto by_percent = [&](const char* percent) {
    return Coz({"verify", "before.pb", "after.pb", "--line", "work.cc:1", "--by", percent});
  };
  EXPECT_EQ(by_percent("50%").status, 0);
  EXPECT_EQ(by_percent("50%").output, by_percent("50").output);
  ExpectOneSentence(by_percent("0.5"),
                    "--by: 0.5 is in percent; write 50% or, if that is meant, 0.5%", kUsageStatus);
  EXPECT_THAT(by_percent("0.5%").output, HasSubstr("it became faster by        0.5 %"));
  EXPECT_THAT(Coz({"history"}).output, HasSubstr("1 of 1 predictions held"));
  EXPECT_EQ(nlohmann::json::parse(Coz({"history", "--json"}).output)["held"], 1);
}

TEST_F(ProfilesTest, VerifyAndExportSayThatAProfileIsDamaged) {
  Write("before.pb", Make(1));
  Write("after.pb", Make(2, 0.7e6, 0.43));
  std::filesystem::resize_file(Path("after.pb"), std::filesystem::file_size(Path("after.pb")) - 5);
  const std::vector<std::string> verify = {"verify", "before.pb", "after.pb", "--by=50",
                                           "--line=work.cc:1"};
  EXPECT_THAT(Coz(verify).output,
              HasSubstr("  note: of the second profile: the file ends within a record"));
  std::vector<std::string> as_json = verify;
  as_json.push_back("--json");
  EXPECT_THAT(nlohmann::json::parse(Coz(as_json).output)["notes"][0].get<std::string>(),
              HasSubstr("the file ends within a record"));
  for (const char* format : {"pprof", "csv", "jsonl", "speedscope", "coz", "coz-text"}) {
    const CommandResult damaged = Coz({"export", "after.pb", "-o", "x", "--format", format});
    EXPECT_EQ(damaged.status, 0) << format;
    EXPECT_THAT(damaged.errors, HasSubstr("note: after.pb: the file ends within a record"))
        << format;
    EXPECT_EQ(Coz({"export", "before.pb", "-o", "x", "--format", format}).errors, "") << format;
  }
}

TEST_F(ProfilesTest, DiffFailsWhereAVisitTakesLonger) {
  Write("before.pb", Make(1, 0.7e6, 0.43));
  Write("after.pb", Make(2));
  const auto fail_if = [&](const std::vector<std::string>& conditions) {
    std::vector<std::string> diff = {"diff", "before.pb", "after.pb"};
    for (const std::string& condition : conditions) {
      diff.insert(diff.end(), {"--fail-if", condition});
    }
    return Coz(diff);
  };
  EXPECT_EQ(fail_if({"time(requests) > 60%"}).status, 0);
  const CommandResult holds = fail_if({"time(requests) > 5%"});
  EXPECT_EQ(holds.status, 1);
  EXPECT_THAT(holds.output, HasSubstr("% more time"));
  EXPECT_THAT(holds.errors, HasSubstr("so --fail-if='time(requests) > 5%' holds"));
  const CommandResult unknown = fail_if({"time(request) > 5%"});
  EXPECT_EQ(unknown.status, 125);
  EXPECT_THAT(unknown.errors, HasSubstr("fits no progress point, the closest"));
  ExpectOneSentence(fail_if({"gain(work.cc:1) > 5%"}), "is no condition on two profiles",
                    kUsageStatus);
  // Each is said, whatever the order.
  const std::string fitting = "time(*) > 5%";
  const std::string unfitting = "time(none) > 5%";
  for (const CommandResult& both : {fail_if({fitting, unfitting}), fail_if({unfitting, fitting})}) {
    EXPECT_EQ(both.status, 1);
    EXPECT_THAT(both.errors, HasSubstr("'time(*) > 5%' holds"));
    EXPECT_THAT(both.errors, HasSubstr("'time(none) > 5%' fits no progress point"));
  }
  profile::Profile nothing = Make(3);
  nothing.clear_experiment();
  Write("after.pb", nothing);
  const CommandResult empty = fail_if({"time(requests) > 5%"});
  EXPECT_EQ(empty.status, 3);
  EXPECT_THAT(empty.output, HasSubstr("nothing was measured in the second profile"));
}

// What a command prints on a terminal of so many columns.
std::string OnTerminal(const CommandOptions& options, const std::string& command,
                       uint16_t columns) {
  const UniqueFd master(posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC));
  EXPECT_TRUE(master.ok() && grantpt(master.get()) == 0 && unlockpt(master.get()) == 0);
  const std::string name = ptsname(master.get());
  const UniqueFd terminal(open(name.c_str(), O_RDWR | O_NOCTTY | O_CLOEXEC));
  const winsize size = {24, columns, 0, 0};
  EXPECT_EQ(ioctl(terminal.get(), TIOCSWINSZ, &size), 0);
  const std::string line = absl::StrCat(RunfilePath("tools/coz"), " ", command, " > ", name);
  EXPECT_EQ(testing::RunCommand({"/bin/sh", "-c", line}, options).status, 0);
  std::string text;
  char part[4096];
  for (ssize_t got; (got = read(master.get(), part, sizeof(part))) > 0;) {
    text.append(part, static_cast<size_t>(got));
  }
  return absl::StrReplaceAll(text, {{"\r", ""}});
}

TEST_F(ProfilesTest, ComparisonsFitTheTerminal) {
  Write("before.pb", Make(1));
  Write("after.pb", Make(2, 0.7e6, 0.43));
  EXPECT_EQ(Coz({"verify", "before.pb", "after.pb", "--record"}).status, 0);
  for (const char* command : {"diff before.pb after.pb", "verify before.pb after.pb", "history"}) {
    const std::string text = OnTerminal(options_, command, 50);
    EXPECT_THAT(text, HasSubstr("work.cc:1"));
    for (const absl::string_view line : absl::StrSplit(text, '\n')) {
      EXPECT_LE(line.size(), 50u) << command << "\n" << text;
    }
  }
}

TEST_F(ProfilesTest, CommandsThatReadProfilesHaveExamplesOfTheirOwn) {
  for (const char* command : {"diff", "verify", "history", "watch", "merge", "export", "report"}) {
    const std::string help = Coz({command, "--help"}).output;
    EXPECT_THAT(help, ContainsRegex(absl::StrCat("Examples:\n *[^ ]*coz ", command))) << command;
    EXPECT_THAT(help, Not(HasSubstr("coz demo"))) << command;
  }
}

TEST_F(ProfilesTest, ComparisonsNameWhatIsWrong) {
  Write("a.pb", Make(1));
  ExpectOneSentence(Coz({"diff", "a.pb", "missing.pb"}), "missing.pb");
  ExpectOneSentence(Coz({"verify", "a.pb", "a.pb", "--line", "nowhere.cc:3"}), "work.cc:1");
  ExpectOneSentence(Coz({"verify", "a.pb", "a.pb"}), "both profiles are of the same run");
  EXPECT_EQ(Coz({"verify", "a.pb", "a.pb", "--line", "work.cc:1", "--by", "140"}).status,
            kUsageStatus);
  ExpectOneSentence(Coz({"history", "none.jsonl"}), "none.jsonl");
}

TEST_F(ProfilesTest, WatchFollowsAProfileToItsEnd) {
  profile::Profile whole = Make(1);
  profile::Profile end;
  end.mutable_session_end()->Swap(whole.mutable_session_end());
  std::thread writer;
  // Watched from before it exists.
  options_.while_running = [&](pid_t) {
    writer = std::thread([&] {
      usleep(300 * 1000);
      Write("growing.pb", whole);
      usleep(500 * 1000);
      std::ofstream(Path("growing.pb"), std::ios::binary | std::ios::app)
          << end.SerializeAsString();
    });
  };
  const CommandResult result = Coz({"watch", "growing.pb", "--interval=0.1"});
  writer.join();
  EXPECT_EQ(result.status, 0) << result.errors;
  EXPECT_THAT(result.errors, HasSubstr("waiting for growing.pb"));
  EXPECT_THAT(result.output, HasSubstr("300 experiments"));
  EXPECT_THAT(result.output, HasSubstr("work.cc:1"));
  EXPECT_THAT(result.output, Not(HasSubstr("\033")));
}

TEST_F(ProfilesTest, WatchEndsAtAnInterrupt) {
  profile::Profile whole = Make(1);
  whole.clear_session_end();
  Write("profile.pb", whole);
  std::thread interrupter;
  options_.while_running = [&](pid_t watch) {
    interrupter = std::thread([watch] {
      usleep(500 * 1000);
      kill(watch, SIGINT);
    });
  };
  const CommandResult result = Coz({"watch"});
  interrupter.join();
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(result.signal, 0);
}

TEST_F(ProfilesTest, WatchNamesWhatIsWrong) {
  ExpectOneSentence(Coz({"watch", "missing.pb", "--once"}), "make a profile first with `");
  std::ofstream(Path("text")) << "hello";
  ExpectOneSentence(Coz({"watch", "text"}), "text");
}

TEST_F(ProfilesTest, ReportFailsIfAConditionHolds) {
  Write("p.pb", Make(1));
  const CommandResult fails = Coz({"report", "p.pb", "--fail-if", "slope(work.cc:1) > 0.3"});
  EXPECT_EQ(fails.status, 1) << fails.errors;
  EXPECT_THAT(fails.output, HasSubstr("work.cc:1"));
  EXPECT_THAT(fails.errors, HasSubstr("work.cc:1"));
  EXPECT_EQ(std::count(fails.errors.begin(), fails.errors.end(), '\n'), 1) << fails.errors;
  const CommandResult holds = Coz({"report", "p.pb", "--fail-if", "slope(work.cc:1) > 0.9"});
  EXPECT_EQ(holds.status, 0) << holds.errors;
  EXPECT_EQ(holds.errors, "");
  EXPECT_EQ(Coz({"report", "p.pb", "--fail-if", "slope(work.cc:7) > 0.9"}).status, 125);
  EXPECT_EQ(Coz({"report", "p.pb", "--fail-if", "slope(work.cc:1) >"}).status, kUsageStatus);
}

TEST_F(ProfilesTest, ReportIsColouredOnDemandAlone) {
  Write("p.pb", Make(1));
  EXPECT_THAT(Coz({"report", "p.pb"}).output, Not(HasSubstr("\033[")));
  EXPECT_THAT(Coz({"report", "p.pb", "--color=always"}).output, HasSubstr("\033["));
  EXPECT_THAT(Coz({"report", "p.pb", "--color=never"}).output, Not(HasSubstr("\033[")));
}

TEST_F(ProfilesTest, ReportGivesJson) {
  Write("p.pb", Make(1));
  const CommandResult result = Coz({"report", "p.pb", "--json"});
  EXPECT_EQ(result.status, 0) << result.errors;
  EXPECT_TRUE(nlohmann::json::accept(result.output));
}

TEST_F(ProfilesTest, AnnotatePrintsTheSourceWithGains) {
  profile::Profile profile = Make(1);
  for (profile::Unit& unit : *profile.mutable_unit()) unit.set_file(Path("work.cc"));
  Write("p.pb", profile);
  std::ofstream(Path("work.cc")) << "int Work() { return 1; }\n// the end\n";
  const CommandResult result = Coz({"annotate", "work.cc", "p.pb"});
  EXPECT_EQ(result.status, 0) << result.errors;
  EXPECT_THAT(result.output, HasSubstr("+18 % (17 to 19)     60.0 %  worth it"));
  EXPECT_THAT(result.output, HasSubstr("int Work() { return 1; }"));
  EXPECT_THAT(result.output, HasSubstr("// the end"));
  ExpectOneSentence(Coz({"annotate", "other.cc", "p.pb"}), "other.cc");
}

TEST_F(ProfilesTest, AnnotateSearchesForTheSource) {
  profile::Profile profile = Make(1);
  for (profile::Unit& unit : *profile.mutable_unit()) {
    unit.set_file("/proc/self/cwd/elsewhere/work.cc");
  }
  Write("p.pb", profile);
  ExpectOneSentence(Coz({"annotate", "work.cc", "p.pb"}),
                    "the source elsewhere/work.cc is not here; name the folder that it is in: ");
  std::filesystem::create_directories(Path("tree/elsewhere"));
  std::ofstream(Path("tree/elsewhere/work.cc")) << "int Found();\n";
  const CommandResult found = Coz({"annotate", "--source-path=tree", "work.cc", "p.pb"});
  EXPECT_THAT(found.output, HasSubstr("int Found();")) << found.errors;
  // The current folder and below it need no option.
  std::filesystem::rename(Path("tree/elsewhere"), Path("elsewhere"));
  EXPECT_THAT(Coz({"annotate", "work.cc", "p.pb"}).output, HasSubstr("int Found();"));
}

TEST_F(ProfilesTest, NoBuildFolderIsShown) {
  profile::Profile profile = Make(1);
  for (profile::Unit& unit : *profile.mutable_unit()) unit.set_file("/proc/self/cwd/src/work.cc");
  profile.mutable_session(0)->clear_command();
  profile.mutable_session(0)->add_command("/home/me/.cache/execroot/app/bazel-out/k8/bin/server");
  Write("p.pb", profile);
  const std::string report = Coz({"report", "p.pb"}).output;
  EXPECT_THAT(report, HasSubstr("Causal profile of server\n"));
  EXPECT_THAT(report, HasSubstr("lines are in src/\n"));
  EXPECT_THAT(report, Not(HasSubstr("/proc/self")));
  const CommandResult fails = Coz({"report", "p.pb", "--fail-if", "slope(work.cc:1) > 0.3"});
  EXPECT_THAT(fails.errors, HasSubstr("the slope of src/work.cc:1 "));
}

TEST_F(ProfilesTest, OutputNamesAreFilledIn) {
  options_.environment = {"RANK=7"};
  const CommandResult result =
      Coz({"run", "-o", "p.%q{RANK}.%p.pb", "---", RunfilePath("coz/testing/puppets/busy"), "0.3"});
  EXPECT_EQ(result.status, 0) << result.errors;
  bool found = false;
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
    const std::string name = entry.path().filename();
    found |= absl::StartsWith(name, "p.7.") && absl::EndsWith(name, ".pb");
  }
  EXPECT_TRUE(found);
  const std::vector<std::string> program = {"---", RunfilePath("coz/testing/puppets/busy"), "0.3"};
  ExpectOneSentence(Coz({"run", "-o", "p.%z.pb", "---", program[1]}), "-o p.%z.pb", kUsageStatus);
  ExpectOneSentence(Coz({"run", "-o", "p.%q{NONE}.pb", "---", program[1]}), "NONE", kUsageStatus);
}

TEST_F(ProfilesTest, LiveTableIsDrawnBelowWhatTheProgramPrints) {
  options_.environment = {"TERM=xterm"};
  const std::string command = absl::StrCat("stty rows 30 cols 100; exec ", RunfilePath("tools/coz"),
                                           " run --live --experiment-length=0.1 --- ",
                                           RunfilePath("coz/testing/puppets/busy"), " 2");
  const CommandResult result =
      testing::RunCommand({"/usr/bin/script", "-qec", command, "/dev/null"}, options_);
  EXPECT_EQ(result.status, 0) << result.errors;
  EXPECT_THAT(result.output, HasSubstr("hello"));
  EXPECT_THAT(result.output, HasSubstr("bye"));
  // The scrolling region ends above the table's six rows, and is the whole screen again at the end.
  EXPECT_THAT(result.output, HasSubstr("\033[1;24r"));
  EXPECT_THAT(result.output, HasSubstr("busy.c:"));
  EXPECT_THAT(result.output, HasSubstr("\033[r"));
}

TEST_F(ProfilesTest, NothingIsDrawnOnADumbTerminal) {
  options_.environment = {"TERM=dumb"};
  const auto on_terminal = [this](const std::string& options) {
    const std::string command =
        absl::StrCat("stty rows 30 cols 100; exec ", RunfilePath("tools/coz"), " run ", options,
                     " --- ", RunfilePath("coz/testing/puppets/busy"), " 0.7");
    return testing::RunCommand({"/usr/bin/script", "-qec", command, "/dev/null"}, options_);
  };
  const CommandResult plain = on_terminal("");
  EXPECT_EQ(plain.status, 0) << plain.errors;
  EXPECT_THAT(plain.output, HasSubstr("bye"));
  EXPECT_THAT(plain.output, Not(HasSubstr("\033")));
  const CommandResult live = on_terminal("--live");
  EXPECT_EQ(live.status, 125);
  EXPECT_THAT(live.output, HasSubstr("TERM is dumb"));
  EXPECT_THAT(live.output, Not(HasSubstr("\033")));
}

TEST_F(ProfilesTest, LiveNeedsATerminal) {
  ExpectOneSentence(Coz({"run", "--live", "---", RunfilePath("coz/testing/puppets/busy"), "1"}),
                    "coz watch profile.pb");
}

}  // namespace
}  // namespace coz
