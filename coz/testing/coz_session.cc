#include "coz/testing/coz_session.h"

#include <signal.h>
#include <sys/wait.h>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"

namespace coz::testing {

void CozSessionTest::StartSession(const std::vector<std::string>& command) {
  session_ = std::make_unique<Resident>(command, options_.folder);
  for (int tries = 0; tries < 1000 && Points({"--list"}).status != 0; ++tries) {
  }
}

void CozSessionTest::EndSession() {
  kill(session_->pid(), SIGINT);
  int status = -1;
  session_->End(&status);
  session_.reset();
  EXPECT_TRUE(WIFEXITED(status)) << status;
}

CommandResult CozSessionTest::Points(const std::vector<std::string>& options) const {
  std::vector<std::string> command = {Coz(), "points", absl::StrCat("--session=", session_->pid())};
  command.insert(command.end(), options.begin(), options.end());
  return RunCommand(command, options_);
}

int64_t CozSessionTest::Visits(const std::string& point) const {
  const CommandResult list = Points({"--list"});
  for (const absl::string_view row : absl::StrSplit(list.output, '\n')) {
    if (!absl::StartsWith(row, absl::StrCat(point, " "))) continue;
    int64_t visits = -1;
    EXPECT_TRUE(absl::SimpleAtoi(row.substr(row.rfind(' ') + 1), &visits)) << row;
    return visits;
  }
  return -1;
}

}  // namespace coz::testing
