// The options of `coz run` that say what experiments speed up, and by how much.
#ifndef COZ_TOOLS_UNIT_OPTIONS_H_
#define COZ_TOOLS_UNIT_OPTIONS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "coz/supervisor/run/run_profile.h"

namespace CLI {
class App;
}

namespace coz {

// As users type them.
struct UnitArguments {
  std::string unit;  // empty: paths where a fixed unit names callers, else lines
  int callers = 0;   // 0: as many as a fixed unit names, or 1
  bool without_inlined_copies = false;
  std::vector<std::string> groups;
  std::vector<std::string> exclude;
  std::vector<std::string> fixed_lines;
  std::vector<std::string> fixed_speedups;
  std::string given;
  std::string attribution = "callers";
};

// `arguments` must outlive the parsing.
void AddExpertUnitOptions(CLI::App* command, UnitArguments* arguments);
void AddUnitOptions(CLI::App* command, UnitArguments* arguments);

// INVALID_ARGUMENT: one sentence on the first option that makes no sense.
absl::Status CompleteUnits(const UnitArguments& arguments, supervisor::RunOptions* run);

// Percentages "0", "25%" and ranges "20-50" in steps of 5, as fractions.
absl::Status ParseSpeedups(const std::vector<std::string>& texts, std::vector<double>* fractions);

}  // namespace coz

#endif  // COZ_TOOLS_UNIT_OPTIONS_H_
