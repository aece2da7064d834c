#include "coz/sourcemap/unit_table.h"

#include "coz/sourcemap/dwarf_reader.h"
#include "coz/sourcemap/line_table_builder.h"
#include "coz/testing/run_command.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace coz::sourcemap {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Sixteen bytes of code for each line, in the order given, from 0x1000 on.
class UnitTableTest : public ::testing::Test {
 protected:
  UnitTableTest() { builder_.SplitLinesByFunction(); }

  void Code(const std::string& file, uint32_t line, const std::string& function,
            uint64_t bytes = 16) {
    FunctionKey key;
    key.name = function;
    key.file = "/src/decl.h";
    key.line = 7;
    builder_.AddInterval(next_, next_ + bytes, builder_.AddString(file), line,
                         builder_.AddString(key.Text()));
    next_ += bytes;
  }

  DerivedUnits Derive(const UnitRules& rules) {
    if (base_image_.empty()) base_image_ = *builder_.Build();
    LineTable base;
    EXPECT_TRUE(LineTable::FromBytes(base_image_.data(), base_image_.size(), &base));
    absl::StatusOr<DerivedUnits> derived = DeriveUnits(base, "/bin/prog", rules);
    EXPECT_TRUE(derived.ok()) << derived.status();
    derived_ = *std::move(derived);
    EXPECT_TRUE(LineTable::FromBytes(derived_.image.data(), derived_.image.size(), &table_));
    EXPECT_TRUE(table_.VerifyContents());
    EXPECT_EQ(table_.line_count(), derived_.units.size());
    return derived_;
  }

  // The name of the unit at an address, or "".
  std::string At(uint64_t address) const {
    const uint32_t unit = table_.Lookup(address);
    return unit == kNoLine ? "" : derived_.units[unit].Name();
  }

  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const UnitDescription& unit : derived_.units) names.push_back(unit.Name());
    return names;
  }

  LineTableBuilder builder_;
  uint64_t next_ = 0x1000;
  std::string base_image_;
  DerivedUnits derived_;
  LineTable table_;
};

UnitRules Rules(UnitKind kind) {
  UnitRules rules;
  rules.kind = kind;
  return rules;
}

TEST_F(UnitTableTest, FunctionOfASymbolTableIsCalledAsItsSourceHasIt) {
  const auto table = ReadSymbolTable(testing::RunfilePath("coz/points/libversioned.so"));
  ASSERT_TRUE(table.ok()) << table.status();
  base_image_ = table->image;
  Derive(Rules(UnitKind::kFunction));
  EXPECT_THAT(Names(), Contains("versioned_work"));
}

TEST_F(UnitTableTest, FunctionHoldsItsLinesWhereverTheyAreInlined) {
  Code("/src/a.cc", 1, "f()");
  Code("/src/a.cc", 9, "g()");
  Code("/src/a.cc", 2, "f()");
  Derive(Rules(UnitKind::kFunction));
  EXPECT_THAT(Names(), ElementsAre("f()", "g()"));
  EXPECT_EQ(At(0x1000), "f()");
  EXPECT_EQ(At(0x1010), "g()");
  EXPECT_EQ(At(0x1020), "f()");
  EXPECT_EQ(derived_.units[0].line, 7u);
  EXPECT_EQ(derived_.units[0].file, "/src/decl.h");
}

TEST_F(UnitTableTest, FileHoldsItsLines) {
  Code("/src/b.cc", 1, "f()");
  Code("/src/a.cc", 9, "g()");
  Code("/src/b.cc", 2, "h()");
  Derive(Rules(UnitKind::kFile));
  EXPECT_THAT(Names(), ElementsAre("/src/a.cc", "/src/b.cc"));
  EXPECT_EQ(At(0x1020), "/src/b.cc");
}

TEST_F(UnitTableTest, LineIsNamedByTheFunctionWithMostOfItsCode) {
  Code("/src/a.cc", 1, "small()", 4);
  Code("/src/a.cc", 1, "large()", 40);
  UnitRules rules;
  rules.exclude.emplace_back("nothing");
  Derive(rules);
  ASSERT_THAT(Names(), ElementsAre("/src/a.cc:1"));
  EXPECT_EQ(derived_.units[0].function, "large()");
}

