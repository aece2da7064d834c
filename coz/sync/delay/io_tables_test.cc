#include "coz/sync/delay/io_tables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace coz::delay {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class WatchTest : public ::testing::Test {
 protected:
  void Note(uint64_t key, uint64_t watcher_key) { tables_->WatchAt(key).Note(key, watcher_key); }
  std::vector<uint64_t> WatchersOf(uint64_t key) const {
    std::vector<uint64_t> watchers;
    tables_->WatchAt(key).ForEachWatcher(key, [&](uint64_t one) { watchers.push_back(one); });
    return watchers;
  }

 private:
  const std::unique_ptr<IoTables> tables_ = std::make_unique<IoTables>();
};

TEST_F(WatchTest, WorkersShareASocket) {
  EXPECT_THAT(WatchersOf(3), IsEmpty());
  Note(3, 101);
  Note(3, 103);
  Note(3, 101);
  EXPECT_THAT(WatchersOf(3), ElementsAre(101, 103));
  EXPECT_THAT(WatchersOf(5), IsEmpty());
}

TEST_F(WatchTest, OfManyTheNewestStays) {
  for (uint64_t watcher_key = 101; watcher_key < 151; watcher_key += 2) {
    Note(3, watcher_key);
    EXPECT_THAT(WatchersOf(3), ::testing::Contains(watcher_key));
  }
  EXPECT_EQ(WatchersOf(3).size(), IoTables::Watch::kWatchers);
}

TEST_F(WatchTest, ObjectsOfOnePlaceAreNotMixedUp) {
  const uint64_t other = 3 + 2 * IoTables::kWatches;
  Note(3, 101);
  Note(3, 103);
  Note(other, 105);
  EXPECT_THAT(WatchersOf(other), ElementsAre(105));
  EXPECT_THAT(WatchersOf(3), IsEmpty());
}

}  // namespace
}  // namespace coz::delay
