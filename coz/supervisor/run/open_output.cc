#include "coz/supervisor/run/open_output.h"

#include <fcntl.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "coz/base/command_name.h"
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
      "the same; give the same options, or write to another file with `%s`",
      options.output, Phrase(other), Phrase(report::MeasuredOptions(AskedOptions(options, {}))),
      ProfilingCommand("-o FILE")));
}

}  // namespace

absl::StatusOr<OpenedOutput> OpenOutput(const RunOptions& options, const Series& series) {
  EarlierProfiles earlier;
  if (options.append) {
    // Of a series, only the first run meets what others have written.
    if (series.run == 1) {
      if (absl::Status status = CheckAppend(options); !status.ok()) return status;
    }
  } else {
    absl::StatusOr<EarlierProfiles> kept = KeepEarlier(options.output);
    if (!kept.ok()) return kept.status();
    earlier = *std::move(kept);
  }
  absl::StatusOr<report::ProfileWriter> writer = report::ProfileWriter::Open(
      options.output,
      options.append ? report::ProfileOpenMode::kAppend : report::ProfileOpenMode::kTruncate);
  if (!writer.ok()) {
    GiveBackEarlier(options.output, earlier);
    return writer.status();
  }
  return OpenedOutput{*std::move(writer), std::move(earlier)};
}

}  // namespace coz::supervisor
