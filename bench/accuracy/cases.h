// The programs of the accuracy study, their lines of interest, and what is known to go wrong with
// them.
//
// Shape    a table; names are those of the programs' files
// Units    none
// Errors   LineNumber: 0 where the source has no single line with the label
// Threads  safe
// Signals  none
// Source   docs/results.md, "Accuracy"
#ifndef COZ_BENCH_ACCURACY_CASES_H_
#define COZ_BENCH_ACCURACY_CASES_H_

#include <string>
#include <vector>

namespace coz::accuracy {

struct Line {
  std::string label;
  std::string file;  // in bench/accuracy/programs
};

struct Case {
  std::string name;
  std::string what;  // is synchronized by what
  std::string point;
  bool is_latency = false;
  // More threads than CPUs, of which no exactness is claimed: only where it is asked for by name.
  bool is_crowded = false;
  std::vector<Line> lines;
  std::vector<std::string> binary_scope;  // empty: the default
};

const std::vector<Case>& AllCases();

// A file of the repository: in Bazel's runfiles, or from the current folder.
std::string RepositoryFile(const std::string& path);
std::string ProgramPath(const Case& one_case);
std::string SourcePath(const Line& line);

// The line that is marked `// LINE(label)`.
int LineNumber(const Line& line);

}  // namespace coz::accuracy

#endif  // COZ_BENCH_ACCURACY_CASES_H_
