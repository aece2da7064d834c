// Appends records to a profile file. All that was appended reads back, whatever ends the process.
//
// Shape    each Append is one serialized Profile chunk in one write(2) with O_APPEND; a new file
//          gets mode 0644
// Units    none
// Errors   Open: NOT_FOUND, PERMISSION_DENIED, FAILED_PRECONDITION (a folder), RESOURCE_EXHAUSTED
//          (disk full), UNAVAILABLE for the rest; the message names the path, what the system said
//          and what to do next. Append: the same; after a partial write the file is cut back to the
//          last whole chunk. What could not be written is kept, and comes before the next chunk
// Threads  compatible
// Signals  not async-signal-safe
// Source   write(2), open(2) on O_APPEND; protobuf encoding: concatenated messages merge
#ifndef COZ_REPORT_FORMAT_PROFILE_WRITER_H_
#define COZ_REPORT_FORMAT_PROFILE_WRITER_H_

#include <cstdint>
#include <deque>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "coz/base/unique_fd.h"
#include "coz/report/format/profile.pb.h"

namespace coz::report {

enum class ProfileOpenMode {
  // add a session to what is there, less a torn record at its end; refuses what is no profile
  kAppend,
  kTruncate,  // start anew
};

// A random Session.id, never 0.
uint64_t NewSessionId();

class ProfileWriter {
 public:
  static absl::StatusOr<ProfileWriter> Open(const std::string& path,
                                            ProfileOpenMode mode = ProfileOpenMode::kAppend);

  ProfileWriter(ProfileWriter&&) = default;
  ProfileWriter& operator=(ProfileWriter&&) = default;

  // The data is in the kernel when this returns: it survives kill -9 of this process and of the
  // target. Not a power failure: an fsync would wait for what other programs write.
  absl::Status Append(const profile::Profile& chunk);

  // Tries again to write what is kept.
  absl::Status WriteKept();

  const std::string& path() const { return path_; }
  uint64_t bytes_written() const { return bytes_written_; }

 private:
  ProfileWriter(std::string path, UniqueFd fd) : path_(std::move(path)), fd_(std::move(fd)) {}

  absl::Status Write(const std::string& bytes);

  std::string path_;
  UniqueFd fd_;
  std::deque<std::string> kept_;
  uint64_t bytes_written_ = 0;
};

}  // namespace coz::report

#endif  // COZ_REPORT_FORMAT_PROFILE_WRITER_H_
