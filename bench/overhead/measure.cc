#include "bench/overhead/measure.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "absl/strings/str_format.h"
#include "bench/median.h"
#include "coz/base/clock.h"
#include "coz/testing/run_command.h"

namespace coz::overhead {
namespace {

constexpr int kLimitSeconds = 300;

// The value of " NAME=" in the load's line, or 0.
double Field(const std::string& output, const std::string& name) {
  const size_t line = output.rfind("load: ");
  if (line == std::string::npos) return 0;
  const size_t at = output.find(" " + name + "=", line);
  return at == std::string::npos ? 0 : atof(output.c_str() + at + name.size() + 2);
}

std::optional<Sample> Summarize(const std::vector<double>& values) {
  if (values.empty()) return std::nullopt;
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  return Sample{Median(values), *least, *most};
}

}  // namespace

std::optional<Figures> RunOnce(const std::vector<std::string>& command,
                               const std::vector<std::string>& environment, std::string* error) {
  testing::CommandOptions options;
  options.limit_s = kLimitSeconds;
  options.environment = environment;
  const uint64_t start_ns = MonotonicNowNs();
  const testing::CommandResult result = testing::RunCommand(command, options);
  const uint64_t end_ns = MonotonicNowNs();
  if (result.status != 0 || result.output.find("load: ") == std::string::npos) {
    *error = absl::StrFormat("status %d, signal %d: %s", result.status, result.signal,
                             result.errors.substr(0, 200));
    return std::nullopt;
  }
  Figures figures;
  figures.ns_per_op = Field(result.output, "ns_per_op");
  figures.rss_kb = Field(result.output, "rss_kb");
  figures.pss_kb = Field(result.output, "pss_kb");
  figures.samples = Field(result.output, "samples");
  figures.start_ns = Field(result.output, "main_ns") - static_cast<double>(start_ns);
  figures.wall_ns = static_cast<double>(end_ns - start_ns);
  return figures;
}

std::vector<Result> Compare(const std::vector<Variant>& variants,
                            const std::vector<std::string>& load, int rounds,
                            const std::function<double(const Figures&)>& figure) {
  std::vector<Result> results(variants.size());
  std::vector<std::vector<double>> values(variants.size());
  std::vector<std::vector<double>> ratios(variants.size());
  for (int round = 0; round < rounds; ++round) {
    double bare = 0;
    for (size_t i = 0; i < variants.size(); ++i) {
      if (!results[i].error.empty()) continue;
      std::vector<std::string> command = variants[i].prefix;
      command.insert(command.end(), load.begin(), load.end());
      if (variants[i].before_each) variants[i].before_each();
      const std::optional<Figures> figures =
          RunOnce(command, variants[i].environment, &results[i].error);
      if (!figures.has_value()) continue;
      const double value = figure(*figures);
      if (i == 0) bare = value;
      values[i].push_back(value);
      if (bare > 0) ratios[i].push_back(value / bare);
    }
  }
  for (size_t i = 0; i < variants.size(); ++i) {
    results[i].value = Summarize(values[i]);
    results[i].ratio = Summarize(ratios[i]);
  }
  return results;
}

}  // namespace coz::overhead
