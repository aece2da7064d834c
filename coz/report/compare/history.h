// The score of a project's predictions: what `coz verify --record` has found, over time.
//
// Shape    a text file, one JSON object in a line, only appended to: it can be kept in version
//          control and merges by lines
// Units    fractions; seconds since the epoch
// Errors   NOT_FOUND, PERMISSION_DENIED and the like for the file. INVALID_ARGUMENT where it has
//          lines and none is an entry: it is neither read nor appended to; other such lines are
//          counted
// Threads  compatible
// Signals  not async-signal-safe
// Source   docs/compare.md
#ifndef COZ_REPORT_COMPARE_HISTORY_H_
#define COZ_REPORT_COMPARE_HISTORY_H_

#include <cstdint>
#include <istream>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "coz/report/compare/verify.h"

namespace coz::report {

struct HistoryEntry {
  int64_t time_s = 0;
  Verification verification;
};

struct History {
  std::vector<HistoryEntry> entries;
  uint64_t damaged_lines = 0;
  uint64_t repeated_lines = 0;  // of entries before them; left out
};

// False where it is in the file already: of the same two profiles, whenever it was recorded.
absl::StatusOr<bool> AppendHistory(const std::string& path, const HistoryEntry& entry);
absl::StatusOr<History> ReadHistory(const std::string& path);
History ParseHistory(std::istream& lines);

// The score: how many held, the mean error. Then a table, or two rows for each entry where that is
// wider than `width` columns; 0: it may have any width.
std::string HistoryText(const History& history, int width = 0);
nlohmann::ordered_json HistoryJson(const History& history);

}  // namespace coz::report

#endif  // COZ_REPORT_COMPARE_HISTORY_H_
