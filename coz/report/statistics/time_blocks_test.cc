#include "coz/report/statistics/time_blocks.h"

#include <cstdint>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace coz::report {
namespace {

using ::testing::ElementsAre;

TimedObservation At(uint64_t sequence, uint64_t start_ns, double speedup, double weight = 1) {
  return {sequence, start_ns, {speedup, 1, 1, weight}};
}

std::vector<int> Blocks(const std::vector<TimedObservation>& observations) {
  std::vector<int> blocks;
  for (const RateObservation& o : InBlocks(observations, 2)) blocks.push_back(o.block);
  return blocks;
}

TEST(TimeBlocksTest, ABlockEndsWhenItHasItsBaselines) {
  EXPECT_THAT(
      Blocks({At(1, 1, 0), At(1, 2, 0.5), At(1, 3, 0), At(1, 4, 0.5), At(1, 5, 0), At(1, 6, 0)}),
      ElementsAre(0, 0, 0, 1, 1, 1));
}

TEST(TimeBlocksTest, TheRestOfASessionJoinsTheBlockBefore) {
  EXPECT_THAT(Blocks({At(1, 1, 0), At(1, 2, 0), At(1, 3, 0.5), At(1, 4, 0)}),
              ElementsAre(0, 0, 0, 0));
}

TEST(TimeBlocksTest, SessionsAreNeverInOneBlock) {
  EXPECT_THAT(Blocks({At(1, 1, 0), At(1, 2, 0.5), At(2, 1, 0), At(2, 2, 0.5)}),
              ElementsAre(0, 0, 1, 1));
}

TimedObservation OfSeries(uint64_t series, uint64_t sequence, double speedup) {
  TimedObservation one = At(sequence, 1, speedup);
  one.series = series;
  one.sequence_start_ns = 100 * sequence;
  return one;
}

TEST(TimeBlocksTest, ShortSequencesOfASeriesAreOneBlock) {
  EXPECT_THAT(Blocks({OfSeries(1, 3, 0.5), OfSeries(1, 1, 0), OfSeries(1, 2, 0.5),
                      OfSeries(1, 3, 0), OfSeries(1, 4, 0), OfSeries(1, 5, 0)}),
              ElementsAre(0, 0, 0, 0, 1, 1));
}

TEST(TimeBlocksTest, SeriesAreNeverInOneBlock) {
  EXPECT_THAT(Blocks({OfSeries(1, 1, 0), OfSeries(2, 2, 0), OfSeries(1, 3, 0.5)}),
              ElementsAre(0, 0, 1));
}

TEST(TimeBlocksTest, ShortSequencesThatAreLeftOverJoinTheBlockBefore) {
  EXPECT_THAT(Blocks({OfSeries(1, 1, 0), OfSeries(1, 2, 0), OfSeries(1, 3, 0.5), At(9, 1, 0)}),
              ElementsAre(0, 1, 1, 1));
}

TEST(TimeBlocksTest, ALongSequenceOfASeriesHasItsOwnBlocks) {
  EXPECT_THAT(Blocks({OfSeries(1, 1, 0), OfSeries(1, 2, 0), OfSeries(1, 2, 0), OfSeries(1, 2, 0.5),
                      OfSeries(1, 3, 0.5), OfSeries(1, 4, 0)}),
              ElementsAre(0, 1, 1, 1, 0, 0));
}

TEST(TimeBlocksTest, OrderIsThatOfTimeWhateverTheInput) {
  const std::vector<RateObservation> ordered =
      InBlocks({At(2, 5, 0.1), At(1, 9, 0.2), At(1, 3, 0.3)});
  EXPECT_EQ(ordered[0].virtual_speedup, 0.3);
  EXPECT_EQ(ordered[1].virtual_speedup, 0.2);
  EXPECT_EQ(ordered[2].virtual_speedup, 0.1);
  EXPECT_NE(ordered[1].block, ordered[2].block);
}

TEST(TimeBlocksTest, BaselinesOfOtherLinesCountByTheirWeight) {
  EXPECT_THAT(
      Blocks({At(1, 1, 0, 0.5), At(1, 2, 0, 0.5), At(1, 3, 0, 2), At(1, 4, 0), At(1, 5, 0)}),
      ElementsAre(0, 0, 0, 1, 1));
  EXPECT_TRUE(Blocks({}).empty());
}

}  // namespace
}  // namespace coz::report
