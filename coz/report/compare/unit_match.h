// Which unit of a second profile is which of the first: files of a program that was built in
// another folder, and lines that moved, are found again.
//
// Shape    indices of ExperimentTable.units in, the same out. Units are one where kind, file,
//          function, threads and line are. The lines of one function may have moved together: the
//          shift is taken that fits most of the lines that matter, where one alone does. Lines with
//          hardly any samples do not matter. A function may have moved to another file
// Units    none
// Errors   none: what is not found has no counterpart
// Threads  safe: const functions
// Signals  not async-signal-safe
// Source   docs/compare.md
#ifndef COZ_REPORT_COMPARE_UNIT_MATCH_H_
#define COZ_REPORT_COMPARE_UNIT_MATCH_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "coz/report/analysis/experiment_table.h"
#include "coz/report/compare/file_match.h"

namespace coz::report {

class UnitMatch {
 public:
  UnitMatch(const ExperimentTable& before, const ExperimentTable& after);

  std::optional<size_t> AfterOf(size_t before) const { return after_of_[before]; }
  std::optional<size_t> BeforeOf(size_t after) const { return before_of_[after]; }

  // FileMatch::WhyUnclear of the files that units are in.
  std::string WhyUnclear() const { return files_.WhyUnclear(); }

 private:
  void Join(size_t before, size_t after);
  void MatchLinesOfUnknownFunctions(const ExperimentTable& before, const ExperimentTable& after);
  void MatchFunctions(const ExperimentTable& before, const ExperimentTable& after);

  const FileMatch files_;
  std::vector<std::optional<size_t>> after_of_;
  std::vector<std::optional<size_t>> before_of_;
};

// The name of a unit, and of one that has moved its line in the other profile: "a.cc:26 (was 22)".
// Names are as reports show them; `word` stands before the other one's.
std::string NameWithOther(const std::string& name, const char* word, const std::string& other);

// The files that units of the tables are in.
FileMatch MatchFiles(const ExperimentTable& before, const ExperimentTable& after);

}  // namespace coz::report

#endif  // COZ_REPORT_COMPARE_UNIT_MATCH_H_
