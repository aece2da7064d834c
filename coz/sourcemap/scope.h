// Decides which binaries and which source files an experiment may pick lines from.
//
// Shape    a list of patterns; a path is in scope if any pattern matches it. `*` stands for any
//          characters, "/" included; so does `%`, as in the Coz paper.
// Units    absolute paths
// Errors   none: a pattern that matches nothing leaves nothing in scope
// Threads  safe: immutable after construction
// Signals  not safe
// Source   Curtsinger and Berger, "Coz: Finding Code that Counts with Causal Profiling",
// section 3.1
#ifndef COZ_SOURCEMAP_SCOPE_H_
#define COZ_SOURCEMAP_SCOPE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace coz::sourcemap {

// "*" or "%".
inline bool IsWildcard(char c) { return c == '*' || c == '%'; }

// True if the whole of `text` matches `pattern`, in which a wildcard matches any run of characters.
bool MatchesPattern(std::string_view pattern, std::string_view text);

// The binaries whose code is sampled line by line. The word MAIN stands for the program's own
// executable. A pattern without "/" also matches the file name alone: `libfoo.so*`.
class BinaryScope {
 public:
  BinaryScope() : BinaryScope({"MAIN"}) {}
  explicit BinaryScope(std::vector<std::string> patterns) : patterns_(std::move(patterns)) {}

  // `is_main_executable`: the file that the program was started from.
  bool Contains(std::string_view path, bool is_main_executable) const;

  const std::vector<std::string>& patterns() const { return patterns_; }

 private:
  std::vector<std::string> patterns_;
};

// The source files whose lines can be selected. Without patterns: the program's own sources, that
// is every file but those of the system, those of the toolchain, wherever it is installed, crates
// that Cargo has fetched, and coz.h. With patterns they alone decide, so that `*` takes everything
// in. A pattern that starts neither with "/" nor with a wildcard may begin at any part of the path:
// `src/*.cc` matches /home/me/src/io/a.cc.
class SourceScope {
 public:
  SourceScope() = default;
  explicit SourceScope(std::vector<std::string> patterns) : patterns_(std::move(patterns)) {}

  bool Contains(std::string_view path) const;

  // Part of the name of a cached line table. Differs between scopes that may decide differently,
  // and when the default's rules change.
  uint64_t Fingerprint() const;

  const std::vector<std::string>& patterns() const { return patterns_; }

 private:
  std::vector<std::string> patterns_;
};

}  // namespace coz::sourcemap

#endif  // COZ_SOURCEMAP_SCOPE_H_
