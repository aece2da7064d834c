#include "coz/sourcemap/dwarf_reader.h"

#include <elf.h>

#include <cstring>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "coz/sourcemap/dwarf/debug_file.h"
#include "coz/sourcemap/line_table.h"
#include "coz/sourcemap/testing/fixture_files.h"
#include "gtest/gtest.h"

namespace coz::sourcemap {
namespace {

constexpr char kSourceFolder[] = "/fixture/coz/sourcemap/testdata/";

// An image and its view.
struct Table {
  LineTableResult result;
  LineTable view;

  std::string TextAt(uint64_t elf_address) const {
    const Line line = view.line(view.Lookup(elf_address));
    return line.line == 0
               ? ""
               : std::string(line.file) + ":" + std::to_string(line.line) + " " + line.function;
  }
};

Table Read(const std::string& name, const SourceScope& scope = SourceScope(),
           const ReadOptions& options = {}) {
  Table table;
  auto result = ReadLineTable(FixturePath(name), scope, options);
  EXPECT_TRUE(result.ok()) << result.status();
  if (!result.ok()) return table;
  table.result = *std::move(result);
  EXPECT_TRUE(
      LineTable::FromBytes(table.result.image.data(), table.result.image.size(), &table.view));
  EXPECT_TRUE(table.view.VerifyContents());
  return table;
}

std::set<std::string> FilesIn(const Table& table) {
  std::set<std::string> files;
  for (uint32_t i = 0; i < table.view.line_count(); ++i) {
    files.insert(std::string(table.view.line(i).file));
  }
  return files;
}

std::vector<FunctionSymbol> SymbolsWith(const DebugFile& file, const std::string& part) {
  std::vector<FunctionSymbol> found;
  for (const FunctionSymbol& symbol : file.FunctionSymbols()) {
    if (std::string(symbol.name).find(part) != std::string::npos) found.push_back(symbol);
  }
  return found;
}

// Bytes of code of each line in a function.
std::map<uint32_t, uint64_t> BytesOfLines(const Table& table, const FunctionSymbol& symbol) {
  std::map<uint32_t, uint64_t> bytes;
  for (uint64_t address = symbol.begin; address < symbol.end; ++address) {
    ++bytes[table.view.line(table.view.Lookup(address)).line];
  }
  return bytes;
}

// The name of the function of the marked line.
std::string FunctionOfMark(const Table& table, const std::string& source, const std::string& mark) {
  uint32_t index = kNoLine;
  const std::string name = source + ":" + std::to_string(MarkedLine(source, mark));
  EXPECT_EQ(table.view.FindLines(name, &index, 1), 1u) << name << " " << mark;
  return table.view.line(index).function;
}

TEST(DwarfReaderTest, LibraryOfGosIsOutOfScopeWhereverItLies) {
  EXPECT_EQ(FilesIn(Read("go")), std::set<std::string>{"/home/me/app/main.go"});
  EXPECT_EQ(FilesIn(Read("go", SourceScope({"proc.go"}))),
            std::set<std::string>{"/opt/go/src/runtime/proc.go"});
}

TEST(DwarfReaderTest, SortedCodeBelongsToTheLineThatCallsSort) {
  const Table table = Read("dwarf5");
  const auto file = DebugFile::Open(FixturePath("dwarf5"), "");
  ASSERT_TRUE(file.ok());
  const auto symbols = SymbolsWith(**file, "11SortNumbers");
  ASSERT_EQ(symbols.size(), 1u);
  const auto bytes = BytesOfLines(table, symbols[0]);
  const uint32_t sort_line = MarkedLine("fixture_part.cc", "sort");
  ASSERT_NE(sort_line, 0u);
  ASSERT_EQ(bytes.count(sort_line), 1u);
  EXPECT_EQ(bytes.count(0), 0u) << "some code of the program's own function has no line";
  // The rest is the function's entry and exit.
  EXPECT_GT(bytes.at(sort_line) * 10, (symbols[0].end - symbols[0].begin) * 8);
}

TEST(DwarfReaderTest, LibraryFunctionsOutOfLineHaveNoLine) {
  const Table table = Read("dwarf5");
  const auto file = DebugFile::Open(FixturePath("dwarf5"), "");
  ASSERT_TRUE(file.ok());
  const auto symbols = SymbolsWith(**file, "13__adjust_heap");
  ASSERT_FALSE(symbols.empty());
  for (uint64_t address = symbols[0].begin; address < symbols[0].end; ++address) {
    EXPECT_EQ(table.view.Lookup(address), kNoLine);
  }
}

TEST(DwarfReaderTest, ColdPartsBelongToTheirLines) {
  const Table table = Read("dwarf5");
  const auto file = DebugFile::Open(FixturePath("dwarf5"), "");
  ASSERT_TRUE(file.ok());
  const auto symbols = SymbolsWith(**file, "CheckedDivideEii.cold");
  ASSERT_EQ(symbols.size(), 1u);
  const auto bytes = BytesOfLines(table, symbols[0]);
  EXPECT_EQ(bytes.count(MarkedLine("fixture.cc", "cold")), 1u);
  EXPECT_EQ(bytes.count(0), 0u);
}

TEST(DwarfReaderTest, FunctionsAreNamedAsTheProgrammerKnowsThem) {
  const Table table = Read("dwarf5");
  EXPECT_EQ(FunctionOfMark(table, "fixture.h", "mix-first"), "fixture::Mix(int)");
  EXPECT_EQ(FunctionOfMark(table, "fixture.cc", "cold"), "(anonymous namespace)::CheckedDivide");
  EXPECT_EQ(FunctionOfMark(table, "fixture_part.cc", "sort"),
            "fixture::SortNumbers(std::vector<int, std::allocator<int> >&)");
  EXPECT_EQ(FunctionOfMark(table, "fixture_part.cc", "lambda"),
            "fixture::SumRecords(std::vector<fixture::Record, std::allocator<fixture::Record> > "
            "const&)::{lambda}::operator()");
}

TEST(DwarfReaderTest, FunctionsThatHaveLostTheirNamesHaveThoseOfSymbols) {
  const Table table = Read("split_lto");
  EXPECT_EQ(FunctionOfMark(table, "fixture_part.cc", "sort"),
            "fixture::SortNumbers(std::vector<int, std::allocator<int> >&)");
}

TEST(DwarfReaderTest, FilesAreCleanAbsolutePaths) {
  const Table table = Read("dwarf5");
  std::set<std::string> files;
  for (uint32_t i = 0; i < table.view.line_count(); ++i) files.insert(table.view.line(i).file);
  const std::set<std::string> expected = {std::string(kSourceFolder) + "fixture.cc",
                                          std::string(kSourceFolder) + "fixture.h",
                                          std::string(kSourceFolder) + "fixture_part.cc"};
  EXPECT_EQ(files, expected);
}

// The compiler emits the same code whatever the debug information looks like.
class SameCodeTest : public testing::TestWithParam<const char*> {};

TEST_P(SameCodeTest, EveryAddressHasTheLineItHasInThePlainProgram) {
  const Table plain = Read("dwarf5");
  ReadOptions options;
  if (std::string(GetParam()) == "build_id") {
    options.debug_search_path = AbsolutePath("coz/sourcemap/testdata/build_id/debug");
  }
  const Table other = Read(GetParam(), SourceScope(), options);
  EXPECT_TRUE(other.result.statistics.skipped.empty());
  ASSERT_EQ(other.view.base_address(), plain.view.base_address());
  ASSERT_EQ(other.view.end_address(), plain.view.end_address());
  for (uint64_t address = plain.view.base_address(); address < plain.view.end_address();
       ++address) {
    ASSERT_EQ(other.TextAt(address), plain.TextAt(address)) << std::hex << address;
  }
}

INSTANTIATE_TEST_SUITE_P(Fixtures, SameCodeTest,
                         testing::Values("compressed", "compressed_gnu", "debuglink", "build_id",
                                         "split4", "split5"));

bool HasDwz() { return !ReadFileBytes("coz/sourcemap/testdata/dwz/common.debug").empty(); }

TEST(DwarfReaderTest, DebugInformationSharedByDwzIsRead) {
  if (!HasDwz()) GTEST_SKIP() << "required: dwz; found: none (apt-get install dwz)";
  const Table table = Read("dwz");
  EXPECT_TRUE(table.result.statistics.skipped.empty());
  const Table plain = Read("dwarf5");
  for (uint64_t address = plain.view.base_address(); address < plain.view.end_address();
       ++address) {
    ASSERT_EQ(table.TextAt(address), plain.TextAt(address)) << std::hex << address;
  }
}

TEST(DwarfReaderTest, AMissingSharedFileIsCountedAndNamed) {
  if (!HasDwz()) GTEST_SKIP() << "required: dwz; found: none (apt-get install dwz)";
  const std::string path = NewTestFolder() + "/fixture";
  WriteFileBytes(path, ReadFileBytes(FixturePath("dwz")));
  const auto result = ReadLineTable(path, SourceScope());
  ASSERT_TRUE(result.ok()) << result.status();
  ASSERT_EQ(result->statistics.skipped.size(), 1u);
  EXPECT_NE(result->statistics.skipped[0].reason.find("dwz"), std::string::npos);
  EXPECT_TRUE(result->statistics.skipped[0].may_appear);
}

TEST(DwarfReaderTest, TheFileWithTheDebugInformationIsNamed) {
  EXPECT_EQ(Read("dwarf5").result.statistics.debug_path, FixturePath("dwarf5"));
  const std::string other = Read("debuglink").result.statistics.debug_path;
  EXPECT_NE(other.find(".debug/fixture.debug"), std::string::npos) << other;
}

TEST(DwarfReaderTest, AMissingSplitFileIsCountedAndNamed) {
  const Table table = Read("split_missing");
  ASSERT_EQ(table.result.statistics.skipped.size(), 1u);
  const SkippedPart& part = table.result.statistics.skipped[0];
  EXPECT_NE(part.reason.find(".dwo file is missing"), std::string::npos);
  EXPECT_EQ(part.count, 2u);
  EXPECT_NE(part.example.find("fixture.dwo"), std::string::npos) << part.example;
  // Rows that are themselves in scope need no .dwo file.
  uint32_t index;
  const uint32_t line = MarkedLine("fixture.cc", "cold");
  EXPECT_EQ(table.view.FindLines("fixture.cc:" + std::to_string(line), &index, 1), 1u);
}

TEST(DwarfReaderTest, APackageThatCannotBeReadIsNamed) {
  const Table table = Read("split_package");
  ASSERT_EQ(table.result.statistics.skipped.size(), 1u);
  EXPECT_NE(table.result.statistics.skipped[0].reason.find(
                "/fixture.dwp are not read, so keep the .dwo files"),
            std::string::npos)
      << table.result.statistics.skipped[0].reason;
}

TEST(DwarfReaderTest, CodeThatTheLinkerDroppedHasNoLines) {
  const Table table = Read("sections");
  for (uint32_t i = 0; i < table.view.line_count(); ++i) {
    EXPECT_EQ(std::string(table.view.line(i).function).find("DroppedFunction"), std::string::npos);
  }
}

TEST(DwarfReaderTest, AScopeOfEverythingTakesLibraryLinesIn) {
  const Table table = Read("dwarf5", SourceScope({"%"}));
  uint32_t library = 0;
  for (uint32_t i = 0; i < table.view.line_count(); ++i) {
    library += std::string(table.view.line(i).file).find("/usr/include/c++/") == 0;
  }
  EXPECT_GT(library, 100u);
  EXPECT_NE(table.view.scope_fingerprint(), SourceScope().Fingerprint());
}

TEST(DwarfReaderTest, AScopeOfNothingGivesATableWithoutLines) {
  const Table table = Read("dwarf5", SourceScope({"/nowhere/%"}));
  EXPECT_EQ(table.view.line_count(), 0u);
  EXPECT_EQ(table.result.statistics.units_out_of_scope, table.result.statistics.units);
  EXPECT_NE(table.result.statistics.example_out_of_scope, "");
}

TEST(DwarfReaderTest, ProgressRisesToOne) {
  std::vector<double> fractions;
  ReadOptions options;
  options.progress = [&](double fraction) { fractions.push_back(fraction); };
  Read("dwarf5", SourceScope(), options);
  ASSERT_FALSE(fractions.empty());
  for (size_t i = 1; i < fractions.size(); ++i) EXPECT_GT(fractions[i], fractions[i - 1]);
  EXPECT_EQ(fractions.back(), 1.0);
}

TEST(DwarfReaderTest, WithoutDebugInformationTheErrorSaysWhatToDo) {
  const auto result = ReadLineTable(FixturePath("stripped"), SourceScope());
  EXPECT_EQ(result.status().code(), absl::StatusCode::kFailedPrecondition);
  const std::string message(result.status().message());
  EXPECT_NE(message.find("no .debug_info section"), std::string::npos) << message;
  EXPECT_NE(message.find("build it with -g"), std::string::npos) << message;
}

TEST(DwarfReaderTest, FilesThatCannotBeReadAreErrors) {
  EXPECT_EQ(ReadLineTable("/nonexistent", SourceScope()).status().code(),
            absl::StatusCode::kNotFound);
  const std::string text = NewTestFolder() + "/text";
  WriteFileBytes(text, "no program");
  EXPECT_EQ(ReadLineTable(text, SourceScope()).status().code(), absl::StatusCode::kInvalidArgument);
  const std::string folder = NewTestFolder();
  EXPECT_EQ(ReadLineTable(folder, SourceScope()).status().message(),
            "cannot read " + folder + " as an ELF file: it is a folder; name a file in it");
}

// Sets the compression type of every compressed section to zstd's.
std::string WithZstdSections(std::string elf) {
  Elf64_Ehdr header;
  std::memcpy(&header, elf.data(), sizeof(header));
  for (size_t i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section;
    std::memcpy(&section, &elf[header.e_shoff + i * sizeof(section)], sizeof(section));
    if ((section.sh_flags & SHF_COMPRESSED) == 0) continue;
    const Elf64_Word zstd = 2;
    std::memcpy(&elf[section.sh_offset + offsetof(Elf64_Chdr, ch_type)], &zstd, sizeof(zstd));
  }
  return elf;
}

TEST(DwarfReaderTest, ACompressionThatCannotBeReadIsNamed) {
  const std::string path = NewTestFolder() + "/fixture";
  const std::string compressed = ReadFileBytes(FixturePath("compressed"));
  ASSERT_FALSE(compressed.empty());
  WriteFileBytes(path, WithZstdSections(compressed));
  const auto result = ReadLineTable(path, SourceScope());
  EXPECT_EQ(result.status().code(), absl::StatusCode::kFailedPrecondition);
  const std::string message(result.status().message());
  EXPECT_NE(message.find("zstd"), std::string::npos) << message;
  EXPECT_NE(message.find("--decompress-debug-sections"), std::string::npos) << message;
}

TEST(DwarfReaderTest, ATruncatedProgramIsAnErrorOrATable) {
  const std::string whole = ReadFileBytes(FixturePath("dwarf5"));
  const std::string path = NewTestFolder() + "/fixture";
  for (size_t eighths = 0; eighths < 8; ++eighths) {
    WriteFileBytes(path, whole.substr(0, whole.size() * eighths / 8));
    const auto result = ReadLineTable(path, SourceScope());
    if (!result.ok()) continue;
    LineTable table;
    EXPECT_TRUE(LineTable::FromBytes(result->image.data(), result->image.size(), &table));
    EXPECT_TRUE(table.VerifyContents());
  }
}

}  // namespace
}  // namespace coz::sourcemap