TEST_F(UnitTableTest, GroupComesFirstAndTakesLinesFilesAndFunctions) {
  Code("/src/a.cc", 1, "f()");
  Code("/src/a.cc", 12, "f()");
  Code("/src/hash.cc", 3, "g()");
  Code("/src/a.cc", 30, "ns::crc32(int)");
  UnitRules rules;
  rules.groups.push_back(
      {"hashing", {UnitPattern("a.cc:10-20"), UnitPattern("hash.cc"), UnitPattern("crc%")}});
  Derive(rules);
  EXPECT_THAT(Names(), ElementsAre("hashing", "/src/a.cc:1"));
  EXPECT_EQ(At(0x1000), "/src/a.cc:1");
  for (uint64_t address : {0x1010, 0x1020, 0x1030}) EXPECT_EQ(At(address), "hashing");
  EXPECT_THAT(derived_.group_has_code, ElementsAre(true));
  EXPECT_THAT(derived_.overlaps, IsEmpty());
}

TEST_F(UnitTableTest, GroupWithoutCodeStillHasItsNumber) {
  Code("/src/a.cc", 1, "f()");
  UnitRules rules;
  rules.groups.push_back({"none", {UnitPattern("x.cc")}});
  rules.groups.push_back({"some", {UnitPattern("f")}});
  Derive(rules);
  EXPECT_THAT(Names(), ElementsAre("none", "some"));
  EXPECT_THAT(derived_.group_has_code, ElementsAre(false, true));
  EXPECT_EQ(At(0x1000), "some");
}

TEST_F(UnitTableTest, OverlapNamesBothGroupsAndThePlace) {
  Code("/src/a.cc", 5, "f()");
  UnitRules rules;
  rules.groups.push_back({"one", {UnitPattern("a.cc")}});
  rules.groups.push_back({"two", {UnitPattern("f")}});
  Derive(rules);
  EXPECT_EQ(At(0x1000), "one");
  ASSERT_EQ(derived_.overlaps.size(), 1u);
  EXPECT_EQ(derived_.overlaps[0], "one and two both hold /src/a.cc:5");
}

TEST_F(UnitTableTest, ExcludedCodeHasNoUnit) {
  Code("/src/a.cc", 1, "f()");
  Code("/src/log.cc", 1, "g()");
  UnitRules rules = Rules(UnitKind::kFunction);
  rules.exclude.emplace_back("log.cc");
  Derive(rules);
  EXPECT_EQ(At(0x1000), "f()");
  EXPECT_EQ(At(0x1010), "");
  EXPECT_EQ(derived_.excluded_bytes, 16u);
}

TEST_F(UnitTableTest, LibraryIsOneUnit) {
  Code("/src/a.cc", 1, "f()");
  Code("/src/b.cc", 1, "g()");
  Derive(Rules(UnitKind::kLibrary));
  EXPECT_THAT(Names(), ElementsAre("/bin/prog"));
  EXPECT_EQ(At(0x1010), "/bin/prog");
}

TEST(UnitPatternTest, MatchesFunctionsByAnyPartOfTheirName) {
  const std::string name = "ns::Table<int>::find(char const*, unsigned long) const";
  EXPECT_TRUE(UnitPattern("find").MatchesCode("", 0, name));
  EXPECT_TRUE(UnitPattern("Table%::find").MatchesCode("", 0, name));
  EXPECT_TRUE(UnitPattern("ns::%").MatchesCode("", 0, name));
  EXPECT_FALSE(UnitPattern("fin").MatchesCode("", 0, name));
  EXPECT_FALSE(UnitPattern("able%::find").MatchesCode("", 0, name));
}

TEST(UnitPatternTest, TellsLinesFromNames) {
  EXPECT_TRUE(UnitPattern("a.cc:3").MatchesCode("/x/a.cc", 3, "f"));
  EXPECT_FALSE(UnitPattern("a.cc:3").MatchesCode("/x/a.cc", 4, "f"));
  EXPECT_FALSE(UnitPattern("a.cc:3").MatchesCode("/x/aa.cc", 3, "f"));
  EXPECT_TRUE(UnitPattern("a.cc").MatchesCode("/x/a.cc", 4, "f"));
  EXPECT_TRUE(UnitPattern("ns::f").MatchesCode("/x/a.cc", 4, "ns::f"));
}

TEST(WithoutParametersTest, KeepsParenthesesOfNames) {
  EXPECT_EQ(WithoutParameters("(anonymous namespace)::f(int)"), "(anonymous namespace)::f");
  EXPECT_EQ(WithoutParameters("f(void (*)(int)) const"), "f");
  EXPECT_EQ(WithoutParameters("main"), "main");
  EXPECT_EQ(WithoutParameters("a::operator()"), "a::operator()");
  EXPECT_EQ(WithoutParameters("a::operator()(int)"), "a::operator()");
}

