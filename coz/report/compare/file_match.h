// Which file of a second profile a file of the first one is, where the program was built in another
// folder.
//
// Shape    paths in, paths out. A path that both profiles have is the same file. Of the others
//          those are one file that differ by their leading folder alone: they have the longest end
//          in common, and no other file has it. A folder below which both profiles have a file has
//          stayed where it was, so its other files are in no new folder
// Units    none
// Errors   none
// Threads  safe: const functions
// Signals  not async-signal-safe
// Source   docs/compare.md
#ifndef COZ_REPORT_COMPARE_FILE_MATCH_H_
#define COZ_REPORT_COMPARE_FILE_MATCH_H_

#include <map>
#include <set>
#include <string>
#include <vector>

namespace coz::report {

class FileMatch {
 public:
  FileMatch(const std::set<std::string>& before, const std::set<std::string>& after);

  // The path in the second profile; `before` itself where it is not in there.
  const std::string& AfterOf(const std::string& before) const;

  // A sentence without a full stop on files of which more than one can be meant; "" where there is
  // none.
  std::string WhyUnclear() const;

 private:
  struct Candidates {
    std::vector<std::string> before;
    std::vector<std::string> after;
  };

  void Match(const Candidates& candidates);
  bool MayBeOne(const std::string& before, const std::string& after) const;
  bool HasStayed(const std::string& folder) const;

  std::set<std::string> stayed_;  // files that both have
  std::map<std::string, std::string> after_of_;
  std::set<std::string> taken_;  // of the second profile, in `after_of_`
  Candidates unclear_;           // the first ones of which more than one can be meant
};

}  // namespace coz::report

#endif  // COZ_REPORT_COMPARE_FILE_MATCH_H_
