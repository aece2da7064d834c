// A file descriptor that is closed with its owner.
//
// Shape    one descriptor or none (-1); movable, not copyable
// Units    none
// Errors   none: close(2) errors are ignored, as after a read they carry no information
// Threads  compatible
// Signals  async-signal-safe
// Source   close(2)
#ifndef COZ_BASE_UNIQUE_FD_H_
#define COZ_BASE_UNIQUE_FD_H_

#include <unistd.h>

#include <utility>

namespace coz {

class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(other.Release()) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    Reset(other.Release());
    return *this;
  }
  UniqueFd(const UniqueFd&) = delete;
  UniqueFd& operator=(const UniqueFd&) = delete;
  ~UniqueFd() { Reset(); }

  int get() const { return fd_; }
  bool ok() const { return fd_ >= 0; }
  int Release() { return std::exchange(fd_, -1); }
  void Reset(int fd = -1) {
    if (fd_ >= 0) close(fd_);
    fd_ = fd;
  }

 private:
  int fd_ = -1;
};

}  // namespace coz

#endif  // COZ_BASE_UNIQUE_FD_H_
