#include "coz/report/format/profile_writer.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <random>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "coz/base/command_name.h"
#include "coz/base/unique_fd.h"
#include "coz/report/format/profile.pb.h"
#include "coz/report/format/profile_io_error.h"
#include "coz/report/format/profile_reader.h"
#include "google/protobuf/io/zero_copy_stream_impl.h"

namespace coz::report {
namespace {

// One writer at a time: two would not garble each other's chunks, but the one that opens cuts off
// what it takes for the torn end of a crash. The kernel drops the lock with the process.
// Filesystems without locks go without.
absl::Status Lock(const std::string& path, int fd) {
  if (flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "cannot write the profile ", path, ": another coz is writing to it; name another file with `",
      ProfilingCommand("-o FILE"), "`"));
}

// A reader would take what follows a torn record for its rest, so a torn record is cut off first. A
// file that is not a profile from start to end stays as it is.
absl::Status PrepareAppend(const std::string& path, int fd, uint64_t size) {
  if (size == 0) return absl::OkStatus();
  const UniqueFd reading(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!reading.ok()) return ProfileWriteError("look into", path, errno);
  google::protobuf::io::FileInputStream input(reading.get());
  ReadStats stats;
  const absl::Status status = ReadRecords(&input, &stats, [](const profile::Profile&) {});
  if (!status.ok() || stats.unreadable_bytes > 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("cannot append to ", path, ": it is not a ", status.ok() ? "whole " : "",
                     "coz profile; name another file with `", ProfilingCommand("-o FILE"),
                     "`, or move it away with `mv ", path, " ", path, ".old`"));
  }
  if (stats.truncated_bytes > 0 &&
      ftruncate(fd, static_cast<off_t>(stats.bytes - stats.truncated_bytes)) != 0) {
    return ProfileWriteError("repair the end of", path, errno);
  }
  return absl::OkStatus();
}

}  // namespace

uint64_t NewSessionId() {
  uint64_t id = 0;
  while (id == 0) {
    if (getrandom(&id, sizeof(id), 0) == sizeof(id)) continue;
    // Kernels before 3.17, or a seccomp filter.
    std::random_device device;
    id = (static_cast<uint64_t>(device()) << 32) | device();
  }
  return id;
}

absl::StatusOr<ProfileWriter> ProfileWriter::Open(const std::string& path, ProfileOpenMode mode) {
  UniqueFd fd(open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644));
  if (!fd.ok()) return ProfileWriteError("write", path, errno);
  struct stat info;
  if (fstat(fd.get(), &info) != 0) return ProfileWriteError("write", path, errno);
  if (S_ISREG(info.st_mode)) {
    absl::Status status = Lock(path, fd.get());
    if (!status.ok()) return status;
    if (mode == ProfileOpenMode::kAppend) {
      status = PrepareAppend(path, fd.get(), static_cast<uint64_t>(info.st_size));
      if (!status.ok()) return status;
    } else if (ftruncate(fd.get(), 0) != 0) {
      return ProfileWriteError("empty", path, errno);
    }
  }
  return ProfileWriter(path, std::move(fd));
}

absl::Status ProfileWriter::Append(const profile::Profile& chunk) {
  std::string bytes;
  if (!chunk.SerializeToString(&bytes)) {
    return absl::InternalError(
        absl::StrCat("cannot serialize a record of ", chunk.ByteSizeLong(), " bytes for ", path_));
  }
  kept_.push_back(std::move(bytes));
  return WriteKept();
}

absl::Status ProfileWriter::WriteKept() {
  while (!kept_.empty()) {
    if (absl::Status status = Write(kept_.front()); !status.ok()) return status;
    kept_.pop_front();
  }
  return absl::OkStatus();
}

absl::Status ProfileWriter::Write(const std::string& bytes) {
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t n = write(fd_.get(), bytes.data() + done, bytes.size() - done);
    if (n >= 0) {
      done += static_cast<size_t>(n);
      continue;
    }
    if (errno == EINTR) continue;
    const int error = errno;
    // A half chunk would make what follows unreadable. The lock makes the end of the file ours.
    const off_t end = lseek(fd_.get(), 0, SEEK_END);
    if (done > 0 && end >= static_cast<off_t>(done)) {
      if (ftruncate(fd_.get(), end - static_cast<off_t>(done)) != 0) fd_.Reset();
    }
    return ProfileWriteError("write", path_, error);
  }
  bytes_written_ += bytes.size();
  return absl::OkStatus();
}

}  // namespace coz::report
