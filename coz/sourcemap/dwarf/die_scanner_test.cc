#include "coz/sourcemap/dwarf/die_scanner.h"

#include <dwarf.h>

#include <string>

#include "gtest/gtest.h"

namespace coz::sourcemap {
namespace {

constexpr UnitEncoding kEncoding = {5, 8, 4};

std::string Bytes(std::initializer_list<int> values) {
  std::string bytes;
  for (int value : values) bytes += static_cast<char>(value);
  return bytes;
}

// 1: unit with children; 2: function with code and children; 3: inlined call; 4: declared function;
// 5: variable with a block.
std::string Abbreviations() {
  return Bytes({1, DW_TAG_compile_unit, 1, DW_AT_name, DW_FORM_string, 0, 0}) +
         Bytes({2, DW_TAG_subprogram, 1, DW_AT_low_pc, DW_FORM_addr, DW_AT_high_pc, DW_FORM_data4,
                0, 0}) +
         Bytes({3, DW_TAG_inlined_subroutine, 0, DW_AT_ranges, DW_FORM_sec_offset, DW_AT_call_line,
                DW_FORM_implicit_const, 42, 0, 0}) +
         Bytes({4, DW_TAG_subprogram, 0, DW_AT_name, DW_FORM_strp, 0, 0}) +
         Bytes({5, DW_TAG_variable, 0, DW_AT_location, DW_FORM_exprloc, 0, 0, 0});
}

std::string Unit() {
  return Bytes({1, 'u', 0}) +                                    // depth 0
         Bytes({5, 2, 0x91, 0}) +                                // depth 1, skipped
         Bytes({2, 0, 0x10, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0}) +     // depth 1
         Bytes({3, 1, 0, 0, 0}) +                                // depth 2
         Bytes({0}) +                                            // end of the function's children
         Bytes({4, 9, 0, 0, 0}) +                                // depth 1, declared only
         Bytes({2, 0, 0x20, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0, 0}) +  // depth 1
         Bytes({0});
}

std::string Scan(const std::string& abbreviations, const std::string& unit) {
  DieScanner scanner;
  if (!scanner.ReadAbbreviations(abbreviations, 0, kEncoding)) return "bad abbreviations";
  std::string text;
  const auto visit = [&](const DieScanner::Kind& kind, const char* die, uint32_t depth) {
    if (kind.is_code) text += kind.is_inlined_call ? "i" : "f";
    if (kind.is_scope) text += "s";
    if (kind.is_local_name) text += "n";
    text += std::to_string(depth) + "@" + std::to_string(die - unit.data()) + " ";
  };
  const bool ok = scanner.Scan(unit, visit);
  return text + (ok ? "" : "damaged");
}

TEST(DieScannerTest, FindsCodeAndNamesWithTheirDepth) {
  EXPECT_EQ(Scan(Abbreviations(), Unit()), "fs1@7 i2@20 n1@26 fs1@31 ");
}

TEST(DieScannerTest, UnknownAbbreviationsAreDamage) {
  EXPECT_EQ(Scan(Abbreviations(), Bytes({1, 'u', 0, 99})), "damaged");
}

TEST(DieScannerTest, UnknownFormsAreDamage) {
  const std::string abbreviations = Bytes({1, DW_TAG_compile_unit, 1, DW_AT_name, 0x7f, 0, 0, 0});
  EXPECT_EQ(Scan(abbreviations, Bytes({1, 'u', 0})), "damaged");
}

// Under asan this also shows that no byte outside is read.
TEST(DieScannerTest, DamagedBytesEnd) {
  for (size_t size = 0; size < Unit().size(); ++size) {
    const std::string unit = Unit().substr(0, size);
    Scan(Abbreviations(), std::string(unit.data(), unit.size()));
  }
  for (size_t size = 0; size < Abbreviations().size(); ++size) {
    EXPECT_EQ(Scan(Abbreviations().substr(0, size), Unit()), "bad abbreviations") << size;
  }
  for (int value : {0, 1, 0x7f, 0x80, 0xff}) {
    for (size_t i = 0; i < Unit().size(); ++i) {
      std::string unit = Unit();
      unit[i] = static_cast<char>(value);
      Scan(Abbreviations(), unit);
    }
    for (size_t i = 0; i < Abbreviations().size(); ++i) {
      std::string abbreviations = Abbreviations();
      abbreviations[i] = static_cast<char>(value);
      Scan(abbreviations, Unit());
    }
  }
}

}  // namespace
}  // namespace coz::sourcemap
