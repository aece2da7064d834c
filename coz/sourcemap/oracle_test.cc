// Compares the line of every address of a program with what another reader says.
#include <cstdlib>
#include <ostream>
#include <string>
#include <vector>

#include "coz/sourcemap/dwarf/debug_file.h"
#include "coz/sourcemap/dwarf_reader.h"
#include "coz/sourcemap/line_table.h"
#include "coz/sourcemap/testing/line_oracle.h"
#include "gtest/gtest.h"

namespace coz::sourcemap {
namespace {

struct Case {
  std::string tool;
  std::string path;
};

// To compare another program by hand:
//   export COZ_ORACLE='llvm-symbolizer-14 --output-style=GNU' COZ_ORACLE_FILE=/some/program
//   bazel-bin/coz/sourcemap/oracle_test
std::vector<Case> Cases() {
  const char* tool = std::getenv("COZ_ORACLE");
  const char* file = std::getenv("COZ_ORACLE_FILE");
  if (file != nullptr) return {{tool == nullptr ? "eu-addr2line" : tool, file}};
  std::vector<Case> cases;
  for (const char* name : {"dwarf5", "no_pie", "sections", "unoptimized"}) {
    cases.push_back({"eu-addr2line", std::string("coz/sourcemap/testdata/") + name + "/fixture"});
  }
  for (const char* name : {"dwarf2", "dwarf3", "dwarf4", "lto"}) {
    cases.push_back({"addr2line", std::string("coz/sourcemap/testdata/") + name + "/fixture"});
  }
  return cases;
}

const OracleFrame* FirstInScope(const std::vector<OracleFrame>& frames, const SourceScope& scope) {
  for (const OracleFrame& frame : frames) {
    if (frame.line != 0 && frame.file != "??" && scope.Contains(frame.file)) return &frame;
  }
  return nullptr;
}

std::string Text(const std::vector<OracleFrame>& frames) {
  std::string text;
  for (const OracleFrame& frame : frames) {
    text += "\n    " + frame.function + " " + frame.file + ":" + std::to_string(frame.line);
  }
  return text;
}

// Line 0 has rules of its own, which the others do not know. Without a function it is the padding
// behind one.
bool IsComparable(const std::vector<OracleFrame>& frames) {
  if (frames.empty() || frames[0].function == "??") return false;
  return frames[0].line != 0 || frames[0].file == "??";
}

class OracleTest : public testing::TestWithParam<Case> {};

void PrintTo(const Case& value, std::ostream* out) { *out << value.tool << " " << value.path; }

TEST_P(OracleTest, EveryAddressHasTheFirstLineInScope) {
  const SourceScope scope;
  const std::string& path = GetParam().path;
  const auto file = DebugFile::Open(path, "");
  ASSERT_TRUE(file.ok()) << file.status();
  std::vector<uint64_t> addresses;
  for (const AddressRange& range : (*file)->code()) {
    for (uint64_t address = range.begin; address < range.end; ++address) {
      addresses.push_back(address);
    }
  }
  const auto answers = AskOracle(GetParam().tool, path, addresses);
  ASSERT_EQ(answers.size(), addresses.size());
  const auto result = ReadLineTable(path, scope);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_TRUE(result->statistics.skipped.empty()) << result->statistics.skipped.front().reason;
  LineTable table;
  ASSERT_TRUE(LineTable::FromBytes(result->image.data(), result->image.size(), &table));

  size_t in_scope = 0;
  size_t more = 0;  // lines that only we found: rule 3 of attribution.h
  size_t wrong = 0;
  for (size_t i = 0; i < addresses.size(); ++i) {
    if (!IsComparable(answers[i])) continue;
    const OracleFrame* expected = FirstInScope(answers[i], scope);
    const Line line = table.line(table.Lookup(addresses[i]));
    in_scope += expected != nullptr;
    if (expected == nullptr) {
      more += line.line != 0;
      continue;
    }
    if (line.file == expected->file && line.line == expected->line) continue;
    ++wrong;
    if (wrong <= 20) {
      ADD_FAILURE() << std::hex << addresses[i] << std::dec << " is " << line.file << ":"
                    << line.line << " " << line.function << "; expected the first in scope of"
                    << Text(answers[i]);
    }
  }
  EXPECT_EQ(wrong, 0u);
  EXPECT_GT(in_scope, 100u);
  EXPECT_LE(more, in_scope / 20);
  std::printf("%zu addresses, %zu in scope, %zu more found, %zu wrong\n", addresses.size(),
              in_scope, more, wrong);
}

INSTANTIATE_TEST_SUITE_P(Fixtures, OracleTest, testing::ValuesIn(Cases()));

}  // namespace
}  // namespace coz::sourcemap