TEST(FunctionKeyTest, TextReadsBack) {
  FunctionKey key;
  key.name = "f(int)";
  key.file = "/a b/c.cc";
  key.line = 12;
  const FunctionKey back = FunctionKey::FromText(key.Text());
  EXPECT_EQ(back.name, key.name);
  EXPECT_EQ(back.file, key.file);
  EXPECT_EQ(back.line, 12u);
  EXPECT_EQ(FunctionKey::FromText("plain").name, "plain");
}

// The functions at an address, innermost first.
class PathTableTest : public UnitTableTest {
 protected:
  void Inlined(const std::string& function, const std::vector<std::string>& callers) {
    FunctionKey key;
    key.name = function;
    key.file = "/src/decl.h";
    key.line = 7;
    std::string text = key.Text();
    for (const std::string& name : callers) {
      PathKey::Caller caller;
      caller.function = key;
      caller.function.name = name;
      caller.file = "/src/" + name + ".cc";
      caller.line = 50;
      text += caller.Text();
    }
    builder_.AddInterval(next_, next_ + 16, builder_.AddString("/src/a.cc"), 1,
                         builder_.AddString(text));
    next_ += 16;
  }

  void DerivePaths(const UnitRules& rules, const std::string& binary = "/bin/prog") {
    base_image_ = *builder_.Build();
    LineTable base;
    ASSERT_TRUE(LineTable::FromBytes(base_image_.data(), base_image_.size(), &base));
    absl::StatusOr<DerivedUnits> derived = DeriveUnits(base, binary, rules);
    ASSERT_TRUE(derived.ok()) << derived.status();
    derived_ = *std::move(derived);
    ASSERT_TRUE(LineTable::FromBytes(derived_.image.data(), derived_.image.size(), &table_));
    EXPECT_EQ(table_.line_count(), derived_.units.size() + derived_.paths.size());
  }

  std::vector<std::string> FunctionsAt(uint64_t address) const {
    const uint32_t line = table_.Lookup(address);
    if (line == kNoLine) return {};
    if (line < derived_.units.size()) return {derived_.units[line].Name()};
    std::vector<std::string> names;
    for (uint32_t unit : derived_.paths[line - derived_.units.size()]) {
      names.push_back(derived_.units[unit].Name());
    }
    return names;
  }
};

TEST_F(PathTableTest, InlinedCodeHasItsCallersOnce) {
  Inlined("f", {});
  Inlined("f", {"g", "f", "g", "h"});
  Inlined("g", {"h"});
  Inlined("a", {"b", "c", "d", "e", "f"});
  DerivePaths(Rules(UnitKind::kPath));
  EXPECT_THAT(FunctionsAt(0x1000), ElementsAre("f"));
  EXPECT_THAT(FunctionsAt(0x1010), ElementsAre("f", "g", "h"));
  EXPECT_THAT(FunctionsAt(0x1020), ElementsAre("g", "h"));
  EXPECT_THAT(FunctionsAt(0x1030), ElementsAre("a", "b", "c", "d", "e"));
  EXPECT_THAT(Names(), ElementsAre("a", "b", "c", "d", "e", "f", "g", "h"));
}

TEST_F(PathTableTest, GroupsTakeTheirPartsOfAPathAndExcludedCodeIsNone) {
  Inlined("f", {"g", "h", "i"});
  Inlined("x", {"h"});
  UnitRules rules = Rules(UnitKind::kPath);
  rules.groups.push_back({"both", {UnitPattern("f"), UnitPattern("g.cc:40-60")}});
  rules.exclude.emplace_back("x");
  rules.exclude.emplace_back("i.cc");
  DerivePaths(rules);
  EXPECT_THAT(FunctionsAt(0x1000), ElementsAre("both", "h"));
  EXPECT_THAT(FunctionsAt(0x1010), ElementsAre("h"));
}

TEST_F(PathTableTest, GroupMayBeALibrary) {
  Inlined("deflate", {"compress"});
  UnitRules rules = Rules(UnitKind::kPath);
  rules.groups.push_back({"zlib", {UnitPattern("libz.so%")}});
  DerivePaths(rules, "/lib/libz.so.1");
  EXPECT_THAT(FunctionsAt(0x1000), ElementsAre("zlib"));
}

TEST_F(PathTableTest, GroupIsNoProgramOfItsName) {
  Inlined("f", {"g"});
  UnitRules rules = Rules(UnitKind::kPath);
  rules.groups.push_back({"all", {UnitPattern("prog")}});
  DerivePaths(rules);
  EXPECT_THAT(FunctionsAt(0x1000), ElementsAre("f", "g"));
}

}  // namespace
}  // namespace coz::sourcemap
