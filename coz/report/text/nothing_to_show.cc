#include "coz/report/text/nothing_to_show.h"

#include "absl/strings/str_cat.h"
#include "coz/report/text/report_text.h"
#include "coz/report/text/text_layout.h"

namespace coz::report {

std::string NothingToShow(const profile::Profile& profile, const ExperimentTable& table,
                          const Analysis& analysis) {
  const std::string command = TargetCommand(profile);
  std::string names;
  bool visited = false;
  for (const PointRow& point : table.points) {
    absl::StrAppend(&names, names.empty() ? "" : ", ", Printable(point.name));
    visited |= point.visits > 0;
  }
  if (table.points.empty()) {
    return absl::StrCat(
        "\nThe program has no progress point that coz saw, so there is nothing to measure progress "
        "by.\n"
        "  Put COZ_PROGRESS from coz.h where a unit of work is done (a request, a transaction), "
        "build with -g and run\n"
        "  `coz run --- ",
        command, "` again; or measure the whole run with `coz run --end-to-end --- ", command,
        "`.\n");
  }
  if (!visited) {
    return absl::StrCat(
        "\nNo progress point was visited (known: ", names,
        "), so no experiment says anything.\n  Give the program work that passes there, or put "
        "COZ_PROGRESS where it does its work, and run `coz run --- ",
        command, "` again.\n");
  }
  if (analysis.experiments == 0 && table.samples == 0) {
    return absl::StrCat(
        "\nNo experiment was made: the program used no CPU time in which samples are taken.\n"
        "  Run it for some seconds with real work: `coz run --- ",
        command, "`.\n");
  }
  if (table.units.empty()) {
    return absl::StrCat(
        "\nNo experiment was made: no sample fell on a line in scope.\n"
        "  Build with -g, or widen the scope: `coz run -b % -s % --- ",
        command, "`.\n");
  }
  return absl::StrCat(
      "\nNo experiment was finished: an experiment takes half a second or more.\n"
      "  Let the program run for 20 s or more: `coz run --- ",
      command, "`.\n");
}

}  // namespace coz::report
