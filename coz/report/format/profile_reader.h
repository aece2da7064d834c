// Reads a profile record by record, up to the last whole one, whatever state the file is in.
//
// Shape    a stream of records in file order; each is handed on as a Profile with exactly one
//          record in it. Memory in use is one record (at most 64 MiB) plus what the caller keeps
// Units    bytes
// Errors   ReadProfile: NOT_FOUND, PERMISSION_DENIED, FAILED_PRECONDITION (a folder) from open(2);
//          INVALID_ARGUMENT when it is no profile: the message says what it looks like and what to
//          do. A cut end and damaged or unknown records are no errors: ReadStats counts them
// Threads  compatible
// Signals  not async-signal-safe
// Source   Protocol Buffers encoding: each top-level record is tag, length, payload
#ifndef COZ_REPORT_FORMAT_PROFILE_READER_H_
#define COZ_REPORT_FORMAT_PROFILE_READER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "coz/report/format/profile.pb.h"
#include "google/protobuf/io/zero_copy_stream.h"

namespace coz::report {

inline constexpr uint32_t kMaxRecordBytes = 64u << 20;

struct ReadStats {
  uint64_t bytes = 0;    // read in all
  uint64_t records = 0;  // handed on
  // A record begun and not finished at the end of the file: its writer was killed, or the file was
  // cut.
  uint64_t truncated_bytes = 0;
  // Whole records whose payload is no valid record; they were skipped.
  uint64_t damaged_records = 0;
  // The rest of the file from where no record begins; it was not read.
  uint64_t unreadable_bytes = 0;
  // Records of a kind that a later version has added; they were skipped.
  uint64_t unknown_records = 0;

  // One sentence for each of the above that is not zero.
  std::vector<std::string> Notes() const;
};

// Calls `sink` for each record. INVALID_ARGUMENT if there was none.
absl::Status ReadRecords(google::protobuf::io::ZeroCopyInputStream* input, ReadStats* stats,
                         absl::FunctionRef<void(const profile::Profile& one_record)> sink);

// The same of a file, with its errors; "-" is standard input.
absl::Status ReadRecordsOf(const std::string& path, ReadStats* stats,
                           absl::FunctionRef<void(const profile::Profile& one_record)> sink);

struct ReadResult {
  profile::Profile profile;
  ReadStats stats;
};

// All records of a file; "-" is standard input.
absl::StatusOr<ReadResult> ReadProfile(const std::string& path);

// The same from memory, for tests and fuzzers. `name` is used in messages.
absl::StatusOr<ReadResult> ParseProfile(const std::string& bytes, const std::string& name);

}  // namespace coz::report

#endif  // COZ_REPORT_FORMAT_PROFILE_READER_H_
