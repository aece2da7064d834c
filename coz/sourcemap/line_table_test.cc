#include "coz/sourcemap/line_table.h"

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "coz/sourcemap/line_table_builder.h"
#include "gtest/gtest.h"

namespace coz::sourcemap {
namespace {

constexpr uint64_t kBase = 0x401000;

std::string SampleImage() {
  LineTableBuilder builder;
  builder.set_build_id("0123456789abcdef0123");
  builder.set_scope_fingerprint(42);
  const uint32_t main_cc = builder.AddString("/src/main.cc");
  const uint32_t domain_cc = builder.AddString("/src/domain.cc");
  const uint32_t other_main = builder.AddString("/src/lib/main.cc");
  const uint32_t f = builder.AddString("f(int)");
  const uint32_t g = builder.AddString("g");
  // Out of order on purpose.
  builder.AddInterval(kBase + 0x30, kBase + 0x40, domain_cc, 7, g);
  builder.AddInterval(kBase, kBase + 0x08, main_cc, 7, f);
  builder.AddInterval(kBase + 0x08, kBase + 0x10, main_cc, 7, f);
  builder.AddInterval(kBase + 0x10, kBase + 0x20, main_cc, 8, f);
  builder.AddInterval(kBase + 0x40, kBase + 0x41, other_main, 7, g);
  return builder.Build().value();
}

// Bytes in a block of exactly their size, so that asan sees any access beyond them.
class ExactBytes {
 public:
  explicit ExactBytes(const std::string& bytes)
      : words_(new uint64_t[(bytes.size() + 7) / 8]), size_(bytes.size()) {
    std::memcpy(words_.get(), bytes.data(), bytes.size());
  }
  const void* data() const { return words_.get(); }
  size_t size() const { return size_; }

