#include "coz/supervisor/run/open_output.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "coz/base/command_name.h"
#include "coz/base/unique_fd.h"
#include "coz/report/format/profile.pb.h"
#include "coz/report/format/profile_reader.h"
#include "coz/report/format/program_identity.h"
#include "coz/report/wording/repeat_command.h"
#include "coz/sourcemap/binary_info.h"
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

// Of a script, nothing is known.
report::ProgramIdentity IdentityOf(const std::string& program) {
  const absl::StatusOr<sourcemap::BinaryInfo> info = sourcemap::DescribeBinary(program);
  std::error_code error;
  const std::filesystem::path path = std::filesystem::canonical(program, error);
  return {info.ok() ? absl::HexStringToBytes(info->build_id) : "", error ? program : path.string()};
}

// A program that starts others need not be the same each time.
absl::Status CheckProgram(const RunOptions& options, const std::string& program,
                          const std::vector<report::ProgramIdentity>& earlier) {
  const report::ProgramIdentity own = IdentityOf(program);
  if (options.is_launcher || own.build_id.empty() || earlier.empty() ||
      earlier.front().build_id.empty() || earlier.front().Matches(own)) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(absl::StrFormat(
      "cannot append to %s: it is of %s, and this run is of another %s, so their experiments "
      "cannot be added up; write to another file with `%s`, and compare both with `coz diff`",
      options.output, earlier.front().Text(),
      earlier.front().path == own.path ? "build" : absl::StrCat("program (", own.Text(), ")"),
      ProfilingCommand("-o FILE")));
}

// Figures of different units, points or given speedups cannot be pooled, so their sessions are not
// added to each other. Nor are those of different builds.
absl::Status CheckAppend(const RunOptions& options, const std::string& program) {
  const UniqueFd fd(open(options.output.c_str(), O_RDONLY | O_CLOEXEC));
  // The writer reports any other problem.
  if (!fd.ok()) return absl::OkStatus();
  const std::vector<std::string> wanted = SortedOptions(AskedOptions(options, {}));
  std::vector<std::string> other;
  bool differs = false;
  bool is_imported = false;
  std::vector<report::ProgramIdentity> programs;
  google::protobuf::io::FileInputStream input(fd.get());
  report::ReadStats stats;
  const absl::Status readable =
      report::ReadRecords(&input, &stats, [&](const profile::Profile& records) {
        if (programs.empty()) programs = report::ProgramsOf(records);
        for (const profile::Session& session : records.session()) {
          is_imported |= report::IsImported(session);
          if (differs || SortedOptions(session.options()) == wanted) continue;
          other = report::MeasuredOptions(session.options());
          differs = true;
        }
      });
  if (!readable.ok()) return absl::OkStatus();
  if (is_imported) {
    return absl::FailedPreconditionError(absl::StrFormat(
        "cannot append to %s: it is of the original Coz, which does not record what program it is "
        "of; write to another file with `%s`, and compare both with `coz diff`",
        options.output, ProfilingCommand("-o FILE")));
  }
  if (!differs) return CheckProgram(options, program, programs);
  return absl::FailedPreconditionError(absl::StrFormat(
      "cannot append to %s: it was made with %s, and this run has %s, so their figures do not mean "
      "the same; give the same options, or write to another file with `%s`",
      options.output, Phrase(other), Phrase(report::MeasuredOptions(AskedOptions(options, {}))),
      ProfilingCommand("-o FILE")));
}

}  // namespace

absl::StatusOr<OpenedOutput> OpenOutput(const RunOptions& options, const std::string& program,
                                        const Series& series) {
  EarlierProfiles earlier;
  if (options.append) {
    earlier.is_new = access(options.output.c_str(), F_OK) != 0;
    // Of a series, only the first run meets what others have written.
    if (series.run == 1) {
      if (absl::Status status = CheckAppend(options, program); !status.ok()) return status;
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
