// What `coz doctor` has found out, in order, and how it is shown.
//
// Shape    groups under a heading; a finding is one sentence without a full stop, and the command
//          that mends it
// Units    in the sentences
// Errors   none
// Threads  safe: pure functions
// Signals  not async-signal-safe
// Source   docs/doctor.md
#ifndef COZ_REPORT_DOCTOR_FINDING_H_
#define COZ_REPORT_DOCTOR_FINDING_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "nlohmann/json.hpp"

namespace coz::report {

enum class Grade {
  kGood,
  kNote,     // good to know
  kWarning,  // figures get better where it is mended
  kProblem,  // nothing is measured until it is mended
};

struct Finding {
  Grade grade = Grade::kGood;
  std::string subject;  // "permission"
  std::string what;
  std::string remedy;  // a command to type, or what to do; empty where there is nothing to mend
};

struct FindingGroup {
  std::string title;  // "This machine"
  std::vector<Finding> findings;
};

// "ok", "note", "warning", "problem".
const char* GradeId(Grade grade);

bool HasProblem(const std::vector<FindingGroup>& groups);

// At most `width` columns wide, but for commands that are longer.
std::string FindingsText(const std::vector<FindingGroup>& groups, int width);

nlohmann::ordered_json FindingsJson(const std::vector<FindingGroup>& groups);

// A sentence that ends in what to do, as notes of reports have it, as a finding: the last clause is
// the remedy where it is set off by "; ".
Finding FindingOfNote(absl::string_view subject, absl::string_view note);

}  // namespace coz::report

#endif  // COZ_REPORT_DOCTOR_FINDING_H_
