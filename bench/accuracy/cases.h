// The programs of the accuracy study and their lines of interest.
//
// Shape    a table; names are those of the programs' files
// Units    none
// Errors   LineNumber returns 0 where not exactly one line of the source has the label
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
  std::string what;  // how its threads are synchronized
  std::string point;
  bool is_latency = false;
  // It has more threads than CPUs, where predictions are not claimed to be exact. It runs only
  // where it is asked for.
  bool is_crowded = false;
  // It has as many threads as there are CPUs for them (Program::Threads). It runs only where it is
  // asked for.
  bool is_wide = false;
  // Its lines wait for the outside (--unit=wait), for a process out of the profile where there is
  // one.
  bool waits = false;
  // Of programs/random.cc: a number that it is drawn by, or its text. It runs only where it is
  // asked for. Empty: another program.
  std::string plan;
  std::vector<Line> lines;
  std::vector<std::string> binary_scope;  // empty: the default
};

// Programs that are written.
const std::vector<Case>& AllCases();

struct RandomKind {
  enum class Shape { kPair, kCrowd, kPool };  // the last two: more threads than CPUs
  Shape shape = Shape::kPair;
  bool is_of_processes = false;  // each thread is one
};
// The plan that is drawn with a number.
std::string RandomPlan(int number, const RandomKind& kind);
// programs/random.cc with this plan.
Case RandomCase(const std::string& plan);

// Path of a file of the repository: in Bazel's runfiles, else relative to the current folder.
std::string RepositoryFile(const std::string& path);
std::string ProgramPath(const Case& one_case);
std::string SourcePath(const Line& line);

// The number of the line that is marked `// LINE(label)`.
int LineNumber(const Line& line);

}  // namespace coz::accuracy

#endif  // COZ_BENCH_ACCURACY_CASES_H_
