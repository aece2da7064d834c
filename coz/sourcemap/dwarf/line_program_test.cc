#include "coz/sourcemap/dwarf/line_program.h"

#include <dwarf.h>

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace coz::sourcemap {
namespace {

TEST(CleanPathTest, RelativePathsAreJoinedAndDotsResolved) {
  EXPECT_EQ(CleanPath("/src", "a.cc"), "/src/a.cc");
  EXPECT_EQ(CleanPath("/src", "/usr/a.h"), "/usr/a.h");
  EXPECT_EQ(CleanPath("/src/build", "../lib/./a.cc"), "/src/lib/a.cc");
  EXPECT_EQ(CleanPath("/src//x/", ".//a.cc"), "/src/x/a.cc");
  EXPECT_EQ(CleanPath("/", "../../a.cc"), "/a.cc");
  EXPECT_EQ(CleanPath("", "a/../b.cc"), "b.cc");
  EXPECT_EQ(CleanPath("", "../../a/../b.cc"), "../../b.cc");
  EXPECT_EQ(CleanPath("../x", "../../b.cc"), "../../b.cc");
  EXPECT_EQ(CleanPath("", ""), "");
}

std::string Little(uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i));
  return text;
}

std::string Text(const char* text) { return std::string(text) + '\0'; }

// Line range 14 from -5, first special opcode 13, as GCC has it.
std::string Opcodes() {
  const std::string set_address = std::string("\0\x09\x02", 3) + Little(0x1000, 8);
  const std::string advance_line_9 = "\x03\x09";
  const std::string copy = "\x01";
  // Special opcode: address + 1, line + 1.
  const char special = static_cast<char>(13 + 14 * 1 + 6);
  const std::string set_file_2 = "\x04\x02";
  const std::string advance_pc_4 = "\x02\x04";
  const std::string end_sequence("\0\x01\x01", 3);
  return set_address + advance_line_9 + copy + special + set_file_2 + special + advance_pc_4 +
         end_sequence;
}

std::string WholeUnit(int version, const std::string& tables, const std::string& opcodes) {
  std::string header = Little(1, 1);         // minimum instruction length
  if (version >= 4) header += Little(1, 1);  // operations per instruction
  header += Little(1, 1) + "\xfb" + Little(14, 1) + Little(13, 1);
  header += std::string("\0\1\1\1\1\0\0\0\1\0\0\1", 12) + tables;
  std::string unit = Little(static_cast<uint64_t>(version), 2);
  if (version >= 5) unit += Little(8, 1) + Little(0, 1);
  unit += Little(header.size(), 4) + header + opcodes;
  return Little(unit.size(), 4) + unit;
}

std::string Version4() {
  return WholeUnit(4,
                   Text("include") + Text("/usr/include") + std::string(1, '\0') +  //
                       Text("a.cc") + std::string("\0\0\0", 3) +                    //
                       Text("b.h") + std::string("\1\0\0", 3) +                     //
                       Text("c.h") + std::string("\2\0\0", 3) + std::string(1, '\0'),
                   Opcodes());
}

std::string Version5() {
  // Folders as inline strings; files as inline string and index in one byte.
  return WholeUnit(5,
                   std::string("\1\1\x08\2", 4) + Text("/build") + Text("include") +
                       std::string("\2\1\x08\2\x0b\3", 6) +   //
                       Text("a.cc") + std::string("\0", 1) +  //
                       Text("a.cc") + std::string("\0", 1) +  //
                       Text("b.h") + std::string("\1", 1),
                   Opcodes());
}

std::string RowsOf(const std::string& section, const std::string& folder) {
  LineProgram program;
  if (!program.ReadHeader({section, "", ""}, 0, folder)) return "bad header";
  std::vector<LineRow> rows;
  if (!program.ReadRows(&rows)) return "bad rows";
  std::string text;
  for (const LineRow& row : rows) {
    text += std::to_string(row.address);
    if (row.end_sequence) {
      text += " end";
    } else {
      text += " " + (row.file < program.files().size() ? program.files()[row.file] : "?") + ":" +
              std::to_string(row.line) + ", ";
    }
  }
  return text;
}

TEST(LineProgramTest, Version4CountsFilesFromOne) {
  EXPECT_EQ(RowsOf(Version4(), "/build"),
            "4096 /build/a.cc:10, 4097 /build/a.cc:11, 4098 /build/include/b.h:12, 4102 end");
}

TEST(LineProgramTest, Version5CountsFilesFromZero) {
  EXPECT_EQ(RowsOf(Version5(), "/ignored"),
            "4096 /build/a.cc:10, 4097 /build/a.cc:11, 4098 /build/include/b.h:12, 4102 end");
}

TEST(LineProgramTest, UnknownVersionsAreRefused) {
  for (int version : {0, 1, 6}) {
    EXPECT_EQ(RowsOf(WholeUnit(version, "", ""), "/"), "bad header");
  }
}

// Under asan this also shows that no byte outside is read.
TEST(LineProgramTest, DamagedProgramsEnd) {
  for (const std::string& whole : {Version4(), Version5()}) {
    for (size_t size = 0; size < whole.size(); ++size) {
      EXPECT_EQ(RowsOf(whole.substr(0, size), "/").substr(0, 3), "bad");
    }
    for (size_t i = 0; i < whole.size(); ++i) {
      for (int value : {0, 1, 0x7f, 0x80, 0xff}) {
        std::string damaged = whole;
        damaged[i] = static_cast<char>(value);
        RowsOf(damaged, "/");
      }
    }
  }
}

}  // namespace
}  // namespace coz::sourcemap
