#include "coz/base/file_replacement.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "gtest/gtest.h"

namespace coz {
namespace {

class FileReplacementTest : public ::testing::Test {
 protected:
  FileReplacementTest() {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directory(folder_);
  }

  std::string Path(const std::string& name) const { return folder_ + "/" + name; }
  std::string Read(const std::string& name) const {
    std::ifstream file(Path(name));
    return std::string(std::istreambuf_iterator<char>(file), {});
  }
  void Make(const std::string& name) const { std::ofstream(Path(name)) << "as it was"; }
  bool Replace(const std::string& name) const {
    FileReplacement file;
    return file.Open(Path(name)) && file.Write("new") && file.Finish();
  }
  size_t Files() const {
    return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(folder_), {}));
  }

  const std::string folder_ = ::testing::TempDir() + "/replaced";
};

TEST_F(FileReplacementTest, AFileIsWholeOrAsItWas) {
  Make("file");
  {
    FileReplacement file;
    ASSERT_TRUE(file.Open(Path("file")));
    ASSERT_TRUE(file.Write("half"));
  }
  EXPECT_EQ(Read("file"), "as it was");
  EXPECT_TRUE(Replace("file"));
  EXPECT_EQ(Read("file"), "new");
  EXPECT_TRUE(Replace("another"));
  EXPECT_EQ(Read("another"), "new");
  EXPECT_EQ(Files(), 2u);
}

TEST_F(FileReplacementTest, ALinkIsFollowed) {
  std::filesystem::create_directory(Path("folder"));
  Make("folder/file");
  std::filesystem::create_symlink("folder/file", Path("near"));
  std::filesystem::create_symlink("near", Path("link"));
  EXPECT_TRUE(Replace("link"));
  EXPECT_TRUE(std::filesystem::is_symlink(Path("link")));
  EXPECT_TRUE(std::filesystem::is_symlink(Path("near")));
  EXPECT_EQ(Read("folder/file"), "new");
}

TEST_F(FileReplacementTest, WhatALinkLeadsToIsMade) {
  std::filesystem::create_symlink("file", Path("link"));
  EXPECT_TRUE(Replace("link"));
  EXPECT_TRUE(std::filesystem::is_symlink(Path("link")));
  EXPECT_EQ(Read("file"), "new");
}

TEST_F(FileReplacementTest, APipeIsWrittenTo) {
  ASSERT_EQ(mkfifo(Path("pipe").c_str(), 0600), 0);
  // For both ends, so that neither waits.
  const UniqueFd reader(open(Path("pipe").c_str(), O_RDWR | O_CLOEXEC));
  EXPECT_TRUE(Replace("pipe"));
  EXPECT_TRUE(std::filesystem::is_fifo(Path("pipe")));
  char bytes[8] = "";
  EXPECT_EQ(read(reader.get(), bytes, sizeof(bytes)), 3);
  EXPECT_STREQ(bytes, "new");
}

TEST_F(FileReplacementTest, ADeviceIsWrittenToAndItsErrorsAreTold) {
  // A link in place of a device of its own: only root makes these.
  std::filesystem::create_symlink("/dev/full", Path("full"));
  FileReplacement file;
  ASSERT_TRUE(file.Open(Path("full")));
  EXPECT_FALSE(file.Write("new"));
  EXPECT_EQ(errno, ENOSPC);
  EXPECT_TRUE(std::filesystem::is_symlink(Path("full")));
}

TEST_F(FileReplacementTest, AFolderIsRefused) {
  errno = 0;
  EXPECT_FALSE(Replace(""));
  EXPECT_EQ(errno, EISDIR);
}

TEST_F(FileReplacementTest, AFileIsTheSameByAnotherPath) {
  Make("file");
  Make("other");
  std::filesystem::create_symlink("file", Path("link"));
  EXPECT_TRUE(IsSameFile(Path("file"), folder_ + "/./file"));
  EXPECT_TRUE(IsSameFile(Path("file"), Path("link")));
  EXPECT_FALSE(IsSameFile(Path("file"), Path("other")));
  EXPECT_FALSE(IsSameFile(Path("missing"), Path("missing")));
  // Of what nothing is lost.
  EXPECT_FALSE(IsSameFile("/dev/null", "/dev/null"));
}

}  // namespace
}  // namespace coz
