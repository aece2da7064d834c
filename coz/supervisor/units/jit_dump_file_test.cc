#include "coz/supervisor/units/jit_dump_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "coz/shared/control_block.h"
#include "coz/shared/jit_code.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace coz::supervisor {
namespace {

using ::testing::HasSubstr;

template <typename... Values>
std::string Packed(Values... values) {
  std::string bytes;
  (bytes.append(reinterpret_cast<const char*>(&values), sizeof(values)), ...);
  return bytes;
}

const std::string kHead = Packed(uint32_t{0x4a695444}, uint32_t{1}, uint32_t{40}, uint32_t{62},
                                 uint32_t{0}, uint32_t{7}, uint64_t{1}, uint64_t{0});

std::string Record(uint32_t kind, const std::string& body) {
  return Packed(kind, static_cast<uint32_t>(16 + body.size()), uint64_t{5}) + body;
}

std::string Load(uint64_t start, uint64_t size, const std::string& name) {
  return Record(0, Packed(uint32_t{7}, uint32_t{7}, start, start, size, uint64_t{1}) + name +
                       std::string(1, '\0') + std::string(size, 'c'));
}

std::string Move(uint64_t from, uint64_t to, uint64_t size) {
  return Record(1, Packed(uint32_t{7}, uint32_t{7}, to, from, to, size, uint64_t{1}));
}

// Line 1 begins at `start`, and each next one 4 bytes behind.
std::string Lines(uint64_t start, uint32_t count, const std::string& file) {
  std::string body = Packed(start, uint64_t{count});
  for (uint32_t i = 0; i < count; ++i) {
    body += Packed(start + 4 * i, i + 1, uint32_t{0}) + file + std::string(1, '\0');
  }
  return Record(2, body);
}

// The process of the tests has mapped the file.
class JitDumpFileTest : public ::testing::Test {
 protected:
  JitDumpFileTest() : JitDumpFileTest(sourcemap::UnitKind::kFunction) {}
  explicit JitDumpFileTest(sourcemap::UnitKind kind)
      : units_(sourcemap::BinaryScope({"JIT"}), {}, RulesOf(kind)) {
    char name[] = "/tmp/coz_jit_dump_XXXXXX";
    folder_ = mkdtemp(name);
    path_ = absl::StrCat(folder_, "/jit-", getpid(), ".dump");
  }
  ~JitDumpFileTest() override {
    if (marker_ != MAP_FAILED) munmap(marker_, 1);
    unlink(path_.c_str());
    rmdir(folder_.c_str());
  }

  static sourcemap::UnitRules RulesOf(sourcemap::UnitKind kind) {
    sourcemap::UnitRules rules;
    rules.kind = kind;
    return rules;
  }

