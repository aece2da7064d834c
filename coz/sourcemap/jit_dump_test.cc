#include "coz/sourcemap/jit_dump.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <tuple>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace coz::sourcemap {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

template <typename... Values>
std::string Packed(Values... values) {
  std::string bytes;
  (bytes.append(reinterpret_cast<const char*>(&values), sizeof(values)), ...);
  return bytes;
}

std::string Head(uint32_t magic = 0x4a695444, uint32_t bytes = 40, uint32_t machine = 62) {
  return Packed(magic, uint32_t{1}, bytes, machine, uint32_t{0}, uint32_t{7}, uint64_t{1},
                uint64_t{0});
}

std::string Record(uint32_t kind, const std::string& body) {
  return Packed(kind, static_cast<uint32_t>(16 + body.size()), uint64_t{5}) + body;
}

std::string Load(uint64_t start, uint64_t size, const std::string& name,
                 const std::string& code = "code") {
  return Record(0, Packed(uint32_t{7}, uint32_t{7}, start, start, size, uint64_t{1}) + name +
                       std::string(1, '\0') + code);
}

std::string Move(uint64_t from, uint64_t to, uint64_t size) {
  return Record(1, Packed(uint32_t{7}, uint32_t{7}, to, from, to, size, uint64_t{1}));
}

struct Entry {
  uint64_t address;
  uint32_t line;
  std::string file;
};

std::string Lines(uint64_t start, const std::vector<Entry>& entries) {
  std::string body = Packed(start, static_cast<uint64_t>(entries.size()));
  for (const Entry& entry : entries) {
    body += Packed(entry.address, entry.line, uint32_t{0}) + entry.file + std::string(1, '\0');
  }
  return Record(2, body);
}

// What a file says, as text, where it is cut into pieces.
std::vector<std::string> Read(const std::string& bytes, size_t piece, bool* is_damaged = nullptr) {
  std::vector<std::string> said;
  JitDumpParser parser;
  const JitDumpParser::Visitor visitor = {
      [&said](const JitDumpParser::Load& load) {
        std::string text = std::to_string(load.start) + "+" + std::to_string(load.size) + " " +
                           std::string(load.name);
        for (const JitLine& line : load.lines) {
          text +=
              " " + std::to_string(line.start) + "=" + line.file + ":" + std::to_string(line.line);
        }
        said.push_back(text);
      },
      [&said](const JitDumpParser::Move& move) {
        said.push_back(std::to_string(move.from) + "+" + std::to_string(move.size) + ">" +
                       std::to_string(move.to));
      }};
  for (size_t at = 0; at < bytes.size(); at += piece) parser.Feed(bytes.substr(at, piece), visitor);
  if (is_damaged != nullptr) *is_damaged = parser.is_damaged();
  return said;
}

const std::string kWhole = Head(0x4a695444, 44) + "more" + Load(100, 10, "f") +
                           Lines(200, {{210, 2, "a.js"}, {200, 1, "a.js"}, {215, 3, "\xff"}}) +
                           Record(4, std::string(30, 'u')) + Load(200, 20, "g") +
                           Move(200, 300, 20) + Record(3, "") + Load(400, 5, "h", "");

TEST(JitDumpParserTest, RecordsAreReadWhereverTheyAreCut) {
  for (const size_t piece : {size_t{1}, size_t{7}, size_t{64}, kWhole.size()}) {
    bool is_damaged = true;
    EXPECT_THAT(Read(kWhole, piece, &is_damaged),
                ElementsAre("100+10 f", "200+20 g 200=a.js:1 210=a.js:2 215=a.js:3", "200+20>300",
                            "400+5 h"));
    EXPECT_FALSE(is_damaged);
  }
}

TEST(JitDumpParserTest, FileThatIsBeingWrittenSaysWhatIsComplete) {
  const size_t at = kWhole.size() - 3;
  EXPECT_THAT(Read(kWhole.substr(0, at), 64), ::testing::SizeIs(3));
}

