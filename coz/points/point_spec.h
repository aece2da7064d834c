// Where a user wants visits to be counted, as typed after --progress and --latency.
//
// Shape    [BINARY!]FILE:LINE, or [BINARY!]FUNCTION: a name, its last parts, its linkage name, or a
//          glob of `*` and `?`; or [BINARY!]usdt:PROVIDER:NAME, both of which may be globs. BINARY
//          is a glob over the path or file name of a loaded object; without it the program itself
//          is meant
// Units    lines from 1
// Errors   INVALID_ARGUMENT: one sentence with the text and an example
// Threads  safe: values
// Signals  not safe
// Source   docs/progress-points.md
#ifndef COZ_POINTS_POINT_SPEC_H_
#define COZ_POINTS_POINT_SPEC_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace coz::points {

struct PointSpec {
  std::string text;      // as typed
  std::string binary;    // empty: the program
  std::string file;      // empty: a function is meant
  uint32_t line = 0;     // with `file`
  std::string function;  // empty: a line or a probe is meant
  std::string provider;  // of a probe in the source (USDT); empty: none is meant
  std::string probe;
};

absl::StatusOr<PointSpec> ParsePointSpec(absl::string_view text);

// BEGIN and END of a pair: the comma that separates them is outside of brackets, so that names of
// templates may hold commas.
absl::StatusOr<std::pair<std::string, std::string>> SplitPair(absl::string_view text);

// Whether all of `text` matches `glob`: `*` is any run of characters, `?` any one.
bool MatchesGlob(absl::string_view glob, absl::string_view text);

// "ns::f<int>(char) const" as "ns::f<int>"; names that are not those of functions come back
// unchanged.
std::string WithoutParameters(absl::string_view demangled);

// The same without the template arguments at its end: "ns::f".
std::string WithoutArguments(absl::string_view demangled);

bool IsGlob(absl::string_view text);

// Whether `wanted` (PointSpec::function) names the function. Without glob characters the last parts
// of its name will do: "Run" or "Benchmark::Run" for "leveldb::Benchmark::Run(int)".
bool MatchesFunction(absl::string_view wanted, absl::string_view linkage_name,
                     absl::string_view demangled);

// The `count` texts of `candidates` that are most like `wanted`, best first; those that have little
// in common with it are left out.
std::vector<std::string> ClosestMatches(absl::string_view wanted,
                                        const std::vector<std::string>& candidates, size_t count);

}  // namespace coz::points

#endif  // COZ_POINTS_POINT_SPEC_H_
