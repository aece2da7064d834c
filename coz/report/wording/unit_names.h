// How a report calls the lines, functions, files, libraries and groups of a profile.
//
// Shape    the profile's table in, names out; they are printable, and without the folder that all
//          files have in common
// Units    widths are columns of a terminal
// Errors   none
// Threads  safe: const functions; the table must stay
// Signals  not async-signal-safe
// Source   none
#ifndef COZ_REPORT_WORDING_UNIT_NAMES_H_
#define COZ_REPORT_WORDING_UNIT_NAMES_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"
#include "coz/report/analysis/experiment_table.h"
#include "coz/report/wording/names_apart.h"

namespace coz::report {

// The heading of the column beside a unit of that word: "function" or "declared at".
std::string DetailHead(absl::string_view unit_word);

class UnitNames {
 public:
  explicit UnitNames(const ExperimentTable& table);

  // "line", "function", ...; "unit" where they are mixed.
  const std::string& word() const { return word_; }
  // "1 line", "5 libraries".
  std::string Count(size_t n) const;
  std::string Plural() const;

  // The common folder with its last '/', without the build's, or "".
  std::string folder() const;

  // `unit` is an index of the table's units. The name, and the text of the second column: a line's
  // function, a function's place.
  std::string Place(size_t unit) const;
  std::string PlaceOf(const UnitRow& row) const;
  std::string Detail(size_t unit) const;
  std::string DetailOf(const UnitRow& row) const;
  // Functions that differ in their template arguments alone stay different: "Rounds<Animate…>".
  std::string ShortPlace(size_t unit, int width) const;
  std::string ShortDetail(size_t unit, int width) const;
  // What a unit's place in the source takes without its folder: of "src/file.cc:36" 10 columns.
  int SourceWidth(size_t unit) const;

  bool IsLine(size_t unit) const;
  // Whether any unit's file is known.
  bool HasFiles() const;

  // Of all samples, in percent.
  std::string Share(size_t unit) const;
  // The same as a fraction; 0 where there are no samples.
  double ShareOf(size_t unit) const;

 private:
  std::string InFolder(std::string name) const;

  const ExperimentTable& table_;
  std::string folder_;
  std::string word_;
  NamesApart functions_;
};

}  // namespace coz::report

#endif  // COZ_REPORT_WORDING_UNIT_NAMES_H_
