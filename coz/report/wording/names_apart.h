// Functions' names in few columns that stay different from each other.
//
// Shape    the names of one table in, a short name of each out: "Rounds<Animate…>" beside
//          "Rounds<StepPhysics…>", and ShortenFunction's of those that differ without their
//          template arguments
// Units    columns of a terminal; bytes of names
// Errors   none: in too few columns names may look alike
// Threads  safe: const functions
// Signals  not async-signal-safe
// Source   none
#ifndef COZ_REPORT_WORDING_NAMES_APART_H_
#define COZ_REPORT_WORDING_NAMES_APART_H_

#include <cstddef>
#include <map>
#include <set>
#include <string>

namespace coz::report {

class NamesApart {
 public:
  NamesApart() = default;
  explicit NamesApart(const std::set<std::string>& names);

  std::string Shorten(const std::string& name, int width) const;

 private:
  // The part of a name that tells it from the others: whole identifiers.
  struct Part {
    size_t begin = 0;
    size_t end = 0;
  };

  std::map<std::string, Part> parts_;  // of names that look alike without template arguments
};

}  // namespace coz::report

#endif  // COZ_REPORT_WORDING_NAMES_APART_H_
