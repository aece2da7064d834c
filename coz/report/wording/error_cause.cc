#include "coz/report/wording/error_cause.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "coz/report/analysis/systematic_error.h"

namespace coz::report {
namespace {

// An experiment of half a second with fewer is worth making longer.
constexpr double kVisitsWanted = 100;

// From this share of experiments on, busy CPUs are the likelier cause than CPUs that halt.
constexpr double kMostlyBusy = 0.5;

constexpr char kFewerThreads[] = "give the program fewer threads, or more CPUs";

const char* RemedyOfMissed(const ErrorFacts& facts) {
  if (facts.crowded_share >= kMostlyBusy) return kFewerThreads;
  if (facts.beside_share >= kMostlyBusy) return "stop what else runs and profile again";
  return "leave the machine idle and profile again with `coz run --awake`";
}

}  // namespace

const char* ErrorCauseId(ErrorCause cause) {
  switch (cause) {
    case ErrorCause::kMethod:
      return "method";
    case ErrorCause::kAchieved:
      return "achieved";
    case ErrorCause::kSampling:
      return "sampling";
    case ErrorCause::kClocks:
      return "clocks";
    case ErrorCause::kCrowd:
      return "crowd";
    case ErrorCause::kBeside:
      return "beside";
    case ErrorCause::kOwed:
      return "owed";
    case ErrorCause::kPauses:
      return "pauses";
    case ErrorCause::kHalts:
      return "halts";
    case ErrorCause::kEnds:
      return "ends";
    case ErrorCause::kPhases:
      return "phases";
    case ErrorCause::kDelays:
      return "delays";
  }
  return "";
}

std::string ErrorCauseText(ErrorCause cause, const ErrorFacts& facts) {
  switch (cause) {
    case ErrorCause::kMethod:
      return "virtual speedups differ from real ones by as much in programs whose answer is known";
    case ErrorCause::kAchieved:
      return absl::StrFormat("pauses made %.0f %% of the virtual speedups asked for",
                             100 * facts.achieved_share);
    case ErrorCause::kSampling:
      return absl::StrFormat("being sampled takes %.1f %% of the time of a visit",
                             100 * facts.sampling_share);
    case ErrorCause::kClocks:
      return absl::StrFormat("%.0f %% of the CPU time by the threads' clocks has no sample",
                             100 * facts.unseen_share);
    case ErrorCause::kCrowd:
      return absl::StrFormat(
          "in %.0f %% of its experiments %.1f threads of the program were runnable on %.0f CPUs",
          100 * facts.crowded_share, facts.runnable_threads, facts.cpus);
    case ErrorCause::kBeside:
      return absl::StrFormat("in %.0f %% of its experiments other programs competed for the CPUs",
                             100 * facts.beside_share);
    case ErrorCause::kOwed:
      return "a thread that slept for long paid its pauses only in the next experiment";
    case ErrorCause::kPauses:
      return "pauses were overslept, and a part of that is lost";
    case ErrorCause::kHalts:
      return absl::StrFormat(
          "idle CPUs halt, the wake of such a CPU takes %.0f us more, and a line that is really "
          "faster changes how many there are",
          facts.halted_wake_ns / 1000);
    case ErrorCause::kEnds:
      return absl::StrFormat(
          "an experiment has only %.0f visits, and queues may fill or drain in it: make them "
          "longer "
          "with `coz run --experiment-length=%.0f`",
          facts.visits, std::max(1.0, std::ceil(kVisitsWanted / facts.visits / 2)));
    case ErrorCause::kPhases:
      return "it may be active in a part of the run only, and too few baselines tell: run longer";
    case ErrorCause::kDelays:
      return absl::StrFormat("a pause of 1 ms takes %.2f ± %.2f ms of the program's time",
                             facts.delay_factor, facts.delay_factor_error);
  }
  return "";
}

const char* ErrorRemedy(ErrorCause cause, const ErrorFacts& facts) {
  switch (cause) {
    case ErrorCause::kAchieved:
      return RemedyOfMissed(facts);
    case ErrorCause::kClocks:
      return "profile again with fewer samples, `coz run --sampling-period=2`";
    case ErrorCause::kCrowd:
      return kFewerThreads;
    default:
      return "";
  }
}

std::string DoubtsText(const SystematicError& error) {
  std::string text;
  for (ErrorCause cause : error.doubts) {
    absl::StrAppend(&text, text.empty() ? "" : "; ", ErrorCauseText(cause, error.facts), ": ",
                    ErrorRemedy(cause, error.facts));
  }
  return text;
}

}  // namespace coz::report
