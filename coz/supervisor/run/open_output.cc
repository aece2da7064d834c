#include "coz/supervisor/run/open_output.h"

#include <fcntl.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "coz/base/unique_fd.h"
#include "coz/report/format/profile.pb.h"
#include "coz/report/format/profile_reader.h"
#include "coz/report/wording/repeat_command.h"
#include "coz/supervisor/run/session_description.h"
#include "google/protobuf/io/zero_copy_stream_impl.h"

namespace coz::supervisor {
namespace {

std::vector<std::string> SortedOptions(const profile::Options& options) {
  std::vector<std::string> words = report::MeasuredOptions(options);
  std::sort(words.begin(), words.end());
  return words;
}

std::string Phrase(const std::vector<std::string>& words) {
  return words.empty() ? "none of these options" : absl::StrJoin(words, " ");
}

// Figures of different units, points or given speedups cannot be pooled, so their sessions are not
// added to each other.
absl::Status CheckAppend(const RunOptions& options) {
  const UniqueFd fd(open(options.output.c_str(), O_RDONLY | O_CLOEXEC));
  // The writer reports any other problem.
  if (!fd.ok()) return absl::OkStatus();
  const std::vector<std::string> wanted = SortedOptions(AskedOptions(options, {}));
  std::vector<std::string> other;
  bool differs = false;
  google::protobuf::io::FileInputStream input(fd.get());
  report::ReadStats stats;
  const absl::Status readable =
      report::ReadRecords(&input, &stats, [&](const profile::Profile& records) {
        for (const profile::Session& session : records.session()) {
          if (differs || SortedOptions(session.options()) == wanted) continue;
          other = report::MeasuredOptions(session.options());
          differs = true;
        }
      });
  if (!readable.ok() || !differs) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrFormat(
      "cannot append to %s: it was made with %s, and this run has %s, so their figures do not mean "
      "the same; give the same options, or write to another file with `coz run -o FILE --- …`",
      options.output, Phrase(other), Phrase(report::MeasuredOptions(AskedOptions(options, {})))));
}

}  // namespace

absl::StatusOr<report::ProfileWriter> OpenOutput(const RunOptions& options, const Series& series) {
  if (options.append) {
    // Of a series, only the first run meets what others have written.
    if (series.run == 1) {
      if (absl::Status status = CheckAppend(options); !status.ok()) return status;
    }
    return report::ProfileWriter::Open(options.output, report::ProfileOpenMode::kAppend);
  }
  std::error_code error;
  if (std::filesystem::is_regular_file(options.output, error)) {
    std::filesystem::rename(options.output, options.output + ".old", error);
  }
  return report::ProfileWriter::Open(options.output, report::ProfileOpenMode::kTruncate);
}

}  // namespace coz::supervisor
