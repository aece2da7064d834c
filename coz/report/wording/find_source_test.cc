#include "coz/report/wording/find_source.h"

#include <filesystem>
#include <fstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace coz::report {
namespace {

using ::testing::ElementsAre;

class FindSourceTest : public ::testing::Test {
 protected:
  std::string Write(const std::string& name) const {
    const std::filesystem::path path = folder_ + "/" + name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << "int a;\n";
    return path.string();
  }

  const std::string folder_ = ::testing::TempDir() + "find_source";
};

TEST_F(FindSourceTest, FileAtItsPathComesFirst) {
  const std::string there = Write("first/src/a.cc");
  Write("second/src/a.cc");
  EXPECT_EQ(FindSource(there, {folder_ + "/second"}), there);
}

TEST_F(FindSourceTest, LongestEndOfThePathIsTaken) {
  Write("tree/a.cc");
  const std::string longer = Write("tree/src/a.cc");
  EXPECT_EQ(FindSource("/proc/self/cwd/src/a.cc", {folder_ + "/tree"}), longer);
  EXPECT_EQ(FindSource("src/a.cc", {folder_ + "/none", folder_ + "/tree"}), longer);
}

TEST_F(FindSourceTest, NothingIsFoundOfAnotherName) {
  Write("tree/a.cc");
  EXPECT_EQ(FindSource("/nowhere/b.cc", {folder_ + "/tree"}), "");
  EXPECT_EQ(FindSource("", {folder_ + "/tree"}), "");
}

TEST_F(FindSourceTest, FoldersOfTheRunAreSearchedBehindTheUsers) {
  profile::Profile profile;
  profile::Session* session = profile.add_session();
  session->set_working_folder("/home/me/app");
  session->add_command("build/bin/server");
  EXPECT_THAT(
      SourceFolders({"/src"}, profile),
      ElementsAre("/src", ".", "/home/me/app", "/home/me/app/build/bin", "/home/me/app/build"));
  session->set_command(0, "/x/execroot/app/bazel-out/k8/bin/server");
  EXPECT_THAT(SourceFolders({}, profile),
              ElementsAre(".", "/home/me/app", "/x/execroot/app",
                          "/x/execroot/app/bazel-out/k8/bin", "/x/execroot/app/bazel-out/k8"));
  session->set_command(0, "server");
  EXPECT_THAT(SourceFolders({}, profile), ElementsAre(".", "/home/me/app"));
}

TEST_F(FindSourceTest, AFileIsComparedWithTheBeginOfTheFirstSession) {
  const std::string file = Write("tree/edited.cc");
  profile::Profile profile;
  EXPECT_FALSE(IsModifiedAfter(file, BeginNs(profile)));
  profile.add_session()->set_start_unix_ns(UINT64_MAX);
  EXPECT_FALSE(IsModifiedAfter(file, BeginNs(profile)));
  profile.add_session()->set_start_unix_ns(1'700'000'000'000'000'000);
  profile.add_session();
  EXPECT_TRUE(IsModifiedAfter(file, BeginNs(profile)));
  EXPECT_FALSE(IsModifiedAfter(file + ".none", BeginNs(profile)));
}

}  // namespace
}  // namespace coz::report
