#include "coz/sampler/unwind/go_functions.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <vector>

#include "coz/sampler/unwind/testing/go_table.h"

namespace coz::sampler {
namespace {

using testing::GoVersion;
using testing::kGoVersions;
using testing::MakeGoTable;

constexpr uint64_t kText = 0x401000;

// Of a size of its own on the heap, so that the address sanitizer sees each byte beyond it.
class Table {
 public:
  explicit Table(const std::vector<uint8_t>& bytes)
      : bytes_(new uint8_t[bytes.size()]), size_(bytes.size()) {
    std::copy(bytes.begin(), bytes.end(), bytes_.get());
  }

  FindResult Find(uint64_t address, FrameRules* rules) const {
    return GoFunctions(bytes_.get(), bytes_.get() + size_).FindRules(address, rules);
  }

 private:
  std::unique_ptr<uint8_t[]> bytes_;
  const size_t size_;
};

std::vector<uint8_t> Bytes(const GoVersion& version) {
  return MakeGoTable(version, kText,
                     {{kText, {{0, 4}, {0x18, 12}, {0, 16}}},
                      {kText + 0x20, {{0, 300}}},
                      {kText + 0x200, {{0, 1}, {0x12340, 0xff}}},
                      {kText + 0x300, {{0, 0x100}}, /*flags=*/1},
                      {kText + 0x400, {{0, 0x100}}, /*flags=*/6}},
                     kText + 0x500);
}

class GoFunctionsTest : public ::testing::TestWithParam<GoVersion> {};

INSTANTIATE_TEST_SUITE_P(Versions, GoFunctionsTest, ::testing::ValuesIn(kGoVersions));

TEST_P(GoFunctionsTest, CallerLiesWhereTheDepthOfTheStackSays) {
  const Table table(Bytes(GetParam()));
  struct Case {
    uint64_t offset;
    int32_t cfa;
  };
  for (const Case& at : {Case{0, 8}, Case{3, 8}, Case{4, 0x20}, Case{15, 0x20}, Case{16, 8},
                         Case{0x1f, 8}, Case{0x20, 8}, Case{0x20 + 299, 8}, Case{0x200, 8},
                         Case{0x201, 0x12348}, Case{0x2ff, 0x12348}}) {
    FrameRules rules;
    ASSERT_EQ(table.Find(kText + at.offset, &rules), FindResult::kFound) << at.offset;
    EXPECT_EQ(rules.cfa_register, kRsp);
    EXPECT_EQ(rules.cfa_value, at.cfa) << at.offset;
    EXPECT_EQ(rules.registers.kind[kReturnAddress], RuleKind::kAtCfaPlus);
    EXPECT_EQ(rules.registers.value[kReturnAddress], -8);
  }
}

TEST_P(GoFunctionsTest, FunctionThatBeginsOrChangesStacksHasNoCaller) {
  const Table table(Bytes(GetParam()));
  for (const uint64_t offset : {0x300, 0x480}) {
    FrameRules rules;
    ASSERT_EQ(table.Find(kText + offset, &rules), FindResult::kFound);
    EXPECT_EQ(rules.registers.kind[kReturnAddress], RuleKind::kUndefined);
  }
}

TEST_P(GoFunctionsTest, AddressesOutsideHaveNoRules) {
  const Table table(Bytes(GetParam()));
  FrameRules rules;
  EXPECT_EQ(table.Find(kText - 1, &rules), FindResult::kNone);
  EXPECT_EQ(table.Find(kText + 0x500, &rules), FindResult::kNone);
  EXPECT_EQ(table.Find(0, &rules), FindResult::kNone);
  EXPECT_EQ(table.Find(~uint64_t{0}, &rules), FindResult::kNone);
  // Bytes between two functions.
  EXPECT_EQ(table.Find(kText + 0x20 + 300, &rules), FindResult::kMalformed);
}

TEST_P(GoFunctionsTest, UnknownVersionHasNoFunctions) {
  std::vector<uint8_t> bytes = Bytes(GetParam());
  bytes[0] = 0xf7;
  FrameRules rules;
  EXPECT_EQ(Table(bytes).Find(kText, &rules), FindResult::kNone);
  EXPECT_EQ(Table({}).Find(kText, &rules), FindResult::kNone);
}

TEST_P(GoFunctionsTest, DamageIsNeverFollowedOutOfTheTable) {
  const std::vector<uint8_t> whole = Bytes(GetParam());
  FrameRules rules;
  for (size_t size = 0; size < whole.size(); ++size) {
    const Table cut(std::vector<uint8_t>(whole.begin(), whole.begin() + static_cast<int>(size)));
    for (uint64_t offset = 0; offset < 0x500; offset += 0x40) cut.Find(kText + offset, &rules);
  }
  std::mt19937 random(1);
  for (int i = 0; i < 20'000; ++i) {
    std::vector<uint8_t> bytes = whole;
    for (int j = 0; j < 3; ++j) bytes[random() % bytes.size()] = static_cast<uint8_t>(random());
    Table(bytes).Find(kText + random() % 0x500, &rules);
  }
}

}  // namespace
}  // namespace coz::sampler
