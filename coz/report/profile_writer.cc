#include "coz/report/profile_writer.h"

#include <fcntl.h>
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
#include "coz/base/unique_fd.h"
#include "coz/report/profile.pb.h"
#include "coz/report/profile_io_error.h"

namespace coz {
namespace {

// Every field of Profile has wire type 2, so a profile starts with one of these bytes.
constexpr unsigned char kFirstTag = 0x0a;
constexpr unsigned char kLastTag = 0x32;

absl::Status CheckAppendable(const std::string& path, int fd, uint64_t size) {
  if (size == 0) return absl::OkStatus();
  unsigned char first = 0;
  if (pread(fd, &first, 1, 0) != 1) return ProfileWriteError("look into", path, errno);
  if (first >= kFirstTag && first <= kLastTag && first % 8 == 2) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("cannot append to ", path,
                   ": it is not a coz profile, and it would be damaged; name another file with "
                   "`coz run -o FILE --- …`, or remove it with `rm ",
                   path, "`"));
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
  const int truncate = mode == ProfileOpenMode::kTruncate ? O_TRUNC : 0;
  UniqueFd fd(open(path.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | truncate, 0644));
  if (!fd.ok() && errno == EACCES) {
    // A file one may write but not read (a drop box, /dev/fd of a pipe) is good enough.
    fd.Reset(open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | truncate, 0644));
  }
  if (!fd.ok()) return ProfileWriteError("write", path, errno);
  struct stat info;
  if (fstat(fd.get(), &info) != 0) return ProfileWriteError("write", path, errno);
  if (S_ISREG(info.st_mode) && (fcntl(fd.get(), F_GETFL) & O_ACCMODE) == O_RDWR) {
    absl::Status status = CheckAppendable(path, fd.get(), static_cast<uint64_t>(info.st_size));
    if (!status.ok()) return status;
  }
  return ProfileWriter(path, std::move(fd));
}

absl::Status ProfileWriter::Append(const profile::Profile& chunk) {
  std::string bytes;
  if (!chunk.SerializeToString(&bytes)) {
    return absl::InternalError(
        absl::StrCat("cannot serialize a record of ", chunk.ByteSizeLong(), " bytes for ", path_));
  }
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t n = write(fd_.get(), bytes.data() + done, bytes.size() - done);
    if (n >= 0) {
      done += static_cast<size_t>(n);
      continue;
    }
    if (errno == EINTR) continue;
    const int error = errno;
    // A half chunk would make what follows unreadable. The file may be shared with other writers
    // only between sessions, so its end is ours.
    const off_t end = lseek(fd_.get(), 0, SEEK_END);
    if (done > 0 && end >= static_cast<off_t>(done)) {
      if (ftruncate(fd_.get(), end - static_cast<off_t>(done)) != 0) fd_.Reset();
    }
    return ProfileWriteError("write", path_, error);
  }
  bytes_written_ += bytes.size();
  return absl::OkStatus();
}

absl::Status ProfileWriter::Sync() {
  // EINVAL: a pipe or a terminal, which has nothing to sync.
  if (fsync(fd_.get()) != 0 && errno != EINVAL) return ProfileWriteError("sync", path_, errno);
  return absl::OkStatus();
}

}  // namespace coz
