// Functions that a program compiles while it runs, as units of the coz command.
#include <map>
#include <set>
#include <string>

#include "coz/testing/coz_run.h"
#include "coz/testing/one_sentence.h"
#include "coz/testing/whole_run.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace coz {
namespace {

using ::coz::testing::CommandResult;
using ::coz::testing::ExpectOneSentence;
using ::coz::testing::Puppet;
using ::coz::testing::SamplesInRun;
using ::testing::HasSubstr;

class JitTest : public testing::CozRunTest {
 protected:
  static uint64_t Of(const std::map<std::string, uint64_t>& samples, const std::string& function) {
    const auto found = samples.find(function);
    return found == samples.end() ? 0 : found->second;
  }

  // The only unit of all experiments.
  static profile::Unit Selected(const profile::Profile& profile) {
    EXPECT_GT(profile.experiment_size(), 0);
    profile::Unit selected;
    for (const profile::Experiment& experiment : profile.experiment()) {
      for (const profile::Unit& unit : profile.unit()) {
        if (unit.id() == experiment.selected_unit()) selected = unit;
      }
      EXPECT_EQ(experiment.selected_unit(), profile.experiment(0).selected_unit());
    }
    return selected;
  }
};

TEST_F(JitTest, FunctionsOfThePerfMapAreUnits) {
  const CommandResult result = Run({"--unit=function", "--binary-scope=JIT"}, {Puppet("jit"), "3"});
  EXPECT_EQ(result.status, 0) << result.errors;
  const profile::Profile profile = Profile();
  const std::map<std::string, uint64_t> samples = SamplesInRun(profile);
  EXPECT_GT(Of(samples, "hot"), Of(samples, "warm"));
  EXPECT_GT(Of(samples, "warm"), 0u);
  EXPECT_GT(Of(samples, "inner"), 0u);
  EXPECT_GT(Of(samples, "outer"), 0u) << "what it calls out of scope counts for it";
  EXPECT_GT(Of(samples, "gone"), 0u);
  EXPECT_GT(Of(samples, "moved"), 0u) << "later code takes the place of earlier code";
  EXPECT_EQ(samples.size(), 6u) << "nothing else has samples";
  for (const profile::Unit& unit : profile.unit()) {
    EXPECT_EQ(unit.kind(), profile::UNIT_KIND_FUNCTION);
    EXPECT_EQ(unit.file(), "/app/jit.js");
    EXPECT_EQ(unit.line(), unit.function().size());
    EXPECT_EQ(profile.binary(static_cast<int>(unit.binary_index())).path(), "JIT");
  }
}

TEST_F(JitTest, FunctionThatIsCompiledLaterCanBeNamed) {
  const CommandResult result =
      Run({"--unit=function", "--binary-scope=JIT", "--fixed-unit=moved", "--fixed-speedup=0,50"},
          {Puppet("jit"), "4"});
  EXPECT_EQ(result.status, 0) << result.errors;
  EXPECT_EQ(Selected(Profile()).function(), "moved");
}

// The puppet gives line 11 twice the work of line 21.
TEST_F(JitTest, LinesOfTheJitdumpAreUnits) {
  const CommandResult result = Run({"--binary-scope=JIT"}, {Puppet("jit"), "3", "dump"});
  EXPECT_EQ(result.status, 0) << result.errors;
  const profile::Profile profile = Profile();
  std::map<uint32_t, std::string> functions;
  for (const profile::Unit& unit : profile.unit()) {
    EXPECT_EQ(unit.kind(), profile::UNIT_KIND_LINE);
    EXPECT_EQ(unit.file(), "/app/jit.js");
    EXPECT_EQ(profile.binary(static_cast<int>(unit.binary_index())).path(), "JIT");
    functions[unit.line()] = unit.function();
  }
  const std::map<uint32_t, uint64_t> samples = testing::SamplesOfLinesInRun(profile);
  const auto of = [&samples](uint32_t line) {
    const auto found = samples.find(line);
    return found == samples.end() ? 0 : found->second;
  };
  EXPECT_GT(of(11), of(21));
  const std::map<uint32_t, std::string> kWork = {{11, "hot"},  {21, "warm"},  {31, "inner"},
                                                 {41, "gone"}, {51, "outer"}, {71, "moved"}};
  for (const auto& [line, function] : kWork) {
    EXPECT_GT(of(line), 0u) << line;
    EXPECT_EQ(functions[line], function);
  }
  EXPECT_EQ(of(61), 0u) << "never called";
}

TEST_F(JitTest, LineThatIsCompiledLaterCanBeNamed) {
  const CommandResult result =
      Run({"--binary-scope=JIT", "--fixed-line=jit.js:71", "--fixed-speedup=0,50"},
          {Puppet("jit"), "4", "dump"});
  EXPECT_EQ(result.status, 0) << result.errors;
  EXPECT_EQ(Selected(Profile()).line(), 71u);
}

TEST_F(JitTest, GroupsAndSourceScopesTakeFunctionsOfTheMap) {
  const CommandResult result =
      Run({"--unit=function", "--binary-scope=JIT", "--source-scope=jit.js", "--group", "both=hot",
           "--group", "both=warm", "--exclude=inner"},
          {Puppet("jit"), "2"});
  EXPECT_EQ(result.errors.find("matched no"), std::string::npos) << result.errors;
  const std::map<std::string, uint64_t> samples = SamplesInRun(Profile());
  EXPECT_GT(Of(samples, "both"), 0u);
  EXPECT_EQ(Of(samples, "hot") + Of(samples, "inner"), 0u);
}

TEST_F(JitTest, LibraryOfAllCompiledCodeIsOneUnit) {
  Run({"--unit=library"}, {Puppet("jit"), "2"});
  std::set<std::string> files;
  const profile::Profile profile = Profile();
  for (const profile::Unit& unit : profile.unit()) files.insert(unit.file());
  EXPECT_THAT(files, ::testing::Contains("JIT"));
}

TEST_F(JitTest, CompiledCodeHasNeitherFilesNorPaths) {
  ExpectOneSentence(Run({"--binary-scope=JIT", "--unit=file"}, {Puppet("jit"), "1"}),
                    "add --unit=function");
  ExpectOneSentence(Run({"--binary-scope=JIT", "--unit=path"}, {Puppet("jit"), "1"}),
                    "add --unit=function");
}

TEST_F(JitTest, ProgramThatWritesNoMapIsTold) {
  const CommandResult result =
      Run({"--unit=function", "--binary-scope=JIT"}, {Puppet("busy"), "1"});
  EXPECT_THAT(result.errors, HasSubstr("start node with --perf-basic-prof"));
}

}  // namespace
}  // namespace coz
