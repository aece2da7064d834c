#include "coz/report/text/report_notes.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "coz/report/analysis/analysis.h"
#include "coz/report/analysis/coarse_samples.h"
#include "coz/report/analysis/delay_factor.h"
#include "coz/report/analysis/experiment_table.h"
#include "coz/report/analysis/session_facts.h"
#include "coz/report/analysis/spinning.h"
#include "coz/report/analysis/systematic_error.h"
#include "coz/report/analysis/wait_times.h"
#include "coz/report/format/profile.pb.h"
#include "coz/report/format/profile_reader.h"
#include "coz/report/format/program_identity.h"
#include "coz/report/statistics/statistics.h"
#include "coz/report/wording/baseline_use.h"
#include "coz/report/wording/error_cause.h"
#include "coz/report/wording/find_source.h"
#include "coz/report/wording/missed_parts.h"
#include "coz/report/wording/repeat_command.h"
#include "coz/report/wording/scope_share.h"
#include "coz/report/wording/surroundings.h"
#include "coz/report/wording/text_layout.h"
#include "coz/report/wording/unit_names.h"

namespace coz::report {
namespace {

// How each session ended, where that is not the ordinary end.
void AddEnds(const profile::Profile& profile, std::vector<std::string>* notes) {
  const SessionEnds ends(profile);
  int open = 0;
  for (const profile::Session& session : profile.session()) {
    const profile::SessionEnd* end = ends.Of(session);
    if (end == nullptr) {
      ++open;
    } else if (end->exit_signal() != 0) {
      notes->push_back(absl::StrCat("the program was ended by signal ", end->exit_signal()));
    } else if (end->exit_status() != 0) {
      notes->push_back(absl::StrCat("the program ended with exit status ", end->exit_status()));
    }
  }
  if (open > 0) {
    notes->push_back(absl::StrCat(Counted(static_cast<uint64_t>(open), "session"),
                                  " without an end: cut short, or still running"));
  }
}

// Of concatenated profiles, or merged ones with --any-program.
void AddBuilds(const profile::Profile& profile, std::vector<std::string>* notes) {
  const size_t programs = ProgramsOf(profile).size();
  if (programs < 2) return;
  notes->push_back(absl::StrFormat(
      "sessions are of %d programs, or builds of one, and their figures are added up as if they "
      "were of one; look at each with `coz report --by binary`, and compare them with `coz diff`",
      programs));
}

// Why an experiment is not used (profile::Taint::Reason).
const char* TaintWords(int reason) {
  switch (reason) {
    case profile::Taint::OWED_DELAY:
      return "delay still owed at the end";
    case profile::Taint::LOST_SAMPLES:
      return "samples lost";
    case profile::Taint::CUT_SHORT:
      return "cut short";
    case profile::Taint::OVERCOMMITTED:
      return "more runnable threads than CPUs";
    case profile::Taint::SUSPENDED:
      return "suspended";
    case profile::Taint::CPU_QUOTA:
      return "stopped by a CPU quota";
    case profile::Taint::SUPERVISOR_LATE:
      return "without delays at its end, as coz got no CPU in time";
    default:
      return "for other reasons";
  }
}

void AddTaints(const Analysis& analysis, std::vector<std::string>* notes) {
  if (analysis.tainted == 0) return;
  std::vector<std::string> reasons;
  for (int i = 0; i < profile::Taint::Reason_ARRAYSIZE; ++i) {
    if (analysis.taints_by_reason[i] > 0) {
      reasons.push_back(absl::StrCat(analysis.taints_by_reason[i], " ", TaintWords(i)));
    }
  }
  notes->push_back(absl::StrCat(Counted(static_cast<uint64_t>(analysis.tainted), "experiment"),
                                " not used: ", absl::StrJoin(reasons, ", ")));
}

void AddOutliers(const Analysis& analysis, std::vector<std::string>* notes) {
  int most = 0;
  for (const PointAnalysis& point : analysis.points) {
    for (const LineAnalysis& line : point.lines) most = std::max(most, line.outliers);
  }
  if (most == 0) return;
  notes->push_back(
      absl::StrCat("up to ", Counted(static_cast<uint64_t>(most), "experiment"),
                   " of a line took far longer or shorter than those like it, as if something else "
                   "had disturbed the machine, and ",
                   most == 1 ? "is" : "are", " not used for it"));
}

// More runnable threads than CPUs: a paused thread then only makes room for another. Older profiles
// count other programs' threads, too, so where these are noted, there have to be more live threads
// than CPUs.
void AddOversubscribed(const ExperimentTable& table, bool others_are_noted,
                       std::vector<std::string>* notes) {
  int crowded = 0;
  int experiments = 0;
  double runnable = 0;
  for (const ExperimentRow& row : table.experiments) {
    experiments += static_cast<int>(row.pooled);
    if (!row.IsCrowded() || (others_are_noted && row.live_threads <= row.cpus)) continue;
    crowded += static_cast<int>(row.pooled);
    runnable += row.pooled * row.runnable_threads_average;
  }
  if (crowded < kMuchCrowded * experiments || crowded == 0) return;
  notes->push_back(absl::StrFormat(
      "in %d of %d experiments more threads of the program were runnable (%.1f on average) than "
      "there are CPUs, so effects may look smaller than they are, or larger: intervals are wider "
      "by that, and verdicts with a question mark are not sure; give the program fewer threads, or "
      "more CPUs",
      crowded, experiments, runnable / crowded));
}

// One of them stands for all of its point's: sessions of one program begin alike.
void AddWarmUps(const ExperimentTable& table, std::vector<std::string>* notes) {
  std::map<size_t, const WarmUp*> longest;
  for (const WarmUp& one : table.warm_ups) {
    const WarmUp*& known = longest[one.point];
    if (known == nullptr || known->until_ns < one.until_ns) known = &one;
  }
  for (const auto& [point, warm_up] : longest) {
    notes->push_back(absl::StrFormat(
        "the first %.1f s are not used for %s, which came %.2g times as often then as later: "
        "experiments of a start or warm-up cannot be compared with others",
        static_cast<double>(warm_up->until_ns) / 1e9, Printable(table.points[point].name),
        warm_up->rate));
  }
}

void AddWindDowns(const ExperimentTable& table, std::vector<std::string>* notes) {
  for (const WindDown& one : table.wind_downs) {
    notes->push_back(absl::StrFormat(
        "the last %.2g s of a run are not used for %s, which came %.2g times as often then as "
        "before: experiments of a program that runs out of work cannot be compared with others",
        static_cast<double>(one.lasts_ns) / 1e9, Printable(table.points[one.point].name),
        one.rate));
  }
}

void AddCourses(const ExperimentTable& table, std::vector<std::string>* notes) {
  for (const RunCourse& one : table.courses) {
    notes->push_back(absl::StrFormat(
        "a visit of %s takes up to %.2g times as long at one place of a run as at another, in all "
        "runs alike; experiments are compared with what is usual at their place",
        Printable(table.points[one.point].name), one.range));
  }
}

// Delay owed at the end of an experiment was taken off its time, but is paid in the next.
void AddOwed(const ExperimentTable& table, std::vector<std::string>* notes) {
  int experiments = 0;
  int owing = 0;
  double shares = 0;
  for (const ExperimentRow& row : table.experiments) {
    if (row.IsBaseline() || row.elapsed_ns == 0) continue;
    ++experiments;
    const double share = static_cast<double>(row.owed_ns) / static_cast<double>(row.elapsed_ns);
    if (share <= kMuchOwed) continue;
    ++owing;
    shares += share;
  }
  if (owing * 10 < experiments || owing == 0) return;
  notes->push_back(absl::StrFormat(
      "in %d of %d experiments with a speedup a thread that slept for long still owed pauses at "
      "the end, "
      "%.0f %% of the experiment on average, and paid them in the next; the progress that such a "
      "thread makes is then predicted wrong, mostly as getting slower; that of others is not",
      owing, experiments, 100 * shares / owing));
}

constexpr absl::string_view kWhereInputPaces =
    "give the program as much input as it can take, or measure the latency with COZ_BEGIN and "
    "COZ_END";

void AddPaced(const ExperimentTable& table, std::vector<std::string>* notes) {
  for (const DelayFactor& factor : table.delay_factors) {
    if (!IsPaced(factor)) continue;
    notes->push_back(absl::StrFormat(
        "in %d controls, in which all threads paused alike, %.0f %% of the pauses left no trace in "
        "the rate of %s: a timer or a load at a pace of its own sets that rate, and faster code "
        "does not raise it; %s",
        factor.controls, 100 * std::clamp(1 - factor.measured.value, 0.0, 1.0),
        Printable(table.points[factor.point].name), kWhereInputPaces));
  }
}

void AddDearPauses(const ExperimentTable& table, std::vector<std::string>* notes) {
  constexpr double kWorthSaying = 1.03;
  for (const DelayFactor& factor : table.delay_factors) {
    if (factor.measured.low < kWorthSaying) continue;
    notes->push_back(absl::StrFormat(
        "in %d controls, in which all threads paused alike, a pause of 1 ms took %.2f ms (%.2f to "
        "%.2f) of the time of %s; %.2f ms is taken off for each in all experiments",
        factor.controls, factor.measured.value, factor.measured.low, factor.measured.high,
        Printable(table.points[factor.point].name), factor.used));
  }
}

// Whether controls tell of all points that visits count that nothing outside sets their pace, or
// of one that it does.
bool IsPaceKnown(const ExperimentTable& table) {
  bool is_known = !table.delay_factors.empty();
  for (size_t point = 0; point < table.points.size(); ++point) {
    const DelayFactor* factor = DelayFactorOf(table, point);
    if (factor != nullptr && IsPaced(*factor)) return true;
    is_known &= factor != nullptr && factor->measured.low > kPacedBelow;
  }
  return is_known;
}

bool AreAllEndToEnd(const ExperimentTable& table) {
  return std::all_of(table.points.begin(), table.points.end(), [](const PointRow& point) {
    return point.kind == profile::PROGRESS_POINT_KIND_END_TO_END;
  });
}

// If fewer than one thread runs on average, at times none runs: all wait for something outside. Coz
// cannot tell how often input comes, so it notes this and does not blame the experiments. A run as
// a whole has no pace, and takes time to begin and to end.
void AddIdle(const ExperimentTable& table, const BaselineUse& use,
             std::vector<std::string>* notes) {
  constexpr double kWorthSaying = 0.1;
  const bool is_what_was_asked_for = use.with_waits != 0;
  if (is_what_was_asked_for || IsPaceKnown(table) || AreAllEndToEnd(table)) return;
  // A thread that a CPU quota stopped does not wait for anything outside.
  const double idle =
      use.elapsed_ns > 0 ? 1 - (use.running_ns + use.quota_throttled_ns) / use.elapsed_ns : 0;
  // Threads that wait for a CPU look idle too.
  if (idle < kWorthSaying || use.with_busy_cpus * 5 >= use.baselines) return;
  notes->push_back(
      absl::StrFormat("no thread of the program ran for at least %.0f %% of the time, all waited "
                      "for input, timers or disks; if input comes at a pace of its own, throughput "
                      "cannot rise, and predictions say what is saved: %s",
                      100 * idle, kWhereInputPaces));
}

// By the threads' time, or where that is not known, in seconds.
void AddOwnWaits(const profile::Profile& profile, const ExperimentTable& table,
                 const std::optional<WaitTimes>& times, std::vector<std::string>* notes) {
  constexpr size_t kMostSaid = 5;
  constexpr double kWorthSaying = 0.005;
  const UnitNames names(table);
  std::vector<std::string> places;
  for (const OwnWaitRow& row : OwnWaits(profile)) {
    if (places.size() == kMostSaid) break;
    const auto waited_ns = static_cast<double>(row.waited_ns);
    if (times.has_value() && waited_ns < kWorthSaying * times->lived_ns) break;
    std::string place = names.PlaceOf(row.call);
    if (!row.call.file.empty()) absl::StrAppend(&place, " (", names.DetailOf(row.call), ")");
    absl::StrAppend(&place, times.has_value()
                                ? absl::StrFormat(" %.0f %%", 100 * waited_ns / times->lived_ns)
                                : absl::StrFormat(" %.2g s", waited_ns / 1e9));
    places.push_back(std::move(place));
  }
  if (places.empty()) return;
  notes->push_back(absl::StrCat("of waits that are no units, the longest are at ",
                                absl::StrJoin(places, ", "),
                                times.has_value() ? " of the threads' time" : " in all threads"));
}

// Waits for the program's own threads are no units, and follow from the others.
void AddWaitTimes(const std::optional<WaitTimes>& times, std::vector<std::string>* notes) {
  if (!times.has_value()) return;
  const auto percent = [&times](double ns) { return 100 * ns / times->lived_ns; };
  notes->push_back(absl::StrFormat(
      "threads spent %.0f %% of their time on CPUs, %.0f %% in waits for the outside, which are "
      "the units, and %.0f %% in waits for each other, in queues for CPUs and in pauses, which "
      "follow from the rest",
      percent(times->cpu_ns), percent(times->outside_ns), percent(times->OthersNs())));
}

void AddSpinning(const ExperimentTable& table, std::vector<std::string>* notes) {
  constexpr double kWorthSaying = 0.05;
  constexpr size_t kMostSaid = 3;
  const Spinning spinning = FindSpinning(table);
  if (spinning.share <= kWorthSaying) return;
  // A library's loop is not the user's to change.
  const char* const remedy =
      spinning.is_outside
          ? "if they are OpenMP's, OMP_WAIT_POLICY=passive (of libomp also KMP_BLOCKTIME=0) "
            "makes them sleep"
          : "COZ_PRE_BLOCK and COZ_POST_BLOCK around the loop tell coz exactly";
  notes->push_back(absl::StrFormat(
      "%.0f %% of the samples fell into loops that wait for something on their CPU; how long they "
      "wait is guessed from samples, so lines that end such waits are less certain than they look; "
      "%s",
      100 * spinning.share, remedy));
  const UnitNames names(table);
  std::vector<std::string> places;
  for (const size_t unit : spinning.units) {
    if (places.size() == kMostSaid) break;
    const std::string detail = names.Detail(unit);
    places.push_back(detail.empty() ? names.Place(unit)
                                    : absl::StrCat(names.Place(unit), " (", detail, ")"));
  }
  if (!places.empty()) {
    notes->push_back(absl::StrCat("such loops are above all ",
                                  spinning.is_outside ? "called by " : "at ",
                                  absl::StrJoin(places, ", ")));
  }
  if (spinning.freed == 0) return;
  notes->push_back(absl::StrFormat(
      "such loops hold CPUs that other threads of the program are queued for, and no speedup of "
      "the loop frees these; a wait that gives up its CPU, as pthread_cond_wait does, may bring "
      "some %.0f %%, whatever the table says of the loop's own lines",
      100 * spinning.freed));
}

void AddUnsampled(const BaselineUse& use, std::vector<std::string>* notes) {
  constexpr double kWorthSaying = 0.1;
  if (use.running_ns <= 0 || use.unsampled_ns < kWorthSaying * use.running_ns) return;
  notes->push_back(absl::StrFormat(
      "%.0f %% of the CPU time was used by threads that ended before their next sample, so what "
      "short threads run looks cheaper than it is; try `coz run --sampling-period=0.1`",
      100 * use.unsampled_ns / use.running_ns));
}

// Throttled samples come late, or not at all: the kernel holds a thread's samples back until its
// next tick.
void AddThrottled(const profile::Profile& profile, const ExperimentTable& table,
                  std::vector<std::string>* notes) {
  constexpr double kWorthSaying = 0.01;
  constexpr double kUsualLimit = 100'000;  // the kernel's own, before it lowers it
  double periods = 0;
  double throttled = 0;
  for (const ExperimentRow& row : table.experiments) {
    periods += static_cast<double>(row.total_samples) + static_cast<double>(row.lost_periods);
    throttled += static_cast<double>(row.throttled);
  }
  if (throttled <= 0 || throttled < kWorthSaying * periods) return;
  double rate = kUsualLimit;
  for (const profile::Session& session : profile.session()) {
    if (session.sampling_period_ns() == 0) continue;
    rate = std::max(rate, std::ceil(1e9 / static_cast<double>(session.sampling_period_ns())));
  }
  notes->push_back(absl::StrFormat(
      "the kernel may have held back up to %.0f %% of the samples, as it allows fewer a second "
      "than "
      "the sampling period asks for, so lines may have too few samples and effects look smaller "
      "than they are; run: sudo sysctl kernel.perf_event_max_sample_rate=%.0f",
      100 * throttled / periods, rate));
}

// Of the first session only; the others of a merged profile have their own.
void AddSourceChanges(const profile::Profile& profile, std::vector<std::string>* notes) {
  if (profile.source_change_size() == 0) return;
  std::string note = DescribeSourceChange(profile.source_change(0));
  if (profile.source_change_size() > 1) {
    note += absl::StrFormat(" (and so in %d sessions)", profile.source_change_size());
  }
  notes->push_back(std::move(note));
}

// Measured in one program: docs/results.md, "PostgreSQL".
void AddCoarse(const profile::Profile& profile, std::vector<std::string>* notes) {
  const CoarseSamples coarse(profile);
  if (coarse.First().stretch_ns == 0) return;
  notes->push_back(absl::StrFormat(
      "threads ran only %.2g ms between two waits, and a sample stands for %.2g ms, so effects may "
      "look smaller than they are: a small one is \"not yet known\", never \"no gain\"; to know, "
      "make that code slower or faster and measure",
      coarse.First().stretch_ns / 1e6, coarse.First().sample_ns / 1e6));
}

// Names the session that switches slowed most.
void AddSwitches(const profile::Profile& profile, std::vector<std::string>* notes) {
  constexpr double kWorthSaying = 0.1;  // of a CPU
  double most = 0;
  const profile::SessionEnd* slowed = nullptr;
  for (const profile::SessionEnd& end : profile.session_end()) {
    if (end.run_time_ns() == 0) continue;
    const double share = static_cast<double>(end.thread_switches()) *
                         static_cast<double>(end.switch_cost_ns()) /
                         static_cast<double>(end.run_time_ns());
    if (share <= most) continue;
    most = share;
    slowed = &end;
  }
  if (slowed == nullptr || most < kWorthSaying) return;
  const double per_second = static_cast<double>(slowed->thread_switches()) /
                            static_cast<double>(slowed->run_time_ns()) * 1e9;
  notes->push_back(absl::StrFormat(
      "threads were switched %.0f times a second, and with a sampling timer of its own each switch "
      "may take %.0f us more (%.0f %% of a CPU in all), which slows the program and hides small "
      "effects; `coz run --sampler=cpu-timer` samples every 4 ms by the kernel's tick, at no such "
      "cost",
      per_second, static_cast<double>(slowed->switch_cost_ns()) / 1000, 100 * most));
}

// Slopes are over what was achieved; where that is far from what was asked for, the largest
// speedups were never tried.
void AddAchieved(const ExperimentTable& table, std::vector<std::string>* notes) {
  std::vector<size_t> all(table.experiments.size());
  std::iota(all.begin(), all.end(), size_t{0});
  const ErrorFacts facts =
      GatherErrorFacts(table, all, std::nullopt, [](uint64_t /*session*/) { return true; });
  if (!IsMuchMissed(facts)) return;
  notes->push_back(absl::StrFormat(
      "%s; slopes are over what they made, and intervals are wider by what was missed (`coz report "
      "--verbose` shows both); %s",
      ErrorCauseText(ErrorCause::kAchieved, facts), ErrorRemedy(ErrorCause::kAchieved, facts)));
}

// A verdict on what is in scope is then none on the program.
void AddOutOfScope(const profile::Profile& profile, const ExperimentTable& table,
                   std::vector<std::string>* notes) {
  const std::string out_of_scope = MostlyOutOfScope(table);
  // Where nothing is in scope, the report says so instead of figures.
  if (out_of_scope.empty() || table.units.empty()) return;
  notes->push_back(absl::StrCat(out_of_scope, "; measure the libraries that it goes to: `",
                                CommandWith("--unit=library", profile), "`"));
}

// Of any line, the largest share of CPU time without samples, where a verdict is not sure for it.
void AddUnseen(const Analysis& analysis, std::vector<std::string>* notes) {
  double most = 0;
  for (const PointAnalysis& point : analysis.points) {
    for (const LineAnalysis& line : point.lines) {
      most = std::max(most, line.systematic.facts.unseen_share);
    }
  }
  if (most <= kMuchUnseen) return;
  notes->push_back(absl::StrFormat(
      "up to %.0f %% of the CPU time by the threads' clocks has no sample, so delays are missing: "
      "intervals are wider by that, and verdicts with a question mark are not sure; profile again "
      "with `coz run --sampling-period=2`",
      100 * most));
}

// Sources at their own paths, of lines that are in the report.
void AddChangedSources(const profile::Profile& profile, const ExperimentTable& table,
                       const Analysis& analysis, std::vector<std::string>* notes) {
  constexpr size_t kMostSaid = 3;
  std::set<std::string> files;
  const auto add = [&](size_t unit) {
    if (table.units[unit].line > 0) files.insert(table.units[unit].file);
  };
  for (const PointAnalysis& point : analysis.points) {
    for (const LineAnalysis& line : point.lines) add(line.unit);
    for (const LineSetAside& line : point.set_aside) add(line.unit);
  }
  const uint64_t begin_ns = BeginNs(profile);
  std::vector<std::string> changed;
  for (const std::string& file : files) {
    if (!IsModifiedAfter(file, begin_ns)) continue;
    changed.push_back(Printable(file.substr(file.rfind('/') + 1)));
  }
  if (changed.empty()) return;
  const bool is_one = changed.size() == 1;
  if (changed.size() > kMostSaid) {
    const size_t more = changed.size() - kMostSaid;
    changed.resize(kMostSaid);
    changed.push_back(Counted(more, "other file"));
  }
  notes->push_back(absl::StrCat(absl::StrJoin(changed, ", "), is_one ? " was" : " were",
                                " changed after the profile was begun, so ",
                                is_one ? "its" : "their",
                                " lines may have moved; build and profile again to measure what is "
                                "there now"));
}

}  // namespace

std::string CostOfCounting(const PointRow& point, uint64_t run_time_ns) {
  constexpr double kShareWorthSaying = 0.05;
  const double share = static_cast<double>(point.visits) *
                       static_cast<double>(point.visit_cost_ns) / static_cast<double>(run_time_ns);
  if (!(share > kShareWorthSaying)) return "";
  return absl::StrFormat(
      "counting takes %.1f us a visit, %.0f %% of a CPU, and slows the program; count a place that "
      "is passed less often (`coz points` lists some), put COZ_PROGRESS there, or count samples "
      "with --progress-sampled",
      static_cast<double>(point.visit_cost_ns) / 1000, 100 * share);
}

std::string SlowdownBesideBreakpoint(const PointRow& point) {
  constexpr double kSlowdownWorthSaying = 1.5;
  if (!(point.breakpoint_slowdown >= kSlowdownWorthSaying)) return "";
  return absl::StrFormat(
      "while a hardware breakpoint counts it, this CPU runs a loop in the same 64 bytes of code up "
      "to %.0f times slower, so lines beside it may look much larger than they are; if some do, "
      "count another place, or this one by a probe, as root: --progress-source=uprobe",
      point.breakpoint_slowdown);
}

std::string WhenThere(const PointRow& row, const PointAnalysis& point) {
  if (row.stays.empty()) return "";
  constexpr size_t kMostStays = 4;
  std::vector<std::string> times;
  for (const PointStay& stay : row.stays) {
    if (times.size() == kMostStays) {
      times.push_back(absl::StrFormat("%d times more", row.stays.size() - kMostStays));
      break;
    }
    const double from_s = static_cast<double>(stay.from_ns) / 1e9;
    times.push_back(stay.to_ns == UINT64_MAX
                        ? absl::StrFormat("from %.1f s on", from_s)
                        : absl::StrFormat("from %.1f s to %.1f s", from_s,
                                          static_cast<double>(stay.to_ns) / 1e9));
  }
  std::string text = absl::StrCat("it was there ", absl::StrJoin(times, ", "));
  if (point.absent_experiments > 0) {
    const bool is_one = point.absent_experiments == 1;
    absl::StrAppendFormat(&text, "; %d experiment%s had it in part or not at all and %s not used",
                          point.absent_experiments, is_one ? "" : "s", is_one ? "is" : "are");
  }
  return text;
}

std::string CostOfSampling(const PointAnalysis& point) {
  constexpr double kWorthSaying = 0.02;
  constexpr double kMuch = 0.1;
  if (!point.sampling_slowdown.has_value()) return "";
  const Estimate& share = point.sampling_slowdown->share;
  if (share.value < kWorthSaying || share.low < 0) return "";
  return absl::StrFormat("being sampled takes %.0f %% (%.0f to %.0f) of the time here, %s%s",
                         100 * share.value, 100 * share.low, 100 * share.high,
                         share.low > kLeastToRaise ? "by half of which effects are raised"
                                                   : "which predictions are shares of",
                         share.low >= kMuch ? "; `coz run --sampler=cpu-timer` may take less" : "");
}

std::vector<std::string> ReportNotes(const profile::Profile& profile, const ExperimentTable& table,
                                     const Analysis& analysis, const ReadStats& stats) {
  std::vector<std::string> notes = stats.Notes();
  for (const profile::Session& session : profile.session()) {
    const std::string reason = WhatSourceLacks(profile, session);
    if (!reason.empty() && std::find(notes.begin(), notes.end(), reason) == notes.end()) {
      notes.push_back(reason);
    }
  }
  for (const profile::Binary& binary : profile.binary()) {
    for (const std::string& skipped : binary.debug_info_skipped()) {
      const bool is_named = absl::StartsWith(skipped, binary.path());
      notes.push_back(absl::StrCat(is_named ? "" : absl::StrCat(Printable(binary.path()), ": "),
                                   Printable(skipped)));
    }
  }
  AddBuilds(profile, &notes);
  AddEnds(profile, &notes);
  AddOutOfScope(profile, table, &notes);
  AddTaints(analysis, &notes);
  AddOutliers(analysis, &notes);
  const BaselineUse use = SumBaselines(profile, table);
  AddOversubscribed(table, OthersCrowd(use), &notes);
  for (std::string& note : NotesOfSurroundings(profile, table, use)) {
    notes.push_back(std::move(note));
  }
  AddOwed(table, &notes);
  AddPaced(table, &notes);
  AddDearPauses(table, &notes);
  AddIdle(table, use, &notes);
  const std::optional<WaitTimes> wait_times = SumWaitTimes(profile, table);
  AddWaitTimes(wait_times, &notes);
  AddOwnWaits(profile, table, wait_times, &notes);
  AddSpinning(table, &notes);
  AddUnsampled(use, &notes);
  AddThrottled(profile, table, &notes);
  AddSourceChanges(profile, &notes);
  AddCoarse(profile, &notes);
  AddSwitches(profile, &notes);
  AddWarmUps(table, &notes);
  AddWindDowns(table, &notes);
  AddCourses(table, &notes);
  AddAchieved(table, &notes);
  AddUnseen(analysis, &notes);
  AddChangedSources(profile, table, analysis, &notes);
  for (std::string& note : NotesOfMissedParts(profile)) notes.push_back(std::move(note));
  if (table.orphans > 0) {
    notes.push_back(absl::StrCat(Counted(table.orphans, "count"),
                                 " without a name, as records before were lost"));
  }
  if (table.invalid > 0) {
    notes.push_back(
        absl::StrCat(Counted(table.invalid, "experiment"), " not used: impossible figures"));
  }
  if (table.duplicates > 0) {
    notes.push_back(
        absl::StrCat(Counted(table.duplicates, "experiment"),
                     " found twice and used once: the file was merged with a copy of itself"));
  }
  for (std::string& note : notes) note = WithItsCommand(note, profile);
  return notes;
}

}  // namespace coz::report
