#include "coz/sync/interpose/preload_environment.h"

#include <string.h>

#include <fstream>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace coz::interpose {
namespace {

using ::testing::ElementsAre;

// The environment that a program gets in place of `entries`.
std::vector<std::string> Passed(std::vector<std::string> entries) {
  std::vector<char*> pointers;
  pointers.reserve(entries.size() + 1);
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
  const std::ofstream made(library);
  EXPECT_THAT(Passed({"LD_PRELOAD=" + library, "COZ_CONTROL=" + library}),
              ElementsAre("LD_PRELOAD=" + library, "COZ_CONTROL=" + library));
}

TEST(PreloadEnvironmentTest, LeavesOutALibraryThatCannotReachTheSupervisor) {
  const std::string library = ::testing::TempDir() + "/libcoz.so";
  const std::ofstream made(library);
  EXPECT_THAT(Passed({"A=1", "LD_PRELOAD=" + library, "COZ_CONTROL=/proc/0/fd/3"}),
              ElementsAre("A=1"));
}

TEST(PreloadEnvironmentTest, LeavesAloneWhatIsNotOurs) {
  EXPECT_THAT(Passed({"LD_PRELOAD=/nowhere/libother.so", "COZ_CONTROLS=1"}),
              ElementsAre("LD_PRELOAD=/nowhere/libother.so", "COZ_CONTROLS=1"));
  EXPECT_THAT(Passed({"LD_PRELOAD_=/nowhere/libcoz.so"}),
              ElementsAre("LD_PRELOAD_=/nowhere/libcoz.so"));
  EXPECT_EQ(FindUnreachablePreload(nullptr), nullptr);
}

// What a program that needs libtsan.so.2 gets in place of `entry`, and what it keeps of it.
struct WithSanitizer {
  std::string given;
  std::string kept;
};

WithSanitizer Sanitized(std::string entry) {
  std::string before = "A=1";
  char* environment[] = {before.data(), entry.data(), nullptr};
  std::vector<char> text(PreloadBytes(entry.c_str()));
  char* copy[3];
  CopyWithSanitizer(environment, entry.c_str(), SanitizerRuntime{"libtsan.so.2"}, copy,
                    text.data());
  EXPECT_STREQ(copy[0], "A=1");
  EXPECT_EQ(copy[2], nullptr);
  WithSanitizer result = {copy[1], ""};
  TakeOutSanitizer(copy);
  result.kept = copy[1];
  return result;
}

TEST(PreloadEnvironmentTest, PutsTheSanitizerFirstForOneProgramOnly) {
  const WithSanitizer alone = Sanitized("LD_PRELOAD=/x/libcoz.so");
  EXPECT_EQ(alone.given, "LD_PRELOAD=libtsan.so.2 /x/libcoz.so");
  EXPECT_EQ(alone.kept, "LD_PRELOAD=/x/libcoz.so");
  const WithSanitizer others = Sanitized("LD_PRELOAD=/x/libcoz.so:liba.so");
  EXPECT_EQ(others.given, "LD_PRELOAD=libtsan.so.2 /x/libcoz.so:liba.so");
  EXPECT_EQ(others.kept, "LD_PRELOAD=/x/libcoz.so:liba.so");
}

// The environment that a program gets in place of `entries` from a process with /x/libcoz.so.
std::vector<std::string> WithOwnLibrary(std::vector<std::string> entries) {
  std::string own = "LD_PRELOAD=liba.so:/x/libcoz.so";
  char* environment[] = {own.data(), nullptr};
  NoteOwnLibrary(environment);
  std::vector<char*> pointers;
  pointers.reserve(entries.size() + 1);
  for (std::string& entry : entries) pointers.push_back(entry.data());
  pointers.push_back(nullptr);
  const char* const replaced = FindReplacedPreload(pointers.data());
  if (replaced == nullptr) return entries;
  std::vector<char*> copy(CountEntries(pointers.data()));
  std::vector<char> text(BytesWithOwnLibrary(replaced));
  CopyWithOwnLibrary(pointers.data(), replaced, copy.data(), text.data());
  EXPECT_EQ(copy.back(), nullptr);
  copy.pop_back();
  EXPECT_LT(strlen(copy[1]), text.size());
  return {copy.begin(), copy.end()};
}

TEST(PreloadEnvironmentTest, GoesBeforeLibrariesThatTheProgramPutsInItsPlace) {
  EXPECT_THAT(
      WithOwnLibrary({"COZ_CONTROL=x", "LD_PRELOAD=libjemalloc.so:libb.so", "A=1"}),
      ElementsAre("COZ_CONTROL=x", "LD_PRELOAD=/x/libcoz.so:libjemalloc.so:libb.so", "A=1"));
}

TEST(PreloadEnvironmentTest, StaysOutWhereTheProgramWantsNoLibraryOrIsNotProfiled) {
  const std::vector<std::string> kept[] = {
      {"COZ_CONTROL=x", "A=1"},                         // env -u LD_PRELOAD
      {"COZ_CONTROL=x", "LD_PRELOAD="},                 //
      {"LD_PRELOAD=libjemalloc.so"},                    // env -i LD_PRELOAD=...
      {"COZ_CONTROL=x", "LD_PRELOAD=/y/libcoz.so:a"}};  // it is there
  for (const std::vector<std::string>& entries : kept) EXPECT_EQ(WithOwnLibrary(entries), entries);
  EXPECT_EQ(FindReplacedPreload(nullptr), nullptr);
}

TEST(PreloadEnvironmentTest, KeepsASanitizerThatTheUserPreloads) {
  std::string entry = "LD_PRELOAD=/usr/lib/libasan.so.8:/x/libcoz.so";
  char* environment[] = {entry.data(), nullptr};
  EXPECT_TRUE(StartsWithSanitizer(entry.c_str()));
  EXPECT_FALSE(StartsWithSanitizer("LD_PRELOAD=/x/libcoz.so:libasan.so.8"));
  TakeOutSanitizer(environment);
  EXPECT_EQ(entry, "LD_PRELOAD=/usr/lib/libasan.so.8:/x/libcoz.so");
}

}  // namespace
}  // namespace coz::interpose
