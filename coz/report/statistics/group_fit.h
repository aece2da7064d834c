// Whether one group's figure fits those of the others: a host among hosts, a version among
// versions.
//
// Shape    one figure for each group in; for each group, in the same order, what the others say of
//          it. Two groups: each is compared with the other
// Units    any, the same for all figures
// Errors   a figure that is not finite, or has no error or degrees of freedom, is compared with
//          nothing and says nothing of the others: its p-value is NaN. So is that of a group that
//          is alone
// Threads  safe: a pure function
// Signals  not async-signal-safe
// Source   DerSimonian and Laird 1986 for the spread; Higgins, Thompson and Spiegelhalter 2009 for
//          predicting one more group from it; group_fit_test.cc for how often it is wrong
//
// Groups differ among themselves, as machines do. So a group does not fit where it is further from
// the others than they are from each other: its distance from their mean is compared with its own
// error, the error of the mean, and the spread of the others beyond their errors. The group itself
// has no part in that spread, so that it cannot hide in it.
#ifndef COZ_REPORT_STATISTICS_GROUP_FIT_H_
#define COZ_REPORT_STATISTICS_GROUP_FIT_H_

#include <vector>

namespace coz::report {

struct GroupFigure {
  double value = 0;
  double error = 0;  // standard error
  double df = 0;     // degrees of freedom of the error
};

struct GroupFit {
  double others = 0;  // mean of the others
  double spread = 0;  // standard deviation of the others beyond their errors
  double p_value = 0;
};

std::vector<GroupFit> FitGroups(const std::vector<GroupFigure>& figures);

}  // namespace coz::report

#endif  // COZ_REPORT_STATISTICS_GROUP_FIT_H_
