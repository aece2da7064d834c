#include "coz/supervisor/target/container_entry.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "absl/status/statusor.h"
#include "coz/base/file_text.h"
#include "gtest/gtest.h"

namespace coz::supervisor {
namespace {

namespace fs = std::filesystem;

ino_t NodeOf(const std::string& path) {
  struct stat status = {};
  EXPECT_EQ(stat(path.c_str(), &status), 0) << path;
  return status.st_ino;
}

TEST(ContainerEntryTest, OneOfThisNamespaceIsInNoContainer) {
  EXPECT_FALSE(IsInContainer(getpid()));
  EXPECT_FALSE(IsInContainer(0)) << "there is none of this number";
}

// A process that was attached to before has the file mapped.
TEST(ContainerEntryTest, LibraryThatIsThereStays) {
  const absl::StatusOr<std::string> first = PutLibrary("some library");
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(FileText(*first), "some library");
  const ino_t node = NodeOf(*first);
  const absl::StatusOr<std::string> second = PutLibrary("some library");
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_EQ(*second, *first);
  EXPECT_EQ(NodeOf(*second), node);
  fs::remove_all(fs::path(*first).parent_path());
}

// Who may write into the folder could give the process another library.
TEST(ContainerEntryTest, FolderThatOthersMayWriteToIsNotUsed) {
  const absl::StatusOr<std::string> first = PutLibrary("other library");
  ASSERT_TRUE(first.ok()) << first.status();
  const fs::path folder = fs::path(*first).parent_path();
  ASSERT_EQ(chmod(folder.c_str(), 0777), 0);
  fs::create_directory(folder / "keeps it from being removed");
  const absl::StatusOr<std::string> second = PutLibrary("other library");
  fs::remove_all(folder);
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_NE(fs::path(*second).parent_path(), folder);
  fs::remove_all(fs::path(*second).parent_path());
}

}  // namespace
}  // namespace coz::supervisor
