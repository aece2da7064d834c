// Source text around lines of interest, read when a report is made and kept in it.
//
// Shape    runs of lines around the lines asked for, ascending, overlapping ones merged
// Units    line numbers from 1; bytes. Bounded: files of at most 8 MiB, 200 bytes a line, 16 MiB in
//          all
// Errors   a file without text has the reason, as a clause, in its place
// Threads  compatible
// Signals  none
// Source   docs/interpreting.md
#ifndef COZ_REPORT_PLOT_SOURCE_LINES_H_
#define COZ_REPORT_PLOT_SOURCE_LINES_H_

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace coz::report {

inline constexpr uint32_t kSourceContextLines = 6;  // on either side

struct SourceRun {
  uint32_t first_line = 0;
  std::vector<std::string> lines;
};

struct SourceText {
  std::vector<SourceRun> runs;
  std::string missing;         // why there is no text: "it is not on this machine"
  bool changed_since = false;  // modified after the profile was begun
};

class SourceReader {
 public:
  // `start_unix_ns`: a file modified later is not what was profiled; 0 if unknown. `folders` are
  // as of FindSource.
  SourceReader(uint64_t start_unix_ns, std::vector<std::string> folders)
      : start_unix_ns_(start_unix_ns), folders_(std::move(folders)) {}

  SourceText Read(const std::string& file, const std::set<uint32_t>& lines);

 private:
  const uint64_t start_unix_ns_;
  const std::vector<std::string> folders_;
  size_t bytes_left_ = 16u << 20;
};

}  // namespace coz::report

#endif  // COZ_REPORT_PLOT_SOURCE_LINES_H_
