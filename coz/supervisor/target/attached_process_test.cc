#include "coz/supervisor/target/attached_process.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace coz::supervisor {
namespace {

using ::testing::ElementsAre;

TEST(RunningProgramTest, ProgramIsCalledByTheLinkThatWasStarted) {
  const std::string folder = std::string(getenv("TEST_TMPDIR")) + "/programs";
  std::filesystem::create_directory(folder);
  std::ofstream(folder + "/redis-check-rdb") << "program";
  std::ofstream(folder + "/another") << "program";
  std::filesystem::create_symlink(folder + "/redis-check-rdb", folder + "/redis-server");
  const std::string executable = folder + "/redis-check-rdb";
  EXPECT_EQ(NameOfProgram(executable, "redis-server"), folder + "/redis-server");
  EXPECT_EQ(NameOfProgram(executable, "another"), executable);
  EXPECT_EQ(NameOfProgram(executable, "a thread"), executable);
  EXPECT_EQ(NameOfProgram(executable, ""), executable);
}

TEST(RunningProgramTest, ArgumentsAreKeptAndTitlesAreNot) {
  const auto command = [](const std::string& text) { return CommandOf("/bin/server", text); };
  EXPECT_THAT(command(std::string("server\0--port\0"
                                  "80\0",
                                  17)),
              ElementsAre("/bin/server", "--port", "80"));
  EXPECT_THAT(command(std::string("server *:6379\0\0\0\0rest\0", 21)), ElementsAre("/bin/server"));
  EXPECT_THAT(command("server: master process /bin/server"), ElementsAre("/bin/server"));
  EXPECT_THAT(command(""), ElementsAre("/bin/server"));
}

}  // namespace
}  // namespace coz::supervisor
