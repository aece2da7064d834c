#include "coz/sourcemap/cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "coz/sourcemap/line_table_builder.h"
#include "coz/sourcemap/testing/fixture_files.h"
#include "gtest/gtest.h"

namespace coz::sourcemap {
namespace {

std::vector<std::string> FilesIn(const std::string& folder) {
  std::vector<std::string> files;
  DIR* open_folder = opendir(folder.c_str());
  if (open_folder == nullptr) return files;
  while (const dirent* entry = readdir(open_folder)) {
    if (entry->d_name[0] != '.') files.push_back(folder + "/" + entry->d_name);
  }
  closedir(open_folder);
  return files;
}

class CacheTest : public testing::Test {
 protected:
  LoadedTable Load(const std::string& path, const SourceScope& scope = SourceScope()) {
    auto loaded = LoadLineTable(path, scope, {}, folder_);
    EXPECT_TRUE(loaded.ok()) << loaded.status();
    return *std::move(loaded);
  }

  std::string OnlyFile() {
    const auto files = FilesIn(folder_);
    EXPECT_EQ(files.size(), 1u);
    return files.empty() ? "" : files[0];
  }

  const std::string folder_ = NewTestFolder() + "/deep/coz";
  const std::string program_ = FixturePath("dwarf5");
};

TEST_F(CacheTest, TheSecondLoadComesFromTheCache) {
  const LoadedTable first = Load(program_);
  EXPECT_FALSE(first.was_cached());
  EXPECT_EQ(first.cache_problem(), "");
  EXPECT_GT(first.statistics().units, 0u);
  const LoadedTable second = Load(program_);
  EXPECT_TRUE(second.was_cached());
  EXPECT_EQ(second.table().line_count(), first.table().line_count());
  EXPECT_GT(second.table().line_count(), 10u);
}

TEST_F(CacheTest, TheFileCanBeMappedButNotWrittenThroughTheDescriptor) {
  const LoadedTable loaded = Load(program_);
  void* mapped = mmap(nullptr, loaded.size_bytes(), PROT_READ, MAP_SHARED, loaded.fd(), 0);
  ASSERT_NE(mapped, MAP_FAILED);
  LineTable table;
  EXPECT_TRUE(LineTable::FromBytes(mapped, loaded.size_bytes(), &table));
  munmap(mapped, loaded.size_bytes());
  EXPECT_LT(pwrite(loaded.fd(), "x", 1, 0), 0);
}

TEST_F(CacheTest, AMovedTableStaysMapped) {
  LoadedTable first = Load(program_);
  const LoadedTable second = std::move(first);
  EXPECT_TRUE(second.table().VerifyContents());
}

TEST_F(CacheTest, ScopesHaveTablesOfTheirOwn) {
  Load(program_);
  EXPECT_FALSE(Load(program_, SourceScope({"%"})).was_cached());
  EXPECT_TRUE(Load(program_, SourceScope({"%"})).was_cached());
  EXPECT_EQ(FilesIn(folder_).size(), 2u);
}

TEST_F(CacheTest, DamagedFilesAreRebuilt) {
  Load(program_);
  const std::string file = OnlyFile();
  const std::string whole = ReadFileBytes(file);
  std::string flipped = whole;
  flipped[whole.size() - 2] = static_cast<char>(flipped[whole.size() - 2] ^ 1);
  for (const std::string& bytes :
       {std::string(), std::string("not a table"), whole.substr(0, whole.size() / 2),
        whole.substr(0, whole.size() - 1), whole + "x", flipped}) {
    WriteFileBytes(file, bytes);
    EXPECT_FALSE(Load(program_).was_cached()) << bytes.size();
    EXPECT_EQ(ReadFileBytes(file), whole);
    EXPECT_TRUE(Load(program_).was_cached());
  }
}

TEST_F(CacheTest, ATableOfAnotherProgramIsRebuilt) {
  Load(program_);
  LineTableBuilder builder;
  builder.set_build_id("another");
  builder.set_scope_fingerprint(SourceScope().Fingerprint());
  WriteFileBytes(OnlyFile(), builder.Build().value());
  EXPECT_FALSE(Load(program_).was_cached());
}

TEST_F(CacheTest, AFileThatOthersCanWriteToIsRebuilt) {
  Load(program_);
  ASSERT_EQ(chmod(OnlyFile().c_str(), 0666), 0);
  EXPECT_FALSE(Load(program_).was_cached());
  EXPECT_TRUE(Load(program_).was_cached());
}

TEST_F(CacheTest, ASymbolicLinkIsNotFollowed) {
  Load(program_);
  const std::string file = OnlyFile();
  const std::string elsewhere = NewTestFolder() + "/table";
  ASSERT_EQ(rename(file.c_str(), elsewhere.c_str()), 0);
  ASSERT_EQ(symlink(elsewhere.c_str(), file.c_str()), 0);
  EXPECT_FALSE(Load(program_).was_cached());
}

TEST_F(CacheTest, WithoutBuildIdARebuiltProgramIsNoticed) {
  // The debuglink fixture has none; its debug information is beside it.
  const std::string folder = NewTestFolder();
  const std::string program = folder + "/fixture";
  ASSERT_EQ(mkdir((folder + "/.debug").c_str(), 0700), 0);
  WriteFileBytes(program, ReadFileBytes(FixturePath("debuglink")));
  WriteFileBytes(folder + "/.debug/fixture.debug",
                 ReadFileBytes("coz/sourcemap/testdata/debuglink/.debug/fixture.debug"));
  Load(program);
  EXPECT_TRUE(Load(program).was_cached());
  const timespec times[2] = {{1, 0}, {1, 0}};
  ASSERT_EQ(utimensat(AT_FDCWD, program.c_str(), times, 0), 0);
  EXPECT_FALSE(Load(program).was_cached());
}

// Its table may name no function that symbols would name.
TEST_F(CacheTest, AStrippedCopyHasATableOfItsOwn) {
  Load("coz/sourcemap/testdata/build_id/unstripped");
  ReadOptions options;
  options.debug_search_path = AbsolutePath("coz/sourcemap/testdata/build_id/debug");
  const auto stripped = LoadLineTable(FixturePath("build_id"), SourceScope(), options, folder_);
  ASSERT_TRUE(stripped.ok()) << stripped.status();
  EXPECT_FALSE(stripped->was_cached());
}

TEST_F(CacheTest, ATableWithMissingPartsIsNotKept) {
  const LoadedTable loaded = Load(FixturePath("split_missing"));
  EXPECT_FALSE(loaded.statistics().skipped.empty());
  EXPECT_GT(loaded.table().line_count(), 0u);
  EXPECT_TRUE(FilesIn(folder_).empty());
  EXPECT_FALSE(Load(FixturePath("split_missing")).was_cached());
}

TEST_F(CacheTest, AFolderThatCannotBeWrittenIsNoError) {
  const auto loaded = LoadLineTable(program_, SourceScope(), {}, "/proc/coz");
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_NE(loaded->cache_problem().find("/proc/coz"), std::string::npos);
  EXPECT_GT(loaded->table().line_count(), 10u);
  EXPECT_LT(pwrite(loaded->fd(), "x", 1, 0), 0);
  const auto without = LoadLineTable(program_, SourceScope(), {}, "");
  ASSERT_TRUE(without.ok()) << without.status();
  EXPECT_NE(without->cache_problem(), "");
}

TEST_F(CacheTest, NoTemporaryFilesAreLeft) {
  Load(program_);
  const std::string file = OnlyFile();
  EXPECT_EQ(file.substr(file.size() - 6), ".lines");
}

TEST_F(CacheTest, OldTablesMakeRoom) {
  ASSERT_EQ(system(("mkdir -p " + folder_).c_str()), 0);
  const timespec times[2] = {{1, 0}, {1, 0}};
  for (int i = 0; i < 200; ++i) {
    const std::string file = folder_ + "/old" + std::to_string(i) + ".lines";
    WriteFileBytes(file, "");
    ASSERT_EQ(utimensat(AT_FDCWD, file.c_str(), times, 0), 0);
  }
  WriteFileBytes(folder_ + "/notes.txt", "the user's own");
  Load(program_);
  const auto files = FilesIn(folder_);
  EXPECT_LT(files.size(), 100u);
  EXPECT_TRUE(Load(program_).was_cached());
  EXPECT_EQ(ReadFileBytes(folder_ + "/notes.txt"), "the user's own");
}

TEST_F(CacheTest, AnErrorOfTheReaderIsPassedOn) {
  EXPECT_EQ(LoadLineTable(FixturePath("stripped"), SourceScope(), {}, folder_).status().code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(LoadLineTable("/nonexistent", SourceScope(), {}, folder_).status().code(),
            absl::StatusCode::kNotFound);
}

TEST(DefaultCacheFolderTest, FollowsTheXdgSpecification) {
  setenv("XDG_CACHE_HOME", "/x/cache", 1);
  setenv("HOME", "/home/me", 1);
  EXPECT_EQ(DefaultCacheFolder(), "/x/cache/coz");
  setenv("XDG_CACHE_HOME", "relative", 1);
  EXPECT_EQ(DefaultCacheFolder(), "/home/me/.cache/coz");
  unsetenv("XDG_CACHE_HOME");
  EXPECT_EQ(DefaultCacheFolder(), "/home/me/.cache/coz");
  unsetenv("HOME");
  EXPECT_EQ(DefaultCacheFolder(), "");
}

}  // namespace
}  // namespace coz::sourcemap
