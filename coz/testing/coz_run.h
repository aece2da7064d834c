// A fixture for tests that run `coz run` and look at the profile it wrote.
//
// Shape    each test has a folder of its own, in which its commands run
// Units    none
// Errors   a profile that cannot be read fails the test and is empty
// Threads  as a test fixture
// Signals  none
// Source   none
//
// A test that uses it has //tools:coz and //coz/runtime:libcoz.so in its data, and the puppets that
// it runs.
#ifndef COZ_TESTING_COZ_RUN_H_
#define COZ_TESTING_COZ_RUN_H_

#include <string>
#include <vector>

#include "coz/report/format/profile.pb.h"
#include "coz/testing/run_command.h"
#include "gtest/gtest.h"

namespace coz::testing {

// Paths of the command, and of a program of coz/testing/puppets.
std::string Coz();
std::string Puppet(const std::string& name);
// "FILE:LINE" of the first line of a puppet's source file that holds the text; it is among the
// test's data.
std::string LineWith(const std::string& file, const std::string& text);

class CozRunTest : public ::testing::Test {
 protected:
  CozRunTest();

  // Runs `coz run` with experiments of `experiment_seconds_`.
  CommandResult Run(const std::vector<std::string>& coz_options,
                    const std::vector<std::string>& program);

  std::string Path(const std::string& name) const { return options_.folder + "/" + name; }
  profile::Profile Profile(const std::string& name = "profile.pb") const;

  CommandOptions options_;
  std::string experiment_seconds_ = "0.1";  // so that a second is enough for some
};

}  // namespace coz::testing

#endif  // COZ_TESTING_COZ_RUN_H_
