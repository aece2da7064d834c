#include "coz/runtime/preload_environment.h"

#include <fstream>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace coz {
namespace {

using ::testing::ElementsAre;

// What a program is given in place of `entries`.
std::vector<std::string> Passed(std::vector<std::string> entries) {
  std::vector<char*> pointers;
  for (std::string& entry : entries) pointers.push_back(entry.data());
  pointers.push_back(nullptr);
  const char* preload = FindUnreachablePreload(pointers.data());
  if (preload == nullptr) return entries;
  std::vector<char*> copy(CountEntries(pointers.data()));
  std::vector<char> rest(PreloadBytes(preload));
  CopyWithoutPreload(pointers.data(), preload, copy.data(), rest.data());
  std::vector<std::string> passed;
  for (char** entry = copy.data(); *entry != nullptr; ++entry) passed.emplace_back(*entry);
  return passed;
}

TEST(PreloadEnvironmentTest, LeavesOutALibraryThatCannotBeOpened) {
  EXPECT_THAT(Passed({"A=1", "LD_PRELOAD=/nowhere/libcoz.so", "COZ_CONTROL=/proc/1/fd/3", "B=2"}),
              ElementsAre("A=1", "B=2"));
}

TEST(PreloadEnvironmentTest, KeepsTheOtherLibraries) {
  EXPECT_THAT(Passed({"LD_PRELOAD=liba.so:/nowhere/libcoz.so /lib/b.so:", "COZ_CONTROL=x"}),
              ElementsAre("LD_PRELOAD=liba.so:/lib/b.so"));
}

TEST(PreloadEnvironmentTest, PassesOnALibraryThatCanBeOpened) {
  const std::string library = ::testing::TempDir() + "/libcoz.so";
  std::ofstream{library};
  EXPECT_THAT(Passed({"LD_PRELOAD=" + library, "COZ_CONTROL=x"}),
              ElementsAre("LD_PRELOAD=" + library, "COZ_CONTROL=x"));
}

TEST(PreloadEnvironmentTest, LeavesAloneWhatIsNotOurs) {
  EXPECT_THAT(Passed({"LD_PRELOAD=/nowhere/libother.so", "COZ_CONTROLS=1"}),
              ElementsAre("LD_PRELOAD=/nowhere/libother.so", "COZ_CONTROLS=1"));
  EXPECT_THAT(Passed({"LD_PRELOAD_=/nowhere/libcoz.so"}),
              ElementsAre("LD_PRELOAD_=/nowhere/libcoz.so"));
  EXPECT_EQ(FindUnreachablePreload(nullptr), nullptr);
}

}  // namespace
}  // namespace coz
