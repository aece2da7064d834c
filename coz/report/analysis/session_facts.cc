#include "coz/report/analysis/session_facts.h"

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"

namespace coz::report {

uint64_t TimeBetweenSamplesNs(const profile::Session& session, const profile::SessionEnd* end) {
  const bool alone = end != nullptr && end->peak_threads() == 1;
  return alone && session.lone_thread_period_ns() != 0 ? session.lone_thread_period_ns()
                                                       : session.sampling_period_ns();
}

double MeanSamplingPeriodNs(const profile::Profile& profile) {
  const SessionEnds ends(profile);
  double cpu_ns = 0;
  double samples = 0;
  for (const profile::Session& session : profile.session()) {
    const profile::SessionEnd* end = ends.Of(session);
    // At least 1, so that without any end or sample this is the mean of the sessions.
    const double weight = 1 + (end == nullptr ? 0 : static_cast<double>(end->total_samples()));
    cpu_ns += weight * static_cast<double>(session.sampling_period_ns());
    samples += weight;
  }
  return samples == 0 ? 0 : cpu_ns / samples;
}

const char* SourceId(profile::SamplingSource source) {
  switch (source) {
    case profile::SAMPLING_SOURCE_PERF_SIGTRAP:
      return "perf_sigtrap";
    case profile::SAMPLING_SOURCE_PERF_FSETSIG:
      return "perf_fsetsig";
    case profile::SAMPLING_SOURCE_CPU_TIMER:
      return "cpu_timer";
    case profile::SAMPLING_SOURCE_CPU_CLOCK:
      return "cpu_clock";
    default:
      return "unknown";
  }
}

const profile::SourceChange* SourceChangeOf(const profile::Profile& profile,
                                            const profile::Session& session) {
  const auto found = std::find_if(
      profile.source_change().begin(), profile.source_change().end(),
      [&](const profile::SourceChange& change) { return change.session() == session.id(); });
  return found == profile.source_change().end() ? nullptr : &*found;
}

namespace {

// What the note of a change says: timers come with the kernel's tick.
constexpr double kTickMs = 4;

bool IsToClock(const profile::SourceChange& change) {
  return change.sampling_source() == profile::SAMPLING_SOURCE_CPU_CLOCK;
}

// Of perf events of threads.
std::string WhyEventsAreTooDear(const profile::SourceChange& change) {
  if (change.slowdown() > 0) {
    return absl::StrFormat(
        "took at least %.0f %% of the time of a visit, with %.0f switches a second",
        100 * change.slowdown(), change.switches_per_second());
  }
  if (change.threads_per_second() > 0) {
    return absl::StrFormat("are made for each thread, and %.0f began in a second",
                           change.threads_per_second());
  }
  const double cost_ns =
      change.switches_per_second() * static_cast<double>(change.switch_cost_ns());
  return absl::StrFormat(
      "are set anew at each switch: %.0f switches a second that take %.0f us more each are %.0f %% "
      "of a CPU, of %.0f %% that the program used",
      change.switches_per_second(), static_cast<double>(change.switch_cost_ns()) / 1000,
      cost_ns / 1e7, change.cpu_ns_per_second() / 1e7);
}

double MsBetweenSamplesAfter(const profile::SourceChange& change, const profile::Session& session) {
  return IsToClock(change) ? static_cast<double>(session.sampling_period_ns()) / 1e6 : kTickMs;
}

}  // namespace

std::string DescribeSampling(const profile::Profile& profile, const profile::Session& session,
                             const profile::SessionEnd* end) {
  const auto words = [](profile::SamplingSource source) {
    return absl::StrReplaceAll(SourceId(source), {{"_", " "}});
  };
  std::string text =
      absl::StrFormat("%s every %.3g ms of CPU time, %s", words(session.sampling_source()),
                      static_cast<double>(TimeBetweenSamplesNs(session, end)) / 1e6,
                      session.kernel_samples_included() ? "user and kernel code" : "user code");
  if (const profile::SourceChange* change = SourceChangeOf(profile, session)) {
    absl::StrAppendFormat(&text, "; from %.1f s on by %s every %.3g ms, user and kernel code",
                          static_cast<double>(change->at_ns()) / 1e9,
                          words(change->sampling_source()),
                          MsBetweenSamplesAfter(*change, session));
  }
  return text;
}

std::string WhatSourceLacks(const profile::Profile& profile, const profile::Session& session) {
  return SourceChangeOf(profile, session) == nullptr ? session.fallback_reason() : "";
}

std::string DescribeSourceChange(const profile::SourceChange& change) {
  const std::string reason = WhyEventsAreTooDear(change);
  const char* const from = IsToClock(change) ? "a clock of each CPU, in user and kernel code"
                                             : "CPU timers, every 4 ms in user and kernel code";
  return absl::StrFormat(
      "from %.1f s on samples come from %s, as perf events of threads %s; --sampler=perf-sigtrap "
      "keeps these",
      static_cast<double>(change.at_ns()) / 1e9, from, reason);
}

bool MakesBaselinesAlone(const profile::Profile& profile) {
  const auto makes_others = [](const profile::Session& session) {
    const auto& fixed = session.options().fixed_virtual_speedup();
    return fixed.empty() ||
           std::any_of(fixed.begin(), fixed.end(), [](double speedup) { return speedup != 0; });
  };
  return !profile.session().empty() &&
         std::none_of(profile.session().begin(), profile.session().end(), makes_others);
}

double SecondsUntilItEnds(const profile::Profile& profile) {
  double ns = 0;
  for (const profile::SessionEnd& end : profile.session_end()) {
    if (end.reason() != profile::END_REASON_TARGET_EXITED) return 0;
    ns += static_cast<double>(end.run_time_ns());
  }
  for (const profile::Session& session : profile.session()) {
    if (session.options().attached_pid() != 0) return 0;
  }
  const int ends = profile.session_end_size();
  const bool all_ended = profile.session_size() > 0 && ends >= profile.session_size();
  return all_ended ? ns / 1e9 / ends : 0;
}

std::string Quoted(const std::string& argument) {
  const bool plain = !argument.empty() && std::all_of(argument.begin(), argument.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || absl::StrContains("_-+=./:,@%", c);
  });
  if (plain) return argument;
  return absl::StrCat("'", absl::StrReplaceAll(argument, {{"'", "'\\''"}}), "'");
}

std::string CommandText(const profile::Session& session) {
  std::vector<std::string> words;
  for (const std::string& argument : session.command()) words.push_back(Quoted(argument));
  return absl::StrJoin(words, " ");
}

std::string DescribeCalibration(const profile::Session& session) {
  const profile::Calibration& found = session.machine().calibration();
  if (found.figures() == 0) return "";
  return absl::StrFormat(
      "predictions were off by %.1f points on average, %.1f at worst, in `coz selftest` there on "
      "%s",
      100 * found.mean_error(), 100 * found.worst_error(),
      LocalTime(static_cast<uint64_t>(found.time_s()) * 1'000'000'000, "%Y-%m-%d"));
}

std::string LocalTime(uint64_t unix_ns, const char* format) {
  const auto seconds = static_cast<time_t>(unix_ns / 1'000'000'000);
  tm parts = {};
  char text[40] = "";
  if (localtime_r(&seconds, &parts) != nullptr) strftime(text, sizeof(text), format, &parts);
  return text;
}

}  // namespace coz::report
