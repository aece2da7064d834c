#include "coz/testing/coz_run.h"

#include <fstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "coz/report/format/profile_reader.h"

namespace coz::testing {

std::string Coz() { return RunfilePath("tools/coz"); }

std::string Puppet(const std::string& name) { return RunfilePath("coz/testing/puppets/" + name); }

std::string LineWith(const std::string& file, const std::string& text) {
  std::ifstream source(Puppet(file));
  std::string line;
  for (int number = 1; std::getline(source, line); ++number) {
    if (absl::StrContains(line, text)) return absl::StrCat(file, ":", number);
  }
  ADD_FAILURE() << file << " has no line with " << text;
  return "";
}

CozRunTest::CozRunTest() { options_.folder = TemporaryFolder(); }

CommandResult CozRunTest::Run(const std::vector<std::string>& coz_options,
                              const std::vector<std::string>& program) {
  std::vector<std::string> arguments = {Coz(), "run", "--experiment-length=" + experiment_seconds_};
  arguments.insert(arguments.end(), coz_options.begin(), coz_options.end());
  arguments.emplace_back("---");
  arguments.insert(arguments.end(), program.begin(), program.end());
  return RunCommand(arguments, options_);
}

profile::Profile CozRunTest::Profile(const std::string& name) const {
  absl::StatusOr<report::ReadResult> read = report::ReadProfile(Path(name));
  EXPECT_TRUE(read.ok()) << read.status();
  return read.ok() ? read->profile : profile::Profile();
}

}  // namespace coz::testing
