// Keeps errno as the program left it across code that the profiler runs in the program's thread.
//
// Shape    scope guard
// Units    none
// Errors   none
// Threads  each thread has its own errno
// Signals  async-signal-safe
// Source   signal-safety(7), "errno"
#ifndef COZ_BASE_ERRNO_SAVER_H_
#define COZ_BASE_ERRNO_SAVER_H_

#include <cerrno>

namespace coz {

class ErrnoSaver {
 public:
  ErrnoSaver() : saved_(errno) {}
  ~ErrnoSaver() { errno = saved_; }
  ErrnoSaver(const ErrnoSaver&) = delete;
  ErrnoSaver& operator=(const ErrnoSaver&) = delete;

  int saved() const { return saved_; }

 private:
  const int saved_;
};

}  // namespace coz

#endif  // COZ_BASE_ERRNO_SAVER_H_
