#include "coz/supervisor/run/session_description.h"

#include <sys/utsname.h>

#include <ctime>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <vector>

#include "absl/strings/str_format.h"
#include "coz/base/clock.h"
#include "coz/base/version.h"
#include "coz/supervisor/calibration/calibration.h"
#include "coz/supervisor/run/profile_recorder.h"
#include "coz/supervisor/target/idle_halts.h"
#include "coz/supervisor/target/wake_cost.h"

namespace coz::supervisor {
namespace {

std::string CpuModel() {
  std::ifstream info("/proc/cpuinfo");
  std::string line;
  while (std::getline(info, line)) {
    if (line.rfind("model name", 0) == 0) {
      const size_t colon = line.find(": ");
      return colon == std::string::npos ? "" : line.substr(colon + 2);
    }
  }
  return "";
}

// Empty where it was left to coz.
std::string AskedSource(VisitSource source) {
  switch (source) {
    case VisitSource::kBreakpoint:
      return "breakpoint";
    case VisitSource::kProbe:
      return "uprobe";
    case VisitSource::kBest:
      break;
  }
  return "";
}

std::string AskedUnwinder(uint32_t unwinder) {
  return unwinder == 1 ? "eh-frame" : unwinder == 2 ? "libunwind" : "";
}

// --follow=all is the default, but said explicitly it makes the program a launcher.
std::string AskedFollow(const RunOptions& options) {
  if (options.follow == shared::Follow::kAll) return options.is_launcher ? "all" : "";
  return options.is_launcher ? "exec" : "none";
}

void FillPoints(const OutsidePointOptions& points, profile::Options* written) {
  for (const std::string& place : points.progress) written->add_progress(place);
  for (const std::string& line : points.sampled) written->add_progress_sampled(line);
  for (const std::string& pair : points.latency) written->add_latency(pair);
  written->set_progress_source(AskedSource(points.source));
}

}  // namespace

std::vector<std::string> BinaryScopeOf(const RunOptions& options) {
  if (!options.binary_scope.empty()) return options.binary_scope;
  // The program itself is one library, which leaves no choice.
  return {options.units.kind == sourcemap::UnitKind::kLibrary ? "%" : "MAIN"};
}

profile::Options AskedOptions(const RunOptions& options, const Series& series) {
  profile::Options written;
  for (const std::string& pattern : BinaryScopeOf(options)) written.add_binary_scope(pattern);
  for (const std::string& pattern : options.source_scope) written.add_source_scope(pattern);
  for (const std::string& name : options.fixed_units) written.add_fixed_line(name);
  written.set_unit_kind(KindInProfile(options.units.kind));
  if (options.units.kind == sourcemap::UnitKind::kPath) {
    written.set_callers(options.units.callers);
  }
  written.set_without_inlined_copies(!options.units.inlined_copies);
  for (const std::string& group : options.groups) written.add_group(group);
  for (const sourcemap::UnitPattern& pattern : options.units.exclude)
    written.add_exclude(pattern.text());
  if (!options.given.empty()) {
    written.set_given(absl::StrFormat("%s=%.4g%%", options.given, options.given_speedup * 100));
  }
  written.set_innermost_only(options.innermost_only);
  for (const std::string& pattern : options.threads) written.add_thread(pattern);
  for (const std::string& group : options.thread_groups) written.add_thread_group(group);
  for (const std::string& function : options.count) written.add_count(function);
  for (const std::string& function : options.time) written.add_time(function);
  for (const std::string& pattern : options.api) written.add_api(pattern);
  for (double speedup : options.fixed_speedups) written.add_fixed_virtual_speedup(speedup);
  written.set_end_to_end(options.end_to_end);
  written.set_duration_ns(options.duration_ns);
  written.set_until_width(options.until_width);
  FillPoints(options.points, &written);
  if (options.attach_pid == 0) written.set_follow(AskedFollow(options));
  written.set_attached_pid(options.named_pid != 0 ? options.named_pid : options.attach_pid);
  written.set_attached_tree(options.attach_tree);
  if (options.sampling_source != sampler::SamplingSource::kNone) {
    written.set_sampler(sampler::SamplingSourceName(options.sampling_source));
  }
  written.set_unwinder(AskedUnwinder(options.unwinder));
  written.set_until_last(options.until_last);
  written.set_exclude_kernel(options.exclude_kernel);
  written.set_awake(options.awake);
  if (series.most == 1) return written;
  written.set_repeat(static_cast<uint32_t>(series.most));
  written.set_repetition(static_cast<uint32_t>(series.run - 1));
  return written;
}

profile::Session DescribeSession(const RunOptions& options, const Series& series,
                                 const experiment::SchedulerOptions& scheduler,
                                 const sampler::SamplerStatus& sampler, int cpus,
                                 double cpu_quota) {
  profile::Session session;
  for (const std::string& argument : options.command) session.add_command(argument);
  std::error_code ignored;
  session.set_working_folder(std::filesystem::current_path(ignored).string());
  timespec wall;
  clock_gettime(CLOCK_REALTIME, &wall);
  session.set_start_unix_ns(static_cast<uint64_t>(wall.tv_sec) * kNsPerSecond +
                            static_cast<uint64_t>(wall.tv_nsec));
  utsname names = {};
  uname(&names);
  session.mutable_machine()->set_host(names.nodename);
  session.mutable_machine()->set_kernel(names.release);
  session.mutable_machine()->set_cpu_model(CpuModel());
  session.mutable_machine()->set_cpu_count(static_cast<uint32_t>(cpus));
  session.mutable_machine()->set_cpu_quota(cpu_quota);
  const IdleMachine idle = LookAtIdleMachine();
  session.mutable_machine()->set_virtual_machine(idle.is_virtual);
  session.mutable_machine()->set_idle_driver(idle.idle_driver);
  session.mutable_machine()->set_halted_wake_ns(HaltedWakeNs());
  if (const auto kept = ReadCalibration(CalibrationPath()); kept.has_value()) {
    profile::Calibration* calibration = session.mutable_machine()->mutable_calibration();
    calibration->set_time_s(kept->time_s);
    calibration->set_figures(kept->figures);
    calibration->set_mean_error(kept->mean_error);
    calibration->set_worst_error(kept->worst_error);
  }
  session.set_coz_version(kCozVersion);
  session.set_sampling_source(SourceInProfile(sampler.source));
  session.set_fallback_reason(sampler::ExplainSamplerStatus(sampler));
  session.set_kernel_samples_included(sampler.kernel_included);
  session.set_sampling_period_ns(options.sampling_period_ns);
  session.set_seed(*scheduler.seed);
  *session.mutable_options() = AskedOptions(options, series);
  session.mutable_options()->set_min_experiment_ns(scheduler.min_experiment_ns);
  session.mutable_options()->set_cooloff_ns(scheduler.cooloff_ns);
  return session;
}

}  // namespace coz::supervisor
