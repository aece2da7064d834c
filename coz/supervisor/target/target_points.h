// The progress points of a running program, and their counts.
//
// Shape    a list that only grows: marks as the program announces them, and points that the
//          supervisor counts itself. BEGIN and END of one name are one point
// Units    visits; ns of CLOCK_MONOTONIC; latency buckets (coz/shared/points.h)
// Errors   none
// Threads  compatible
// Signals  none
// Source   docs/design/points.md
#ifndef COZ_SUPERVISOR_TARGET_TARGET_POINTS_H_
#define COZ_SUPERVISOR_TARGET_TARGET_POINTS_H_

#include <bitset>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "coz/experiment/target.h"
#include "coz/shared/control_block.h"
#include "coz/supervisor/target/begun_before.h"
#include "coz/supervisor/target/call_latencies.h"
#include "coz/supervisor/target/timed_reader.h"

namespace coz::supervisor {

// How visits are counted to a point that the program's source does not mark.
enum class OutsideKind { kNone, kBreakpoint, kSampled };

struct TargetPoint {
  std::string name;
  bool is_latency = false;
  OutsideKind kind = OutsideKind::kNone;
  std::string counted_by;          // in words; empty for marks
  uint64_t visit_cost_ns = 0;      // what counting costs the program; 0: next to nothing
  double breakpoint_slowdown = 0;  // as in ProgressPoint
  // The marks at the ends of a pair that the source does not pair. Empty: a place.
  std::string begin_mark = "";
  std::string end_mark = "";
  uint32_t begin_place = 0;  // as in ChargedPair
  uint32_t end_place = 0;
};

class TargetPoints {
 public:
  using CountVisits = std::function<uint64_t()>;

  explicit TargetPoints(shared::ControlBlock* control) : control_(*control) {}

  // Requests may be under way already. Before the first Count.
  void FollowBegunBefore() { follows_begun_before_ = true; }

  // Looks for new marks.
  void Discover();
  // Before the program runs, or while it does. Visits, or arrivals and departures, are asked for at
  // every Count. Returns the point's id.
  uint32_t Add(const TargetPoint& point, CountVisits visits_or_arrivals, CountVisits departures);
  // The same for a latency point of calls, whose times are those of calls that have ended.
  uint32_t AddCalls(const TargetPoint& point, std::function<CallLatencySums()> calls);
  // How the point's visits are counted, as it turned out: the fields of `counting` that say so.
  void SetCounting(uint32_t point, const TargetPoint& counting) {
    points_[point].counted_by = counting.counted_by;
    points_[point].visit_cost_ns = counting.visit_cost_ns;
    points_[point].breakpoint_slowdown = counting.breakpoint_slowdown;
  }

  // The pair's changed code does not tell what is under way when delay is imposed.
  void LeaveUncharged(uint32_t point) { uncharged_.insert(point); }

  // By point id, in the order of discovery.
  const std::vector<TargetPoint>& points() const { return points_; }
  // Visits of the marks of this name that are no pairs.
  uint64_t VisitsOfMark(const std::string& name) const;
  // Names of the marks seen so far that are no pairs.
  std::vector<std::string> Marks() const;

  void Count(std::vector<experiment::PointCounts>* counts) const;
  // Adds to what Count has just told who was under way before.
  void ReadBegunBefore(std::vector<experiment::PointCounts>* counts);
  void ReadLatencies();
  // As of the last ReadLatencies: requests of the pair since the start, by latency bucket. Empty
  // where the program does not number them.
  const std::vector<uint64_t>& Latencies(uint32_t point) const { return latencies_[point]; }

 private:
  struct PointSource {
    uint32_t point;
    shared::PointKind kind;
    uint32_t slot;
  };
  struct OutsideSource {
    uint32_t point;
    CountVisits visits_or_arrivals;
    CountVisits departures;  // null where the point is no pair
  };
  struct CallSource {
    uint32_t point;
    std::function<CallLatencySums()> calls;
  };

  bool HasTimes(uint32_t point) const;
  // Has the target note, for pairs without times, how many requests are under way when delay is
  // imposed.
  void ChargePairs();
  std::optional<uint32_t> SlotOf(uint32_t point, shared::PointKind kind) const;
  std::optional<uint32_t> SlotOfMark(const std::string& name) const;
  // As ChargedPair has it.
  std::optional<uint32_t> ChargedEnd(uint32_t point, shared::PairEnd end) const;
  void ReadCharges(std::vector<experiment::PointCounts>* counts) const;
  TimedReader ReadTimed(uint32_t slot) const;
  void CountMark(const PointSource& source, experiment::PointCounts* point) const;
  void LookAtThreads(uint32_t point, BegunBefore* begun) const;
  uint64_t VisitsIn(const shared::ThreadSlot& thread, uint32_t slot) const;

  shared::ControlBlock& control_;
  std::vector<TargetPoint> points_;
  std::vector<PointSource> sources_;  // ends before begins
  std::vector<OutsideSource> outside_sources_;
  std::vector<CallSource> call_sources_;
  std::vector<std::vector<uint64_t>> latencies_;  // by point
  std::bitset<shared::kMaxPoints> discovered_;    // by point slot
  std::vector<uint32_t> charged_;                 // points, by charged pair
  std::set<uint32_t> uncharged_;                  // points
  bool follows_begun_before_ = false;
  std::vector<BegunBefore> begun_before_;  // by point
};

}  // namespace coz::supervisor

#endif  // COZ_SUPERVISOR_TARGET_TARGET_POINTS_H_
