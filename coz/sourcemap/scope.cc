#include "coz/sourcemap/scope.h"

#include <algorithm>

namespace coz::sourcemap {
namespace {

// Raise when the rules below change, so that tables cached under the old ones are not used.
constexpr uint64_t kDefaultScopeVersion = 5;
constexpr uint64_t kPatternVersion = 1;

// Installed by the distribution or by `make install`. Not here: /usr/src, where distributions put
// the sources of their own programs, and /usr/local/src. The last three name Rust's library as
// rustup's and Debian's compilers name it, and what it is made of.
constexpr std::string_view kSystemPrefixes[] = {
    "/usr/include/", "/usr/lib/",       "/usr/lib32/",         "/usr/lib64/",
    "/usr/libx32/",  "/usr/share/",     "/usr/local/include/", "/usr/local/lib/",
    "/lib/",         "/lib64/",         "/nix/store/",         "/rustc/",
    "/rust/deps/",   "/usr/src/rustc-",
};

// Toolchains and sysroots that live anywhere, and the C and C++ libraries' own sources, which a
// statically linked startup object or a self-built toolchain brings in.
constexpr std::string_view kSystemParts[] = {
    "/usr/include/",  "/usr/lib/gcc/", "/include/c++/", "/lib/gcc/", "/lib/clang/",
    "/libstdc++-v3/", "/libgcc/",      "/sysdeps/",     "/glibc-",   "/usr/local/include/",
};

// Crates that Cargo has fetched, where CARGO_HOME is ~/.cargo, .../cargo or another folder, and
// Rust's library with its sources (rustup's rust-src). Source: the Cargo Book, "Cargo Home".
constexpr std::string_view kCrateParts[] = {
    "cargo/registry/",           "cargo/git/checkouts/", "/registry/src/index.crates.io-",
    "/registry/src/github.com-", "/lib/rustlib/src/",
};

// The profiler's header, wherever it is installed: its marks are lines of who uses them.
constexpr std::string_view kHeaderOfMarks = "coz.h";

std::string_view FileName(std::string_view path) { return path.substr(path.rfind('/') + 1); }

bool HasPart(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

bool IsSystemSource(std::string_view path) {
  // "" and names like <built-in> and <artificial> are the compiler's.
  if (path.empty() || path.back() == '>') return true;
  if (FileName(path) == kHeaderOfMarks) return true;
  const auto starts_path = [path](std::string_view prefix) {
    return path.substr(0, prefix.size()) == prefix;
  };
  const auto is_part = [path](std::string_view part) { return HasPart(path, part); };
  return std::any_of(std::begin(kSystemPrefixes), std::end(kSystemPrefixes), starts_path) ||
         std::any_of(std::begin(kSystemParts), std::end(kSystemParts), is_part) ||
         std::any_of(std::begin(kCrateParts), std::end(kCrateParts), is_part);
}

bool MatchesAtAnyPart(std::string_view pattern, std::string_view path) {
  if (MatchesPattern(pattern, path)) return true;
  if (pattern.empty() || pattern.front() == '/' || IsWildcard(pattern.front())) return false;
  for (size_t slash = path.find('/'); slash != std::string_view::npos;
       slash = path.find('/', slash + 1)) {
    if (MatchesPattern(pattern, path.substr(slash + 1))) return true;
  }
  return false;
}

// FNV-1a: stable across runs and machines, which absl::Hash is not.
uint64_t HashBytes(uint64_t hash, std::string_view bytes) {
  for (char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

}  // namespace

// Greedy with one point to go back to, so that time is at most pattern times text.
bool MatchesPattern(std::string_view pattern, std::string_view text) {
  size_t p = 0;
  size_t t = 0;
  size_t after_wildcard = std::string_view::npos;
  size_t retry_text = 0;
  while (t < text.size()) {
    if (p < pattern.size() && IsWildcard(pattern[p])) {
      after_wildcard = ++p;
      retry_text = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p;
      ++t;
    } else if (after_wildcard != std::string_view::npos) {
      p = after_wildcard;
      t = ++retry_text;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && IsWildcard(pattern[p])) ++p;
  return p == pattern.size();
}

bool BinaryScope::Contains(std::string_view path, bool is_main_executable) const {
  const std::string_view name = FileName(path);
  return std::any_of(patterns_.begin(), patterns_.end(), [&](const std::string& pattern) {
    if (pattern == "MAIN") return is_main_executable;
    return MatchesPattern(pattern, path) ||
           (!HasPart(pattern, "/") && MatchesPattern(pattern, name));
  });
}

bool SourceScope::Contains(std::string_view path) const {
  if (patterns_.empty()) return !IsSystemSource(path);
  return std::any_of(patterns_.begin(), patterns_.end(), [path](const std::string& pattern) {
    return MatchesAtAnyPart(pattern, path);
  });
}

uint64_t SourceScope::Fingerprint() const {
  uint64_t hash = 0xcbf29ce484222325 + (patterns_.empty() ? kDefaultScopeVersion : kPatternVersion);
  // The terminating 0 is hashed too: {"ab"} and {"a", "b"} differ.
  for (const std::string& pattern : patterns_) {
    hash = HashBytes(hash, std::string_view(pattern.c_str(), pattern.size() + 1));
  }
  return hash;
}

}  // namespace coz::sourcemap
