#include "coz/supervisor/target/shared_control.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "coz/base/unique_fd.h"
#include "gtest/gtest.h"

namespace coz::supervisor {
namespace {

TEST(SharedControlTest, TheTargetCannotShortenTheBlock) {
  absl::StatusOr<SharedControl> control = SharedControl::Create();
  ASSERT_TRUE(control.ok()) << control.status();
  const UniqueFd of_target(open(control->Path().c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_TRUE(of_target.ok());
  EXPECT_NE(ftruncate(of_target.get(), 0), 0);
  EXPECT_NE(fcntl(of_target.get(), F_ADD_SEALS, F_SEAL_GROW), 0);
  EXPECT_EQ(control->block().supervisor_pid, getpid()) << "reading it would end the supervisor";
}

TEST(SharedControlTest, TheBlockGrowsByTables) {
  absl::StatusOr<SharedControl> control = SharedControl::Create();
  ASSERT_TRUE(control.ok()) << control.status();
  const absl::StatusOr<uint64_t> offset = control->Append("table");
  ASSERT_TRUE(offset.ok()) << offset.status();
  struct stat file;
  ASSERT_EQ(fstat(control->fd(), &file), 0);
  EXPECT_EQ(static_cast<uint64_t>(file.st_size), *offset + 5);
}

}  // namespace
}  // namespace coz::supervisor
