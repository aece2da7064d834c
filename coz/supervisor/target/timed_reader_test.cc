#include "coz/supervisor/target/timed_reader.h"

#include "gtest/gtest.h"

namespace coz::supervisor {
namespace {

class TimedReaderTest : public ::testing::Test {
 protected:
  TimedReaderTest() {
    cell_.visits = 3;
    cell_.time_sum_ns = 50;
  }

  shared::TimedCell cell_ = {};
  TimedReader reader_;
};

TEST_F(TimedReaderTest, AddsUpWhatNobodyIsWriting) {
  reader_.Add(cell_);
  reader_.Add(cell_);
  EXPECT_EQ(reader_.visits(), 6u);
  EXPECT_EQ(reader_.time_sum_ns(), 100u);
  EXPECT_EQ(reader_.failures(), 0);
}

// Of a thread that is stopped between its two stores.
TEST_F(TimedReaderTest, ACellThatStaysInWritingIsReadAsItIs) {
  cell_.changes = 1;
  reader_.Add(cell_);
  EXPECT_EQ(reader_.visits(), 3u);
  EXPECT_EQ(reader_.time_sum_ns(), 50u);
  EXPECT_EQ(reader_.failures(), TimedReader::kMostFailuresOfCell);
}

// A hostile program may have thousands of threads.
TEST_F(TimedReaderTest, AllCellsTogetherHaveSoManyTries) {
  constexpr int kCells = 4096;
  constexpr int kFull = TimedReader::kMostFailures / TimedReader::kMostFailuresOfCell;
  cell_.changes = 1;
  for (int i = 0; i < kCells; ++i) reader_.Add(cell_);
  EXPECT_EQ(reader_.failures(), TimedReader::kMostFailures + kCells - kFull);
  EXPECT_EQ(reader_.visits(), 3u * kCells);
}

}  // namespace
}  // namespace coz::supervisor