 private:
  std::unique_ptr<uint64_t[]> words_;
  size_t size_;
};

// Calls everything that the target may call; the result only has to be free of faults.
void UseEveryFunction(const LineTable& table) {
  for (uint64_t address = kBase - 2; address < kBase + 0x50; ++address) {
    const uint32_t index = table.Lookup(address);
    ASSERT_TRUE(index == kNoLine || index < table.line_count());
    const Line line = table.line(index);
    ASSERT_LE(std::strlen(line.file) + std::strlen(line.function), 4096u);
  }
  uint32_t found[2];
  table.FindLines("main.cc:7", found, 2);
  table.Lookup(0);
  table.Lookup(UINT64_MAX);
  table.end_address();
  ASSERT_LE(table.build_id().size(), kMaxBuildIdBytes);
}

TEST(LineTableTest, EveryAddressHasItsLine) {
  const ExactBytes bytes(SampleImage());
  LineTable table;
  ASSERT_TRUE(LineTable::FromBytes(bytes.data(), bytes.size(), &table));
  EXPECT_TRUE(table.VerifyContents());
  EXPECT_EQ(table.line_count(), 4u);
  const auto line_at = [&](uint64_t address) {
    const Line line = table.line(table.Lookup(address));
    return std::string(line.file) + ":" + std::to_string(line.line) + " " + line.function;
  };
  EXPECT_EQ(table.Lookup(kBase - 1), kNoLine);
  for (uint64_t a = kBase; a < kBase + 0x10; ++a) EXPECT_EQ(line_at(a), "/src/main.cc:7 f(int)");
  for (uint64_t a = kBase + 0x10; a < kBase + 0x20; ++a) {
    EXPECT_EQ(line_at(a), "/src/main.cc:8 f(int)");
  }
  for (uint64_t a = kBase + 0x20; a < kBase + 0x30; ++a) EXPECT_EQ(table.Lookup(a), kNoLine);
  EXPECT_EQ(line_at(kBase + 0x30), "/src/domain.cc:7 g");
  EXPECT_EQ(line_at(kBase + 0x40), "/src/lib/main.cc:7 g");
  EXPECT_EQ(table.Lookup(kBase + 0x41), kNoLine);
  EXPECT_EQ(table.Lookup(UINT64_MAX), kNoLine);
  EXPECT_EQ(table.Lookup(0), kNoLine);
  EXPECT_EQ(table.base_address(), kBase);
  EXPECT_EQ(table.end_address(), kBase + 0x41);
}

TEST(LineTableTest, NeighboursOfOneLineAreMerged) {
  const ExactBytes bytes(SampleImage());
  LineTable table;
  ASSERT_TRUE(LineTable::FromBytes(bytes.data(), bytes.size(), &table));
  // main:7, main:8, gap, domain:7, lib/main:7, end.
  EXPECT_EQ(table.interval_count(), 6u);
}

TEST(LineTableTest, HeaderFieldsAreKept) {
  const ExactBytes bytes(SampleImage());
  LineTable table;
  ASSERT_TRUE(LineTable::FromBytes(bytes.data(), bytes.size(), &table));
  EXPECT_EQ(table.build_id(), "0123456789abcdef0123");
  EXPECT_EQ(table.scope_fingerprint(), 42u);
}

TEST(LineTableTest, LinesAreFoundByPathSuffix) {
  const ExactBytes bytes(SampleImage());
  LineTable table;
  ASSERT_TRUE(LineTable::FromBytes(bytes.data(), bytes.size(), &table));
  uint32_t found[4];
  ASSERT_EQ(table.FindLines("domain.cc:7", found, 4), 1u);
  EXPECT_STREQ(table.line(found[0]).file, "/src/domain.cc");
  EXPECT_EQ(table.FindLines("main.cc:7", found, 4), 2u);
  EXPECT_EQ(table.FindLines("main.cc:7", found, 1), 2u);
  EXPECT_EQ(table.FindLines("/src/main.cc:8", found, 4), 1u);
  EXPECT_EQ(table.FindLines("lib/main.cc:7", found, 4), 1u);
  EXPECT_EQ(table.FindLines("ain.cc:8", found, 4), 0u);
  for (const char* wrong : {"", ":", ":7", "main.cc", "main.cc:", "main.cc:x", "main.cc:7x",
                            "main.cc:99999999999999999999"}) {
    EXPECT_EQ(table.FindLines(wrong, found, 4), 0u) << wrong;
  }
}

TEST(LineTableTest, AnEmptyTableHasNoLines) {
  EXPECT_EQ(LineTable().Lookup(1), kNoLine);
  const ExactBytes bytes(LineTableBuilder().Build().value());
  LineTable table;
  ASSERT_TRUE(LineTable::FromBytes(bytes.data(), bytes.size(), &table));
  EXPECT_TRUE(table.VerifyContents());
  EXPECT_EQ(table.Lookup(0), kNoLine);
  EXPECT_EQ(table.line_count(), 0u);
}

TEST(LineTableTest, EveryBitFlipOfTheHeaderIsRefused) {
  const std::string image = SampleImage();
  for (size_t bit = 0; bit < sizeof(LineTableHeader) * 8; ++bit) {
    std::string damaged = image;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    const ExactBytes bytes(damaged);
    LineTable table;
    EXPECT_FALSE(LineTable::FromBytes(bytes.data(), bytes.size(), &table)) << "bit " << bit;
  }
}

// An attacker, or a bug, that also corrects the header's checksum.
TEST(LineTableTest, HostileHeadersNeverLeadOutOfBounds) {
  const std::string image = SampleImage();
  const uint64_t values[] = {0, 1, 7, 8, 135, 136, 1u << 31, UINT32_MAX, 1ull << 62, UINT64_MAX};
  for (size_t offset = 0; offset + 4 <= sizeof(LineTableHeader); offset += 4) {
    for (uint64_t value : values) {
      for (size_t width : {4, 8}) {
        if (offset + width > sizeof(LineTableHeader)) continue;
        LineTableHeader header;
        std::memcpy(&header, image.data(), sizeof(header));
        std::memcpy(reinterpret_cast<char*>(&header) + offset, &value, width);
        header.header_checksum = LineTableHeaderChecksum(header);
        std::string damaged = image;
        std::memcpy(damaged.data(), &header, sizeof(header));
        const ExactBytes bytes(damaged);
        LineTable table;
        if (!LineTable::FromBytes(bytes.data(), bytes.size(), &table)) continue;
        UseEveryFunction(table);
        table.VerifyContents();
      }
    }
  }
}

TEST(LineTableTest, EveryTruncationIsRefused) {
  const std::string image = SampleImage();
  for (size_t size = 0; size < image.size(); ++size) {
    const ExactBytes bytes(image.substr(0, size));
    LineTable table;
    EXPECT_FALSE(LineTable::FromBytes(bytes.data(), bytes.size(), &table)) << size;
  }
}

TEST(LineTableTest, DamagedContentsAreHarmlessAndFailVerification) {
  const std::string image = SampleImage();
  for (size_t i = sizeof(LineTableHeader); i < image.size(); ++i) {
    for (int mask : {1, 0x80, 0xff}) {
      std::string damaged = image;
      damaged[i] = static_cast<char>(damaged[i] ^ mask);
      const ExactBytes bytes(damaged);
      LineTable table;
      if (!LineTable::FromBytes(bytes.data(), bytes.size(), &table)) continue;
      UseEveryFunction(table);
      EXPECT_FALSE(table.VerifyContents()) << "byte " << i;
    }
  }
}

TEST(LineTableTest, MisalignedBytesAreRefused) {
  std::string image = "1234" + SampleImage();
  LineTable table;
  EXPECT_FALSE(LineTable::FromBytes(image.data() + 4, image.size() - 4, &table));
}

TEST(LineTableBuilderTest, ALineOfSeveralFunctionsHasTheNameOfMostOfItsCode) {
  LineTableBuilder builder;
  const uint32_t file = builder.AddString("/a.h");
  const uint32_t small = builder.AddString("f<char>");
  const uint32_t large = builder.AddString("f<int>");
  builder.AddInterval(0x1000, 0x1004, file, 3, small);
  builder.AddInterval(0x2000, 0x2010, file, 3, large);
  builder.AddInterval(0x3000, 0x3004, file, 3, small);
  const ExactBytes bytes(builder.Build().value());
  LineTable table;
  ASSERT_TRUE(LineTable::FromBytes(bytes.data(), bytes.size(), &table));
  ASSERT_EQ(table.line_count(), 1u);
  EXPECT_STREQ(table.line(0).function, "f<int>");
}

TEST(LineTableBuilderTest, OverlappingOrEmptyIntervalsAreRefused) {
  LineTableBuilder overlapping;
  const uint32_t file = overlapping.AddString("/a.h");
  overlapping.AddInterval(0x1000, 0x1010, file, 3, file);
  overlapping.AddInterval(0x100f, 0x1020, file, 4, file);
  EXPECT_EQ(overlapping.Build().status().code(), absl::StatusCode::kInvalidArgument);
  LineTableBuilder empty;
  empty.AddInterval(0x1000, 0x1000, empty.AddString("/a.h"), 3, 0);
  EXPECT_EQ(empty.Build().status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(LineTableBuilderTest, CodeThatSpansFourGigabytesIsRefused) {
  LineTableBuilder builder;
  const uint32_t file = builder.AddString("/a.h");
  builder.AddInterval(0x1000, 0x1010, file, 3, file);
  builder.AddInterval(0x100001000, 0x100001010, file, 4, file);
  EXPECT_EQ(builder.Build().status().code(), absl::StatusCode::kOutOfRange);
}

}  // namespace
}  // namespace coz::sourcemap
