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

TEST(CallLatencyReaderTest, AddsUpThreads) {
  shared::CallLatency latency = {};
  latency.calls = 3;
  latency.ticks = 50;
  latency.delay_ns = 7;
  CallLatencyReader reader;
  reader.Add(latency);
  latency.changes = 1;  // of a thread that is stopped between its stores
  reader.Add(latency);
  EXPECT_EQ(reader.calls(), 6u);
  EXPECT_EQ(reader.ticks(), 100u);
  EXPECT_EQ(reader.delay_ns(), 14u);
}

TEST(SteadyReaderTest, ReadsAgainWhereItWasWrittenMeanwhile) {
  std::atomic<uint64_t> changes{2};
  int reads = 0;
  SteadyReader reader;
  reader.Read(changes, [&] {
    if (++reads == 1) changes = 4;
  });
  EXPECT_EQ(reads, 2);
  EXPECT_EQ(reader.failures(), 1);
}

}  // namespace
}  // namespace coz::supervisor
