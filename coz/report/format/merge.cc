#include "coz/report/format/merge.h"

#include <algorithm>
#include <cerrno>
#include <optional>
#include <ostream>
#include <string>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "coz/base/file_replacement.h"
#include "coz/report/format/profile.pb.h"
#include "coz/report/format/profile_io_error.h"
#include "coz/report/format/profile_reader.h"
#include "coz/report/format/program_identity.h"
#include "coz/report/format/unit_kind.h"

namespace coz::report {
namespace {

constexpr size_t kBufferBytes = 1 << 20;
constexpr size_t kNotesKept = 5;

class OutputFile {
 public:
  // `stream` may be nullptr.
  static absl::StatusOr<OutputFile> Create(const std::string& path, std::ostream* stream) {
    OutputFile file(path, stream);
    if (stream == nullptr && !file.file_.Open(path)) return MergeWriteError("create", path, errno);
    return file;
  }

  absl::Status Add(const profile::Profile& record) {
    record.AppendToString(&buffer_);
    return buffer_.size() < kBufferBytes ? absl::OkStatus() : Flush();
  }

  absl::Status Finish() {
    if (absl::Status status = Flush(); !status.ok() || stream_ != nullptr) return status;
    return file_.Finish() ? absl::OkStatus() : MergeWriteError("write", path_, errno);
  }

  uint64_t bytes() const { return bytes_; }

 private:
  OutputFile(const std::string& path, std::ostream* stream) : path_(path), stream_(stream) {}

  absl::Status Flush() {
    if (stream_ != nullptr) {
      stream_->write(buffer_.data(), static_cast<std::streamsize>(buffer_.size()));
    } else if (!file_.Write(buffer_)) {
      return MergeWriteError("write", path_, errno);
    }
    bytes_ += buffer_.size();
    buffer_.clear();
    return absl::OkStatus();
  }

  std::string path_;
  std::ostream* stream_;
  FileReplacement file_;
  std::string buffer_;
  uint64_t bytes_ = 0;
};

// Early profiles are of lines, and do not say so.
profile::UnitKind UnitKindOf(const profile::Options& options) {
  const bool is_said = options.unit_kind() != profile::UNIT_KIND_UNKNOWN;
  return is_said ? options.unit_kind() : profile::UNIT_KIND_LINE;
}

class Merger {
 public:
  Merger(const MergeOptions& options, OutputFile out) : options_(options), out_(std::move(out)) {}

  absl::StatusOr<MergeResult> Run() {
    for (const std::string& input : options_.inputs) {
      if (absl::Status status = Take(input); !status.ok()) return status;
    }
    if (options_.filter != nullptr) {
      const auto add = [this](const profile::Profile& record) { return out_.Add(record); };
      if (absl::Status status = options_.filter->Finish(add); !status.ok()) return status;
    }
    if (absl::Status status = out_.Finish(); !status.ok()) return status;
    result_.bytes = out_.bytes();
    return std::move(result_);
  }

 private:
  struct First {
    std::string file;
    ProgramIdentity identity;
  };

  absl::Status Take(const std::string& input) {
    ReadStats stats;
    absl::Status status;
    in_this_input_.clear();
    left_out_.clear();
    identified_.clear();
    absl::Status read = ReadRecordsOf(input, &stats, [&](const profile::Profile& record) {
      if (status.ok()) status = TakeRecord(input, record);
    });
    if (!status.ok()) return status;
    if (!read.ok()) return read;
    sessions_.insert(in_this_input_.begin(), in_this_input_.end());
    if (options_.filter != nullptr) options_.filter->EndInput();
    const std::vector<std::string> notes = stats.Notes();
    if (!notes.empty()) {
      ++result_.noted_inputs;
      if (result_.notes.size() < kNotesKept) {
        result_.notes.push_back(absl::StrCat(input, ": ", notes.front()));
      }
    }
    return absl::OkStatus();
  }

  absl::Status TakeRecord(const std::string& input, const profile::Profile& record) {
    const uint64_t session = SessionOf(record);
    if (record.session_size() != 0) {
      const profile::Session& one = record.session(0);
      const absl::StatusOr<bool> is_repeated = IsRepeated(input, one);
      if (!is_repeated.ok()) return is_repeated.status();
      const auto pooled = static_cast<uint64_t>(std::max(1, one.pooled_session_size()));
      if (*is_repeated) {
        if (left_out_.insert(session).second) result_.repeated_sessions += pooled;
      } else if (in_this_input_.insert(session).second) {
        in_this_input_.insert(one.pooled_session().begin(), one.pooled_session().end());
        result_.sessions += pooled;
        absl::Status status = CheckOrigin(input, one);
        if (status.ok()) status = CheckOptions(input, one);
        if (!status.ok()) return status;
      }
    }
    if (left_out_.contains(session)) return absl::OkStatus();
    // The first binary of a session is its program.
    if (record.binary_size() != 0 && identified_.insert(session).second) {
      if (absl::Status status = CheckProgram(input, record.binary(0)); !status.ok()) return status;
    }
    for (const profile::Experiment& experiment : record.experiment()) {
      result_.experiments += std::max(1u, experiment.pooled());
    }
    if (options_.filter == nullptr) return out_.Add(record);
    options_.filter->Add(record);
    return absl::OkStatus();
  }

