#include "coz/sourcemap/go_sources.h"

#include "gtest/gtest.h"

namespace coz::sourcemap {
namespace {

TEST(GoSourcesTest, NothingIsGosWhereItsRuntimeIsNotSeen) {
  GoSources sources;
  EXPECT_FALSE(sources.Note("/home/me/app/main.go"));
  EXPECT_FALSE(sources.Note("/home/me/app/runtime/proc.go"));
  EXPECT_FALSE(sources.IsLibrary("/home/me/go/src/fmt/print.go"));
  EXPECT_FALSE(sources.IsLibrary("fmt/print.go"));
}

TEST(GoSourcesTest, AllBesideTheRuntimeIsGos) {
  GoSources sources;
  EXPECT_TRUE(sources.Note("/home/me/go/src/runtime/proc.go"));
  EXPECT_TRUE(sources.IsLibrary("/home/me/go/src/fmt/print.go"));
  EXPECT_TRUE(sources.IsLibrary("/home/me/go/src/runtime/asm_amd64.s"));
  EXPECT_TRUE(sources.IsLibrary("/home/me/go/src/vendor/golang.org/x/net/idna/tables.go"));
  EXPECT_FALSE(sources.IsLibrary("/home/me/go/pkg/mod/github.com/a/b@v1.0.0/b.go"));
  EXPECT_FALSE(sources.IsLibrary("/home/me/app/main.go"));
}

// As `go build -trimpath` writes them.
TEST(GoSourcesTest, ImportPathsOfTheLibraryAreGos) {
  GoSources sources;
  EXPECT_TRUE(sources.Note("runtime/proc.go"));
  EXPECT_TRUE(sources.IsLibrary("encoding/json/decode.go"));
  EXPECT_TRUE(sources.IsLibrary("weak/pointer.go"));
  EXPECT_TRUE(sources.IsLibrary("archive/tar/reader.go"));
  EXPECT_FALSE(sources.IsLibrary("example.com/app/main.go"));
  EXPECT_FALSE(sources.IsLibrary("app/main.go"));
  EXPECT_FALSE(sources.IsLibrary("fmt"));
  EXPECT_FALSE(sources.IsLibrary("github.com/a/b@v1.0.0/b.go"));
}

}  // namespace
}  // namespace coz::sourcemap