TEST(JitDumpParserTest, LinesAreOfTheFunctionThatFollowsAlone) {
  EXPECT_THAT(
      Read(Head() + Lines(200, {{200, 1, "a"}}) + Load(100, 10, "f") + Load(200, 20, "g"), 64),
      ElementsAre("100+10 f", "200+20 g"));
  EXPECT_THAT(
      Read(Head() + Lines(200, {{190, 1, "a"}, {205, 2, "a"}, {220, 3, "a"}}) + Load(200, 20, "g"),
           64),
      ElementsAre("200+20 g 205=a:2"));
}

// It puts the beginning of an ELF file before the code.
TEST(JitDumpParserTest, LinesOfV8AreSetRight) {
  EXPECT_THAT(Read(Head() + Lines(1000, {{1064, 1, "a"}, {1070, 2, "a"}}) +
                       Load(1000, 20, "JS:*f /a.js:1:1"),
                   64),
              ElementsAre("1000+20 JS:*f /a.js:1:1 1000=a:1 1006=a:2"));
}

TEST(JitDumpParserTest, FileOfAnotherKindOrMachineIsNotRead) {
  for (const std::string& head :
       {Head(0x4454694a), Head(0x4a695444, 40, 183), Head(0x4a695444, 12), std::string(40, 'x')}) {
    bool is_damaged = false;
    EXPECT_THAT(Read(head + Load(100, 10, "f"), 64, &is_damaged), IsEmpty());
    EXPECT_TRUE(is_damaged);
  }
}

TEST(JitDumpParserTest, RecordsThatCannotBeAreLeftOut) {
  EXPECT_THAT(Read(Head() + Load(100, 0, "f") + Load(~uint64_t{0} - 2, 10, "f") +
                       Load(100, 10, "") + Move(100, ~uint64_t{0} - 2, 10) + Record(0, "short") +
                       Record(1, "") + Record(2, "") + Load(100, 10, "g"),
                   64),
              ElementsAre("100+10 g"));
  bool is_damaged = false;
  EXPECT_THAT(Read(Head() + Packed(uint32_t{0}, uint32_t{3}, uint64_t{0}) + Load(1, 1, "f"), 64,
                   &is_damaged),
              IsEmpty());
  EXPECT_TRUE(is_damaged);
}

TEST(JitDumpParserTest, WhatIsTooLongIsLeftOut) {
  const std::string name(2 * JitDumpParser::kMaxNameBytes, 'n');
  const std::string code(1 << 20, 'c');
  std::vector<Entry> entries(JitDumpParser::kMaxLines + 10, {100, 1, "a"});
  EXPECT_THAT(
      Read(Head() + Load(100, 10, name) + Load(100, 10, "f", code) + Load(100, 10, "g"), 999),
      ElementsAre("100+10 f", "100+10 g"));
  EXPECT_THAT(Read(Head() + Lines(100, entries) + Load(100, 10, "f"), 1 << 16),
              ElementsAre(::testing::StartsWith("100+10 f 100=a:1")));
}

// No bytes make it read past an end or call with what is no range (the sanitizers see the first).
TEST(JitDumpParserTest, DamagedFilesAreSurvived) {
  uint32_t random = 1;
  const auto next = [&random] { return random = random * 1664525 + 1013904223; };
  for (int round = 0; round < 20000; ++round) {
    std::string bytes = kWhole;
    for (int i = 0; i < 4; ++i)
      bytes[(next() >> 8) % bytes.size()] = static_cast<char>(next() >> 24);
    bytes.resize((next() >> 8) % (bytes.size() + 1));
    const size_t piece = 1 + (next() >> 8) % 64;
    JitDumpParser parser;
    const JitDumpParser::Visitor visitor = {
        [](const JitDumpParser::Load& load) {
          ASSERT_GT(load.start + load.size, load.start);
          for (const JitLine& line : load.lines) {
            ASSERT_GE(line.start, load.start);
            ASSERT_LT(line.start, load.start + load.size);
          }
        },
        [](const JitDumpParser::Move& move) { ASSERT_GT(move.to + move.size, move.to); }};
    for (size_t at = 0; at < bytes.size(); at += piece) {
      parser.Feed(bytes.substr(at, piece), visitor);
    }
  }
}

}  // namespace
}  // namespace coz::sourcemap
