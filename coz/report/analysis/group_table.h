// What each host, binary or kernel of a profile says by itself, and which of them does not fit the
// others.
//
// Shape    groups of sessions that have a fact in common, by name; the first lines of each progress
//          point, in the order of its analysis, with a figure for each group that has one. A group
//          is analyzed as if its sessions were the whole profile
// Units    as LineAnalysis
// Errors   none; a group whose sessions do not tell of a line has no figure of it
// Threads  safe: a pure function
// Signals  not async-signal-safe
// Source   group_fit.h for the test; Holm's correction counts all comparisons of the table, so that
//          in at most one table of twenty a group is named by chance
//
// Compared are the slopes of the lines, with the errors that chance makes (what is systematic is
// much the same in all groups), and, from kLeastGroupsForPace groups on, the time of a visit at
// 0 %, whose differences between few groups tell of their load alone.
#ifndef COZ_REPORT_ANALYSIS_GROUP_TABLE_H_
#define COZ_REPORT_ANALYSIS_GROUP_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "coz/report/analysis/analysis.h"
#include "coz/report/analysis/experiment_table.h"
#include "coz/report/format/profile.pb.h"
#include "coz/report/statistics/statistics.h"

namespace coz::report {

inline constexpr size_t kLeastGroupsForPace = 8;
inline constexpr double kGroupErrorRate = 0.05;

enum class GroupBy { kHost, kBinary, kKernel };

// How well a group's figure fits those of the others. p-values are NaN where there is nothing to
// compare with.
struct Fit {
  double others = 0;            // mean of the others' figures
  double p_value = 0;           // for this comparison alone
  double adjusted_p_value = 0;  // among all comparisons of the table
  bool DoesNot() const { return adjusted_p_value <= kGroupErrorRate; }  // false for NaN
};

struct GroupLine {
  size_t group = 0;  // index into GroupTable.groups
  int experiments = 0;
  Estimate slope;  // as LineAnalysis.slope
  Estimate gain;   // program speedup at GroupTable.gain_at
  Fit fit;         // of the slope
};

// Effective duration over visits at 0 %.
struct GroupPace {
  size_t group = 0;
  int baselines = 0;
  Estimate ns_per_visit;
  Fit fit;  // `others` is in ns, too
};

struct LineByGroup {
  size_t unit = 0;
  Estimate gain;  // of the whole profile
  std::vector<GroupLine> groups;
};

struct PointByGroup {
  size_t point = 0;
  std::vector<GroupPace> pace;
  std::vector<LineByGroup> lines;
};

struct GroupRow {
  std::string name;  // "" is unknown
  uint64_t sessions = 0;
  int experiments = 0;
};

struct GroupTable {
  // Some runs are of a compact profile in which hosts and kernels were put together: their group
  // has no name.
  bool put_together = false;
  GroupBy by = GroupBy::kHost;
  double gain_at = 0;
  int comparisons = 0;
  std::vector<GroupRow> groups;
  std::vector<PointByGroup> points;
};

// "host", "binary", "kernel".
const char* GroupWord(GroupBy by);

// `analysis` is of profile and table, whose experiments are taken: a profile may hold millions.
// `max_lines`: of each point; 0: all.
GroupTable BuildGroupTable(const profile::Profile& profile, ExperimentTable* table,
                           const Analysis& analysis, GroupBy by, double gain_at, int max_lines);

}  // namespace coz::report

#endif  // COZ_REPORT_ANALYSIS_GROUP_TABLE_H_