  void Append(const std::string& bytes) {
    std::ofstream(path_, std::ios::app | std::ios::binary) << bytes;
    if (marker_ != MAP_FAILED) return;
    const int fd = open(path_.c_str(), O_RDONLY | O_CLOEXEC);
    marker_ = mmap(nullptr, 1, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
    ASSERT_NE(marker_, MAP_FAILED);
    close(fd);
  }
  bool Read() {
    if (!dump_.is_found()) dump_.Find(getpid());
    return dump_.is_found() && dump_.Read(getpid(), &units_, &ranges_);
  }
  std::string At(uint64_t address) const {
    auto next = ranges_.ranges().upper_bound(address);
    if (next == ranges_.ranges().begin() || (--next)->second.end <= address) return "unknown";
    const uint32_t unit = next->second.unit;
    return unit == shared::kNoUnit ? "out of scope" : units_.Describe(unit).what.Name();
  }

  UnitIndex units_;
  std::string folder_;
  std::string path_;
  void* marker_ = MAP_FAILED;
  JitDumpFile dump_;
  sourcemap::CodeRanges ranges_{shared::kMaxJitRanges};
};

class JitDumpLinesTest : public JitDumpFileTest {
 protected:
  JitDumpLinesTest() : JitDumpFileTest(sourcemap::UnitKind::kLine) {}
};

TEST(JitDumpInTest, FileThatIsMappedForExecutionIsIt) {
  EXPECT_EQ(JitDumpIn("7f00-7f01 r-xp 00000000 08:01 12  /usr/lib/libjit-1.dump.so\n"
                      "7f00-7f01 r--p 00000000 08:01 12  /a/jit-1.dump\n"
                      "7f02-7f03 r-xp 00000000 08:01 13  /a b/jit-23.dump\n"),
            "/a b/jit-23.dump");
  EXPECT_EQ(JitDumpIn("7f00-7f01 r-xp 00000000 08:01 12 /a/jit-x.dump\n"
                      "7f00-7f01 r-xp 00000000 08:01 12 /a/jit-.dump"),
            "");
  EXPECT_EQ(JitDumpIn(""), "");
}

TEST_F(JitDumpFileTest, FunctionsAreUnitsAsTheFileGrows) {
  EXPECT_FALSE(Read()) << "it has mapped none";
  const std::string second = Load(0x200, 16, "JS:*warm /a.js:2:1");
  Append(kHead + Load(0x100, 16, "JS:^hot /a.js:1:1") + second.substr(0, 20));
  EXPECT_TRUE(Read());
  EXPECT_EQ(At(0x10f), "hot");
  EXPECT_EQ(At(0x200), "unknown");
  EXPECT_FALSE(Read()) << "nothing is new";
  Append(second.substr(20) + Load(0x108, 8, "JS:*hot /a.js:1:1") + Move(0x104, 0x300, 8));
  EXPECT_TRUE(Read());
  EXPECT_EQ(At(0x200), "warm");
  EXPECT_EQ(At(0x300), "hot");
  EXPECT_EQ(At(0x307), "hot");
  EXPECT_EQ(At(0x308), "unknown");
  EXPECT_THAT(units_.Find("hot"), ::testing::SizeIs(1));
  EXPECT_EQ(dump_.problem(), "");
}

TEST_F(JitDumpLinesTest, LinesAreUnitsWhereTheyAreKnownAndElseFunctions) {
  Append(kHead + Lines(0x100, 3, "/app/a.js") + Load(0x100, 16, "f") +
         Load(0x200, 16, "JS:*g /app/a.js:9:1"));
  EXPECT_TRUE(Read());
  EXPECT_EQ(At(0x100), "/app/a.js:1");
  EXPECT_EQ(At(0x107), "/app/a.js:2");
  EXPECT_EQ(At(0x10f), "/app/a.js:3");
  EXPECT_EQ(At(0x200), "g");
  EXPECT_THAT(units_.Find("a.js:2"), ::testing::SizeIs(1));
}

// Node writes such names, and addresses that are 64 bytes too high.
TEST_F(JitDumpLinesTest, NameThatIsNoneIsTheFileOfTheFunction) {
  std::string lines = Lines(0x140, 3, "\x0b\xae\x02");
  const uint64_t start = 0x100;
  lines.replace(16, sizeof(start), Packed(start));
  Append(kHead + lines + Load(0x100, 16, "JS:*f /app/a.js:7:15"));
  EXPECT_TRUE(Read());
  EXPECT_EQ(At(0x100), "/app/a.js:1");
  EXPECT_EQ(At(0x104), "/app/a.js:2");
}

TEST_F(JitDumpFileTest, FunctionWhoseNameHasNoFileHasThatOfItsLines) {
  Append(kHead + Lines(0x100, 3, "Sum.java") + Load(0x100, 16, "Sum.of"));
  EXPECT_TRUE(Read());
  EXPECT_EQ(At(0x10f), "Sum.of");
  EXPECT_EQ(units_.Describe(units_.Find("Sum.of").front()).what.file, "Sum.java");
}

TEST_F(JitDumpFileTest, FileThatIsCutOffIsReadAnew) {
  Append(kHead + Load(0x100, 16, "f") + Load(0x200, 16, "g"));
  EXPECT_TRUE(Read());
  ASSERT_EQ(truncate(path_.c_str(), 0), 0);
  Append(kHead + Load(0x300, 16, "h"));
  EXPECT_TRUE(Read());
  EXPECT_EQ(At(0x100), "unknown");
  EXPECT_EQ(At(0x300), "h");
}

TEST_F(JitDumpFileTest, WhatIsNoJitDumpIsNamedAndLeftAlone) {
  Append("this is text, and no head of a jitdump at all, as there is");
  EXPECT_FALSE(Read());
  EXPECT_THAT(dump_.problem(), HasSubstr("is no jitdump from byte 0 on"));
  Append(kHead + Load(0x100, 16, "f"));
  EXPECT_FALSE(Read());
}

TEST_F(JitDumpFileTest, WhatIsNoFileIsNotRead) {
  Append(kHead);
  EXPECT_FALSE(Read());
  unlink(path_.c_str());
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  EXPECT_FALSE(Read());
  EXPECT_THAT(dump_.problem(), HasSubstr("is no file of the process's user"));
}

TEST_F(JitDumpFileTest, ThereIsRoomForSoManyPlaces) {
  std::string bytes = kHead;
  for (uint32_t i = 0; i < shared::kMaxJitRanges + 10; ++i) bytes += Load(16 * (i + 1), 1, "f");
  Append(bytes);
  for (int i = 0; i < 10; ++i) Read();
  EXPECT_EQ(At(16), "f");
  EXPECT_THAT(dump_.problem(), HasSubstr("more code than coz has room for"));
}

}  // namespace
}  // namespace coz::supervisor
