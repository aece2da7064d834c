// Runs a load bare and under profilers in turn, and compares the runs.
//
// Shape    one call of Compare per row of the table; the bare program is variant 0
// Units    ns per operation; ratios to the bare program
// Errors   a variant whose run fails has no figure; its output is kept
// Threads  safe
// Signals  none
// Source   docs/results.md, "Overhead"
#ifndef COZ_BENCH_OVERHEAD_MEASURE_H_
#define COZ_BENCH_OVERHEAD_MEASURE_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace coz::overhead {

struct Figures {
  double ns_per_op = 0;
  double rss_kb = 0;
  double pss_kb = 0;
  double samples = 0;   // of an event that the load opens itself
  double start_ns = 0;  // from before fork to the program's main
  double wall_ns = 0;   // of the whole command
};

// Runs a command once. If it fails, returns nullopt and puts the reason into `error`.
std::optional<Figures> RunOnce(const std::vector<std::string>& command,
                               const std::vector<std::string>& environment, std::string* error);

struct Variant {
  std::string name;  // "bare", "coz", "peer"
  std::vector<std::string> prefix;
  std::vector<std::string> environment;
  std::function<void()> before_each;  // may be empty
};

struct Sample {
  double median = 0;
  double low = 0;
  double high = 0;
};

struct Result {
  std::optional<Sample> value;
  std::optional<Sample> ratio;  // to the bare run of the same round
  std::string error;
};

// One result per variant.
std::vector<Result> Compare(const std::vector<Variant>& variants,
                            const std::vector<std::string>& load, int rounds,
                            const std::function<double(const Figures&)>& figure);

}  // namespace coz::overhead

#endif  // COZ_BENCH_OVERHEAD_MEASURE_H_
