#include "coz/shared/jit_code.h"

#include <memory>
#include <thread>
#include <vector>

#include "coz/shared/selection.h"
#include "gtest/gtest.h"

namespace coz::shared {
namespace {

struct Code {
  uint64_t start;
  uint64_t end;
  uint32_t unit;
};

void Publish(JitCode& code, uint64_t owner, const std::vector<Code>& ranges) {
  PublishJitCode(code, owner, [&ranges](auto add) {
    for (const Code& range : ranges) add(range.start, range.end, range.unit);
  });
}

TEST(JitCodeTest, AddressHasTheUnitOfItsRange) {
  const auto code = std::make_unique<JitCode>();
  const uint64_t owner = JitOwner(7, 1);
  uint32_t unit = 0;
  EXPECT_FALSE(FindJitUnit(*code, owner, 10, &unit));
  Publish(*code, owner, {{10, 20, 1}, {20, 30, kNoUnit}, {40, 41, 3}});
  const auto unit_at = [&](uint64_t address) {
    uint32_t found = 100;
    return FindJitUnit(*code, owner, address, &found) ? found : 100;
  };
  EXPECT_EQ(unit_at(9), 100u);
  EXPECT_EQ(unit_at(10), 1u);
  EXPECT_EQ(unit_at(19), 1u);
  EXPECT_EQ(unit_at(20), kNoUnit);
  EXPECT_EQ(unit_at(30), 100u);
  EXPECT_EQ(unit_at(40), 3u);
  EXPECT_EQ(unit_at(41), 100u);
  EXPECT_EQ(unit_at(~uint64_t{0}), 100u);
}

TEST(JitCodeTest, TableIsOfOneProgramOfOneProcess) {
  const auto code = std::make_unique<JitCode>();
  Publish(*code, JitOwner(7, 1), {{10, 20, 1}});
  uint32_t unit = 0;
  EXPECT_TRUE(FindJitUnit(*code, JitOwner(7, 1), 10, &unit));
  EXPECT_FALSE(FindJitUnit(*code, JitOwner(7, 2), 10, &unit));
  EXPECT_FALSE(FindJitUnit(*code, JitOwner(8, 1), 10, &unit));
}

// All ranges of one version have one unit and lie at a place of their own.
TEST(JitCodeTest, ReaderSeesOneVersionWhileOthersAreWritten) {
  const auto code = std::make_unique<JitCode>();
  const uint64_t owner = JitOwner(7, 1);
  constexpr uint32_t kVersions = 3000;
  constexpr uint64_t kRanges = 100;
  constexpr uint64_t kBytes = 16;
  const auto place_of = [](uint32_t version) { return version % 5 * kBytes * kRanges; };
  std::atomic<bool> done{false};
  std::thread writer([&] {
    for (uint32_t version = 0; version < kVersions; ++version) {
      PublishJitCode(*code, owner, [&](auto add) {
        for (uint64_t i = 0; i < kRanges; ++i) {
          const uint64_t start = place_of(version) + i * kBytes;
          add(start, start + kBytes, version);
        }
      });
    }
    done.store(true);
  });
  bool is_last = false;
  while (!is_last) {
    is_last = done.load();
    for (uint64_t place = 0; place < 5; ++place) {
      for (uint64_t i = 0; i < kRanges; ++i) {
        const uint64_t address = place * kBytes * kRanges + i * kBytes + 3;
        constexpr uint32_t kUntouched = 5 * kVersions;
        uint32_t unit = kUntouched;
        const bool is_found = FindJitUnit(*code, owner, address, &unit);
        EXPECT_EQ(unit % 5, is_found ? place : 0);
        EXPECT_EQ(unit == kUntouched, !is_found);
      }
    }
  }
  writer.join();
  uint32_t unit = 0;
  EXPECT_TRUE(FindJitUnit(*code, owner, place_of(kVersions - 1), &unit));
  EXPECT_EQ(unit, kVersions - 1);
}

TEST(JitCodeTest, CountThatTheProgramHasDamagedIsNoTable) {
  const auto code = std::make_unique<JitCode>();
  Publish(*code, 1, {{10, 20, 1}});
  code->tables[1].count.store(~uint32_t{0});
  uint32_t unit = 0;
  EXPECT_FALSE(FindJitUnit(*code, 1, 10, &unit));
}

}  // namespace
}  // namespace coz::shared
