#include "coz/points/closest_names.h"

#include <set>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace coz::points {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(EditDistanceTest, CountsChangesWhateverTheCase) {
  EXPECT_EQ(EditDistance("Decode", "decode", 5), 0);
  EXPECT_EQ(EditDistance("decode", "dcode", 5), 1);
  EXPECT_EQ(EditDistance("decode", "encode", 5), 2);
  EXPECT_EQ(EditDistance("decode", "compress", 3), 4);
}

TEST(ClosestNamesTest, NearestLinesOfTheFileComeFirst) {
  ClosestNames closest("a.cc:20");
  for (uint32_t line : {3, 18, 25, 90}) closest.AddLine("/src/a.cc", line);
  closest.AddLine("/src/b.cc", 20);
  EXPECT_THAT(closest.Best(), ElementsAre("a.cc:18", "a.cc:25", "a.cc:3"));
}

TEST(ClosestNamesTest, MisspeltFileIsFound) {
  ClosestNames closest("pipline.cc:20");
  closest.AddLine("/src/pipeline.cc", 3);
  closest.AddLine("/src/pipeline.cc", 4);
  closest.AddLine("/src/other.cc", 20);
  EXPECT_THAT(closest.Best(), ElementsAre("/src/pipeline.cc"));
}

TEST(ClosestNamesTest, FunctionIsFoundByItsLastPart) {
  ClosestNames closest("Decoed");
  closest.Add("ns::Decode");
  closest.Add("ns::Encode");
  closest.Add("ns::Unrelated");
  EXPECT_EQ(closest.Best().front(), "ns::Decode");
}

TEST(ClosestNamesTest, NothingSimilarGivesNoAnswer) {
  ClosestNames closest("xyzzy");
  closest.Add("main");
  EXPECT_THAT(closest.Best(), IsEmpty());
  EXPECT_EQ(ClosestPhrase(closest.Best()), "");
}

TEST(ClosestLibrariesTest, ComparesNamesWithoutTheirVersions) {
  const std::set<std::string> paths = {"/usr/lib/libc.so.6", "/usr/lib/libevent-2.1.so.7",
                                       "/usr/lib/libpython3.11.so.1.0"};
  const std::string event = "; the closest are: libevent-2.1.so.7";
  for (const char* wanted : {"libevent", "libevnt", "libevent.so.2", "/opt/libevent.so", "event"}) {
    EXPECT_EQ(ClosestLibraries(wanted, paths), event) << wanted;
  }
  EXPECT_EQ(ClosestLibraries("libpyton*", paths), "; the closest are: libpython3.11.so.1.0");
}

TEST(ClosestLibrariesTest, NothingSimilarGivesNoAnswer) {
  EXPECT_EQ(ClosestLibraries("libnothing.so", {"/usr/lib/libz.so.1"}), "");
  EXPECT_EQ(ClosestLibraries("*", {"/usr/lib/libz.so.1", "/usr/lib/7"}), "");
}

TEST(ClosestPhraseTest, ListsNames) {
  EXPECT_EQ(ClosestPhrase({"a"}), ", the closest is a");
  EXPECT_EQ(ClosestPhrase({"a", "b", "c"}), ", the closest are a, b and c");
}

}  // namespace
}  // namespace coz::points
