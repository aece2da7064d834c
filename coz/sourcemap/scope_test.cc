#include "coz/sourcemap/scope.h"

#include "gtest/gtest.h"

namespace coz::sourcemap {
namespace {

TEST(MatchesPatternTest, PercentMatchesAnyRunIncludingNoneAndSlashes) {
  EXPECT_TRUE(MatchesPattern("%", ""));
  EXPECT_TRUE(MatchesPattern("%", "/a/b.cc"));
  EXPECT_TRUE(MatchesPattern("/src/%.cc", "/src/x/y.cc"));
  EXPECT_TRUE(MatchesPattern("%a%b%", "a-b"));
  EXPECT_TRUE(MatchesPattern("%ab", "aab"));
  EXPECT_TRUE(MatchesPattern("/src/*.cc", "/src/x/y.cc"));
  EXPECT_TRUE(MatchesPattern("*a%b*", "a-b"));
  EXPECT_TRUE(MatchesPattern("Copy(char*)", "Copy(char*)")) << "of a function's own name";
  EXPECT_FALSE(MatchesPattern("/src/*.cc", "/src/y.h"));
  EXPECT_FALSE(MatchesPattern("/src/%.cc", "/src/y.h"));
  EXPECT_FALSE(MatchesPattern("/src", "/src/y.h"));
  EXPECT_FALSE(MatchesPattern("", "a"));
}

TEST(BinaryScopeTest, DefaultIsTheMainExecutableOnly) {
  const BinaryScope scope;
  EXPECT_TRUE(scope.Contains("/bin/app", true));
  EXPECT_FALSE(scope.Contains("/lib/libz.so.1", false));
}

TEST(BinaryScopeTest, NamesWithoutSlashMatchTheFileName) {
  const BinaryScope scope({"MAIN", "libz.so%"});
  EXPECT_TRUE(scope.Contains("/bin/app", true));
  EXPECT_TRUE(scope.Contains("/lib/libz.so.1", false));
  EXPECT_FALSE(scope.Contains("/lib/libzstd.so.1", false));
}

TEST(BinaryScopeTest, WithoutMainTheExecutableIsOut) {
  EXPECT_FALSE(BinaryScope({"/lib/%"}).Contains("/bin/app", true));
}

TEST(SourceScopeTest, DefaultTakesTheProgramsOwnSources) {
  const SourceScope scope;
  EXPECT_TRUE(scope.Contains("/home/me/app/main.cc"));
  EXPECT_TRUE(scope.Contains("/proc/self/cwd/coz/base/clock.h"));
  EXPECT_TRUE(scope.Contains("/usr/src/debug/app-1.0/main.c"));
  EXPECT_TRUE(scope.Contains("/opt/app/include/app.h"));
  EXPECT_TRUE(scope.Contains("main.c"));
  EXPECT_TRUE(scope.Contains("/root/go/src/example.com/app/main.go"));
  EXPECT_TRUE(scope.Contains("/root/go/pkg/mod/example.com/table@v1.2.0/table.go"));
}

TEST(SourceScopeTest, DefaultLeavesSystemAndToolchainOut) {
  const SourceScope scope;
  for (const char* path :
       {"/usr/include/c++/12/bits/stl_algo.h", "/usr/include/stdio.h",
        "/usr/lib/gcc/x86_64-linux-gnu/12/include/emmintrin.h",
        "/usr/lib/llvm-14/lib/clang/14.0.6/include/xmmintrin.h", "/usr/local/include/fmt/format.h",
        "/opt/gcc-13/include/c++/13/vector", "/home/me/toolchain/lib/gcc/x/13/include/stddef.h",
        "/opt/sysroot/usr/include/bits/stdio2.h", "/build/glibc-2.36/csu/../sysdeps/x86_64/start.S",
        "/build/gcc/src/libstdc++-v3/src/c++11/string.cc", "<built-in>", "<artificial>", ""}) {
    EXPECT_FALSE(scope.Contains(path)) << path;
  }
}

TEST(SourceScopeTest, DefaultLeavesRustsLibraryAndFetchedCratesOut) {
  const SourceScope scope;
  for (const char* path :
       {"/rustc/5980761/library/std/src/lib.rs", "/rust/deps/hashbrown-0.16.1/src/raw.rs",
        "/usr/src/rustc-1.63.0/library/core/src/slice/mod.rs",
        "/usr/src/rustc-1.63.0/vendor/memchr/src/lib.rs",
        "/root/.rustup/toolchains/stable/lib/rustlib/src/rust/library/alloc/src/vec/mod.rs",
        "/root/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/rayon-1.10.0/src/lib.rs",
        "/root/.cargo/registry/src/crates.example.com-0123456789abcdef/app-1.0.0/src/lib.rs",
        "/root/.cargo/git/checkouts/regex-0123456789abcdef/9870c06/src/lib.rs",
        "/usr/local/cargo/git/checkouts/regex-0123456789abcdef/9870c06/src/lib.rs",
        "/opt/crates/registry/src/index.crates.io-1949cf8c6b5b557f/rayon-1.10.0/src/lib.rs",
        "/opt/crates/registry/src/github.com-1ecc6299db9ec823/rayon-1.5.0/src/lib.rs",
        "/usr/share/cargo/registry/tokio-1.24.2/src/lib.rs",
        "/srv/sysroot/usr/share/cargo/registry/tokio-1.24.2/src/lib.rs"}) {
    EXPECT_FALSE(scope.Contains(path)) << path;
  }
  for (const char* path : {"/home/me/rust/deps/own/src/lib.rs", "/home/me/registry/src/lib.rs",
                           "/home/me/cargo/src/registry/index.rs", "src/main.rs"}) {
    EXPECT_TRUE(scope.Contains(path)) << path;
  }
}

TEST(SourceScopeTest, DefaultLeavesTheHeaderOfMarksOut) {
  const char* const header = "/home/me/.local/include/coz.h";
  EXPECT_FALSE(SourceScope().Contains(header));
  EXPECT_TRUE(SourceScope().Contains("/home/me/.local/include/my_coz.h"));
  EXPECT_TRUE(SourceScope({"coz.h"}).Contains(header));
}

TEST(SourceScopeTest, APatternAloneDecides) {
  const SourceScope everything({"%"});
  EXPECT_TRUE(everything.Contains("/usr/include/c++/12/bits/stl_algo.h"));
  const SourceScope algorithms({"%/stl_algo.h"});
  EXPECT_TRUE(algorithms.Contains("/usr/include/c++/12/bits/stl_algo.h"));
  EXPECT_FALSE(algorithms.Contains("/home/me/app/main.cc"));
}

TEST(SourceScopeTest, RelativePatternsBeginAtAnyPartOfThePath) {
  const SourceScope scope({"src/%.cc"});
  EXPECT_TRUE(scope.Contains("/home/me/src/a/b.cc"));
  EXPECT_FALSE(scope.Contains("/home/me/mysrc/b.cc"));
  EXPECT_FALSE(SourceScope({"/src/%"}).Contains("/home/src/b.cc"));
}

TEST(SourceScopeTest, FingerprintTellsScopesApart) {
  EXPECT_EQ(SourceScope().Fingerprint(), SourceScope().Fingerprint());
  EXPECT_NE(SourceScope().Fingerprint(), SourceScope({"%"}).Fingerprint());
  EXPECT_NE(SourceScope({"a", "b"}).Fingerprint(), SourceScope({"ab"}).Fingerprint());
  EXPECT_NE(SourceScope({"a", "b"}).Fingerprint(), SourceScope({"b"}).Fingerprint());
}

}  // namespace
}  // namespace coz::sourcemap
