// The counts of points, and what counting costs.
#include <algorithm>
#include <utility>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "coz/base/clock.h"
#include "coz/patch/code_patch.h"
#include "coz/points/point_rating.h"
#include "coz/shared/charged_pairs.h"
#include "coz/shared/slot_loops.h"
#include "coz/supervisor/points/outside_points.h"

namespace coz::supervisor {
namespace {

constexpr uint64_t kJudgedNs = 1 * kNsPerSecond;
// An int3 takes 1.5 to 2 us (bench/points).
constexpr uint64_t kTrapCostNs = 2000;

}  // namespace

uint64_t OutsidePoints::Counted::ReadChangedCode() const {
  if (control == nullptr || slots.visits >= shared::kMaxPoints) return 0;
  if (catch_up == nullptr) return UntimedVisits(*control, slots.visits) - before.ends;
  return catch_up->Departures(ReadEnds());
}

// Begins last: an end must not seem to come before its begin.
EndSums OutsidePoints::Counted::ReadEnds() const {
  EndSums sums;
  sums.ends = UntimedVisits(*control, slots.visits) - before.ends;
  sums.without_begin = UntimedVisits(*control, slots.without_begin) - before.without_begin;
  shared::ForEachThread(*control, [&](const shared::ThreadSlot& thread, uint32_t i) {
    const uint64_t earlier = i < without_begin_before.size() ? without_begin_before[i] : 0;
    const uint64_t now = thread.visits[slots.without_begin].load(std::memory_order_relaxed);
    sums.most_without_begin = std::max(sums.most_without_begin, now - earlier);
  });
  sums.begins = UntimedVisits(*control, slots.begins) - before.begins;
  return sums;
}

uint64_t OutsidePoints::Counted::ReadAll() const {
  uint64_t visits = visits_before + ReadChangedCode();
  for (const points::VisitCounter& probe : probes) visits += probe.Read();
  for (const ImageBreakpoints& set : breakpoints) visits += set.Read();
  return visits;
}

uint64_t OutsidePoints::Counted::Read() const {
  return is_away ? visits_at_end : ReadAll() - visits_of_nobody;
}

std::string OutsidePoints::CountedBy(const Counted& counted) const {
  size_t jumps = 0;
  size_t traps = 0;
  for (const size_t place : counted.patched) {
    ++(patched_.way(place) == patch::Way::kJump ? jumps : traps);
  }
  std::vector<std::string> ways;
  const auto add = [&ways](size_t places, const char* one, const char* many) {
    if (places == 1) ways.emplace_back(one);
    if (places > 1) ways.push_back(absl::StrFormat("%d %s", places, many));
  };
  add(jumps, "jump to a stub", "jumps to stubs");
  add(traps, "int3", "int3s");
  add(counted.places.size(), probes_ ? "probe (uprobe)" : "hardware breakpoint",
      probes_ ? "probes (uprobes)" : "hardware breakpoints");
  if (ways.empty()) {
    return changes_code_ ? "changed code" : probes_ ? "probe (uprobe)" : "hardware breakpoint";
  }
  return absl::StrJoin(ways, " and ");
}

uint64_t OutsidePoints::VisitCostNs(const Counted& counted) const {
  if (!counted.places.empty() || !changes_code_) return visit_cost_ns_;
  const bool has_traps =
      std::any_of(counted.patched.begin(), counted.patched.end(),
                  [this](size_t place) { return patched_.way(place) == patch::Way::kTrap; });
  return has_traps ? kTrapCostNs : 0;
}

// Of code beside a place that a hardware breakpoint counts; 0 where none does.
double OutsidePoints::SlowdownBeside(const Counted& counted) const {
  const bool has_breakpoint = !counted.places.empty() || (!changes_code_ && !counted.by_samples);
  return has_breakpoint && !probes_ ? breakpoint_slowdown_ : 0;
}

// Warns early, so that the user can start over in another way.
void OutsidePoints::JudgeCost(Counted* counted, uint64_t now_ns) {
  const uint64_t visit_cost_ns = VisitCostNs(*counted);
  if (counted->is_judged || visit_cost_ns == 0) return;
  const uint64_t visits = counted->Read();
  if (visits == 0) return;
  if (counted->judged_from_ns == 0) {
    counted->judged_from_ns = now_ns;
    counted->judged_from_visits = visits;
  }
  const uint64_t elapsed_ns = now_ns - counted->judged_from_ns;
  if (elapsed_ns < kJudgedNs) return;
  counted->is_judged = true;
  const auto seen = static_cast<double>(visits - counted->judged_from_visits);
  const double share = seen * static_cast<double>(visit_cost_ns) / static_cast<double>(elapsed_ns);
  if (share <= points::kMaxCountingShare) return;
  warnings_.push_back(absl::StrFormat(
      "counting '%s' takes %.0f %% of a CPU (%.0f visits a second at %.1f us), which slows the "
      "program; count what happens less often (`coz points` lists functions), put COZ_PROGRESS "
      "there, or count samples with --progress-sampled=FILE:LINE",
      counted->spec.text, 100 * share,
      seen * static_cast<double>(kNsPerSecond) / static_cast<double>(elapsed_ns),
      static_cast<double>(visit_cost_ns) / 1000));
}

LiveTarget::CountVisits OutsidePoints::ReaderOf(const Counted& counted) const {
  LiveTarget* const target = target_;
  if (counted.by_samples) {
    return [target, units = units_, text = counted.spec.text] {
      uint64_t samples = 0;
      for (const experiment::UnitId unit : units->Find(text)) {
        const auto found = target->unit_samples().find(unit);
        if (found != target->unit_samples().end()) samples += found->second;
      }
      return samples;
    };
  }
  if (counted.mark.empty()) return [&counted] { return counted.Read(); };
  return [target, &counted] {
    return counted.is_away ? counted.visits_at_end : target->VisitsOfMark(counted.mark);
  };
}

}  // namespace coz::supervisor
