#include "coz/base/file_replacement.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>

namespace coz {
namespace {

constexpr mode_t kMode = 0666;  // less the umask

bool IsRegular(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode);
}

bool IsThere(const std::string& path) {
  struct stat info;
  return lstat(path.c_str(), &info) == 0;
}

// The path behind all links. Empty where no name leads there, as of a link to what is gone.
std::string BehindLinks(const std::string& path) {
  char real[PATH_MAX];
  return realpath(path.c_str(), real) == nullptr ? "" : real;
}

}  // namespace

FileReplacement::~FileReplacement() {
  if (fd_.ok() && !temporary_.empty()) unlink(temporary_.c_str());
}

bool FileReplacement::Open(const std::string& path) {
  path_ = !IsThere(path) ? path : IsRegular(path) ? BehindLinks(path) : "";
  if (path_.empty()) {
    fd_.Reset(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, kMode));
    return fd_.ok();
  }
  temporary_ = path_ + "." + std::to_string(getpid()) + ".part";
  // Of a process that had the same id.
  unlink(temporary_.c_str());
  fd_.Reset(open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kMode));
  return fd_.ok();
}

bool FileReplacement::Write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(fd_.get(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

bool FileReplacement::Finish() {
  if (!temporary_.empty() && rename(temporary_.c_str(), path_.c_str()) != 0) return false;
  temporary_.clear();
  // Some filesystems tell only here that they are full. EINTR closes, too.
  return close(fd_.Release()) == 0 || errno == EINTR;
}

bool IsSameFile(const std::string& a, const std::string& b) {
  struct stat first;
  struct stat second;
  return stat(a.c_str(), &first) == 0 && stat(b.c_str(), &second) == 0 && S_ISREG(first.st_mode) &&
         first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

}  // namespace coz
