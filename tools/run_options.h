// The options that `coz run` and `coz attach` have in common.
//
// Shape    RunArguments are filled by CLI11, then completed
// Units    those that users type; RunOptions has ns
// Errors   CompleteRunArguments: INVALID_ARGUMENT or NOT_FOUND, one sentence with the next command
// Threads  compatible
// Signals  none
// Source   none
#ifndef COZ_TOOLS_RUN_OPTIONS_H_
#define COZ_TOOLS_RUN_OPTIONS_H_

#include <cstdint>
#include <string>

#include "CLI/App.hpp"
#include "absl/status/status.h"
#include "coz/supervisor/run/run_profile.h"
#include "tools/unit_options.h"

namespace coz {

// Option values in the units that users type.
struct RunArguments {
  supervisor::RunOptions run;
  UnitArguments units;
  double duration_s = 0;
  int repeat = 1;
  std::string until;
  double sampling_period_ms = 0;  // not given
  double experiment_s = 0;
  uint64_t seed = 0;
  std::string point_source = "auto";
  std::string sampler = "auto";
  std::string unwinder = "auto";
  std::string follow = "all";
};

// Program or process are the caller's to complete.
absl::Status CompleteRunArguments(const CLI::App& command, RunArguments* arguments);

bool WasInterrupted(const supervisor::RunResult& result);

void AddPointOptions(CLI::App* command, RunArguments* a);
void AddCountOption(CLI::App* command, RunArguments* a);
void AddScopeOptions(CLI::App* command, RunArguments* a);
// Of processes that the program starts.
void AddFollowOption(CLI::App* command, RunArguments* a);
void AddLengthOptions(CLI::App* command, RunArguments* a);
// For a program that coz starts, and so may start again.
void AddRepeatOptions(CLI::App* command, RunArguments* a);
void AddOutputOptions(CLI::App* command, RunArguments* a);
void AddExperimentOptions(CLI::App* command, RunArguments* a);
void AddSamplingOptions(CLI::App* command, RunArguments* a);
// Of samplers, for a process that is sampled in its own way from the start.
void AddAttachSamplerOption(CLI::App* command, RunArguments* a);
void AddSamplerOption(CLI::App* command, RunArguments* a);

}  // namespace coz

#endif  // COZ_TOOLS_RUN_OPTIONS_H_