  // Whether an earlier input had the session. Of a compact profile, which holds the sums of many,
  // no single one can be left out.
  absl::StatusOr<bool> IsRepeated(const std::string& input, const profile::Session& session) const {
    if (session.pooled_session_size() == 0) return sessions_.contains(session.id());
    const auto known =
        std::count_if(session.pooled_session().begin(), session.pooled_session().end(),
                      [this](uint64_t id) { return sessions_.contains(id); });
    if (known == 0 || known == session.pooled_session_size()) return known != 0;
    return absl::FailedPreconditionError(absl::StrFormat(
        "%s is a compact profile, and %d of the %d sessions that it holds the sums of are in "
        "another input too, so they would count twice; merge it without the profiles that it was "
        "made of",
        input, known, session.pooled_session_size()));
  }

  static uint64_t SessionOf(const profile::Profile& record) {
    if (record.session_size() != 0) return record.session(0).id();
    if (record.unit_size() != 0) return record.unit(0).session();
    if (record.progress_point_size() != 0) return record.progress_point(0).session();
    if (record.experiment_size() != 0) return record.experiment(0).session();
    if (record.sample_counts_size() != 0) return record.sample_counts(0).session();
    if (record.session_end_size() != 0) return record.session_end(0).session();
    if (record.binary_size() != 0) return record.binary(0).session();
    if (record.process_size() != 0) return record.process(0).session();
    if (record.source_change_size() != 0) return record.source_change(0).session();
    if (record.point_change_size() != 0) return record.point_change(0).session();
    if (record.bare_interval_size() != 0) return record.bare_interval(0).session();
    if (record.control_size() != 0) return record.control(0).session();
    if (record.thread_counter_size() != 0) return record.thread_counter(0).session();
    return record.thread_size() != 0 ? record.thread(0).session() : 0;
  }

  // What was imported may be of any program.
  absl::Status CheckOrigin(const std::string& input, const profile::Session& session) {
    std::string& known = IsImported(session) ? imported_ : not_imported_;
    if (known.empty()) known = input;
    if (options_.any_program || imported_.empty() || not_imported_.empty()) {
      return absl::OkStatus();
    }
    return absl::FailedPreconditionError(absl::StrFormat(
        "%s is of the original Coz, which does not record what program it is of, and %s is not, so "
        "their experiments cannot be added up; compare them with `coz diff`, or add --any-program "
        "if you know better",
        imported_, not_imported_));
  }

  absl::Status CheckProgram(const std::string& input, const profile::Binary& binary) {
    const ProgramIdentity identity = IdentityOf(binary);
    if (!first_.has_value()) {
      first_ = First{input, identity};
      return absl::OkStatus();
    }
    if (options_.any_program || first_->identity.Matches(identity)) return absl::OkStatus();
    return absl::FailedPreconditionError(absl::StrFormat(
        "%s and %s are of different programs (%s; %s), so their experiments cannot be added up; "
        "compare them with `coz diff`, or add --any-program if you know better",
        first_->file, input, first_->identity.Text(), identity.Text()));
  }

  absl::Status CheckOptions(const std::string& input, const profile::Session& session) {
    const std::string given = session.options().given();
    const std::string threads = absl::StrJoin(session.options().thread(), ",");
    const std::string groups = absl::StrJoin(session.options().thread_group(), ",");
    const std::string unit = UnitKindId(UnitKindOf(session.options()));
    if (!given_.has_value()) {
      given_ = {input, given};
      unit_ = unit;
      threads_ = threads;
      thread_groups_ = groups;
      return absl::OkStatus();
    }
    if (unit_ != unit) {
      return absl::FailedPreconditionError(
          absl::StrFormat("%s was made with --unit=%s and %s with --unit=%s, so their figures do "
                          "not mean the same; "
                          "merge profiles of the same --unit only",
                          given_->first, unit_, input, unit));
    }
    if (thread_groups_ != groups) {
      return absl::FailedPreconditionError(absl::StrFormat(
          "%s was made with --thread-group '%s' and %s with --thread-group '%s', so their units "
          "differ; merge profiles of the same --thread-group only",
          given_->first, thread_groups_, input, groups));
    }
    if (threads_ != threads) {
      return absl::FailedPreconditionError(absl::StrFormat(
          "%s was made with --thread '%s' and %s with --thread '%s', so they speed up other work; "
          "merge profiles of the same --thread only",
          given_->first, threads_, input, threads));
    }
    if (given_->second == given) return absl::OkStatus();
    return absl::FailedPreconditionError(absl::StrFormat(
        "%s was made with --given '%s' and %s with --given '%s', so their baselines differ; merge "
        "profiles of the same --given only",
        given_->first, given_->second, input, given));
  }

  const MergeOptions& options_;
  OutputFile out_;
  MergeResult result_;
  std::optional<First> first_;
  std::string imported_;      // the first file with an imported session
  std::string not_imported_;  // the first with another
  std::optional<std::pair<std::string, std::string>> given_;  // file, option
  std::string unit_;                                          // of the same file
  std::string threads_;                                       // likewise
  std::string thread_groups_;                                 // likewise
  absl::flat_hash_set<uint64_t> sessions_;                    // of the inputs before this one
  absl::flat_hash_set<uint64_t> in_this_input_;
  absl::flat_hash_set<uint64_t> left_out_;
  absl::flat_hash_set<uint64_t> identified_;
};

}  // namespace

absl::StatusOr<MergeResult> MergeProfiles(const MergeOptions& options) {
  if (options.inputs.empty()) {
    return absl::InvalidArgumentError(
        "no profile was named; write: coz merge a.pb b.pb -o merged.pb");
  }
  absl::StatusOr<OutputFile> out = OutputFile::Create(options.output, options.stream);
  if (!out.ok()) return out.status();
  return Merger(options, *std::move(out)).Run();
}

}  // namespace coz::report
