#include "bench/accuracy/program_run.h"

#include <cstdio>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "coz/testing/run_command.h"

namespace coz::accuracy {
namespace {

bool Parse(const std::string& output, ProgramRun* run) {
  const size_t start = output.rfind("workload: ");
  return start != std::string::npos &&
         sscanf(output.c_str() + start,
                "workload: visits=%lf elapsed_ns=%lf cpu_ns=%lf wait_for_cpu_ns=%lf latency_ns=%lf",
                &run->visits, &run->elapsed_ns, &run->cpu_ns, &run->wait_for_cpu_ns,
                &run->latency_ns) == 5;
}

}  // namespace

std::vector<std::string> ProgramCommand(const std::string& program, double seconds,
                                        double steps_per_us, const Variant& variant) {
  std::vector<std::string> command = {program, absl::StrFormat("--seconds=%.3f", seconds),
                                      absl::StrFormat("--steps-per-us=%.3f", steps_per_us)};
  if (!variant.label.empty()) {
    command.push_back(absl::StrFormat("--scale=%s:%.4f", variant.label, variant.scale));
  }
  if (variant.threads > 0) command.push_back(absl::StrCat("--threads=", variant.threads));
  if (!variant.plan.empty()) command.push_back(absl::StrCat("--plan=", variant.plan));
  return command;
}

absl::StatusOr<ProgramRun> RunAndRead(const std::vector<std::string>& command, double seconds,
                                      const std::string& folder,
                                      const std::function<void(pid_t)>& while_running) {
  testing::CommandOptions options;
  options.while_running = while_running;
  options.folder = folder;
  options.limit_s = static_cast<int>(3 * seconds) + 20;
  const testing::CommandResult result = testing::RunCommand(command, options);
  ProgramRun run;
  if (result.status == 0 && Parse(result.output, &run)) return run;
  const std::string last_words =
      result.errors.size() > 300 ? result.errors.substr(result.errors.size() - 300) : result.errors;
  return absl::UnavailableError(absl::StrFormat("%s ended with status %d, signal %d: %s",
                                                absl::StrJoin(command, " "), result.status,
                                                result.signal, last_words));
}

}  // namespace coz::accuracy
