#include "coz/shared/sample_ring.h"

#include <memory>
#include <vector>

#include "gtest/gtest.h"

namespace coz::shared {
namespace {

constexpr uint64_t kSecond = 1'000'000'000;

class SampleRingTest : public ::testing::Test {
 protected:
  // The units of all samples that the reader finds now.
  std::vector<uint32_t> Read(uint64_t now_ns = kSecond) {
    std::vector<uint32_t> units;
    reader_.Drain(now_ns, [&units](const RingSample& sample) { units.push_back(sample.unit); });
    return units;
  }
  // Takes a place as a writer does that has not stored its sample yet.
  uint64_t TakePlace() { return ring_->next++; }
  void Store(uint64_t index, uint32_t unit) {
    ring_->entries[index % kSampleRingEntries] = EncodeSample(index, unit, 1);
  }

  std::unique_ptr<SampleRing> ring_ = std::make_unique<SampleRing>();
  SampleRingReader reader_{ring_.get()};
};

TEST_F(SampleRingTest, SampleComesBackAsItWasEncoded) {
  for (const uint64_t index : {uint64_t{0}, uint64_t{kSampleRingEntries - 1},
                               uint64_t{kSampleRingEntries}, uint64_t{1} << 39}) {
    for (const uint32_t unit : {0u, 1u, 0xfffffffeu}) {
      for (const uint64_t weight : {0u, 1u, 255u}) {
        RingSample sample;
        ASSERT_EQ(DecodeSample(index, EncodeSample(index, unit, weight), &sample),
                  RingEntry::kThisLap);
        EXPECT_EQ(sample.unit, unit);
        EXPECT_EQ(sample.weight, weight);
      }
    }
  }
}

TEST_F(SampleRingTest, WeightAbove255IsStoredAs255) {
  for (const uint64_t weight : {uint64_t{256}, uint64_t{1} << 40, ~uint64_t{0}}) {
    RingSample sample;
    ASSERT_EQ(DecodeSample(0, EncodeSample(0, 7, weight), &sample), RingEntry::kThisLap);
    EXPECT_EQ(sample.unit, 7u);
    EXPECT_EQ(sample.weight, 255u);
  }
}

TEST_F(SampleRingTest, EntriesOfOtherLapsAreNotThisLaps) {
  RingSample sample;
  EXPECT_EQ(DecodeSample(0, 0, &sample), RingEntry::kOlder) << "never written";
  const uint64_t entry = EncodeSample(kSampleRingEntries + 5, 1, 1);
  EXPECT_EQ(DecodeSample(5, entry, &sample), RingEntry::kNewer);
  EXPECT_EQ(DecodeSample(2 * kSampleRingEntries + 5, entry, &sample), RingEntry::kOlder);
  // The lap has 24 bits, and goes on at 0.
  const uint64_t last_lap = ((uint64_t{1} << 24) - 2) * kSampleRingEntries;
  const uint64_t last = EncodeSample(last_lap, 1, 1);
  EXPECT_EQ(DecodeSample(last_lap + kSampleRingEntries, last, &sample), RingEntry::kOlder);
  const uint64_t first = EncodeSample(last_lap + kSampleRingEntries, 1, 1);
  EXPECT_EQ(DecodeSample(last_lap, first, &sample), RingEntry::kNewer);
}

TEST_F(SampleRingTest, SamplesAreReadOnceAndInOrder) {
  for (uint32_t unit = 0; unit < 5; ++unit) PushSample(*ring_, unit, 1);
  EXPECT_EQ(Read(), (std::vector<uint32_t>{0, 1, 2, 3, 4}));
  EXPECT_EQ(Read(), std::vector<uint32_t>());
  EXPECT_EQ(reader_.lost(), 0u);
}

TEST_F(SampleRingTest, NothingIsLostWhereTheReaderKeepsUpOverManyLaps) {
  uint32_t next = 0;
  for (int round = 0; round < 7; ++round) {
    const uint32_t first = next;
    for (uint32_t i = 0; i < kSampleRingEntries - round; ++i) PushSample(*ring_, next++, 1);
    const std::vector<uint32_t> units = Read();
    ASSERT_EQ(units.size(), kSampleRingEntries - round);
    EXPECT_EQ(units.front(), first);
    EXPECT_EQ(units.back(), next - 1);
  }
  EXPECT_EQ(reader_.lost(), 0u);
}

TEST_F(SampleRingTest, OverwrittenSamplesAreCounted) {
  for (uint32_t unit = 0; unit < kSampleRingEntries + 10; ++unit) PushSample(*ring_, unit, 1);
  const std::vector<uint32_t> units = Read();
  ASSERT_EQ(units.size(), kSampleRingEntries);
  EXPECT_EQ(units.front(), 10u);
  EXPECT_EQ(reader_.lost(), 10u);
}

TEST_F(SampleRingTest, SampleThatIsOverwrittenWhileOthersAreReadIsLostAtOnce) {
  for (uint32_t unit = 0; unit < 3; ++unit) PushSample(*ring_, unit, 1);
  // A writer of the next lap stores its sample after the reader has looked at `next`.
  ring_->entries[1] = EncodeSample(kSampleRingEntries + 1, 77, 1);
  EXPECT_EQ(Read(), (std::vector<uint32_t>{0, 2}));
  EXPECT_EQ(reader_.lost(), 1u);
}

TEST_F(SampleRingTest, SampleThatIsBeingWrittenIsAwaited) {
  const uint64_t place = TakePlace();
  EXPECT_EQ(Read(kSecond), std::vector<uint32_t>());
  EXPECT_EQ(Read(100 * kSecond), std::vector<uint32_t>()) << "it holds nothing up";
  Store(place, 3);
  EXPECT_EQ(Read(101 * kSecond), std::vector<uint32_t>{3});
  EXPECT_EQ(reader_.lost(), 0u);
}

TEST_F(SampleRingTest, WriterThatWasKilledHoldsLaterSamplesUpForHalfASecond) {
  TakePlace();
  PushSample(*ring_, 4, 1);
  EXPECT_EQ(Read(kSecond), std::vector<uint32_t>());
  EXPECT_EQ(Read(kSecond + kSecond / 2 - 1), std::vector<uint32_t>());
  EXPECT_EQ(Read(kSecond + kSecond / 2), std::vector<uint32_t>{4});
  EXPECT_EQ(reader_.lost(), 1u);
}

}  // namespace
}  // namespace coz::shared
