#include "coz/sampler/queue_clock.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "coz/base/raw_syscall.h"
#include "coz/base/reserved_descriptors.h"
#include "coz/base/switch_mark.h"
#include "coz/sampler/perf_event.h"

namespace coz::sampler {
namespace {

// The second of the numbers in `text`.
bool SecondNumber(const char* text, long length, uint64_t* number) {
  long at = 0;
  while (at < length && text[at] != ' ') ++at;
  const long first = ++at;
  uint64_t value = 0;
  for (; at < length && text[at] >= '0' && text[at] <= '9'; ++at) {
    value = 10 * value + static_cast<uint64_t>(text[at] - '0');
  }
  *number = value;
  return at > first;
}

}  // namespace

int QueueClock::Open() {
  const long opened =
      RawSyscall(SYS_openat, AT_FDCWD, "/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
  if (opened < 0) {
    // A program that has all descriptors in use now may have fewer later.
    is_refused_ = opened != -EMFILE && opened != -ENFILE;
    return static_cast<int>(opened);
  }
  const int fd = MoveOutOfTheWay(static_cast<int>(opened));
  if (fd != opened && ReserveDescriptor(fd)) fd_plus_1_ = fd + 1;
  return fd;
}

bool QueueClock::Read(uint64_t* queued_ns) {
  if (is_marked_ && HoldsSwitchMark()) {
    *queued_ns = queued_ns_;
    return true;
  }
  is_marked_ = false;
  const bool works = SwitchMarksWork();
  if (works) SetSwitchMark();  // first: a switch from here on is seen by the next reading
  if (!ReadFile(queued_ns)) return false;
  queued_ns_ = *queued_ns;
  is_marked_ = works;
  return true;
}

bool QueueClock::ReadFile(uint64_t* queued_ns) {
  if (is_refused_) return false;
  // The program may have taken the number for itself.
  const bool is_kept = fd_plus_1_ != 0 && IsReservedDescriptor(fd_plus_1_ - 1);
  if (!is_kept) fd_plus_1_ = 0;
  const int fd = is_kept ? fd_plus_1_ - 1 : Open();
  if (fd < 0) return false;
  char text[64];
  const long length = RawSyscall(SYS_pread64, fd, text, sizeof(text), 0);
  // Where there is no room for one more, it is opened anew each time.
  if (fd_plus_1_ == 0) RawSyscall(SYS_close, fd);
  if (length > 0 && SecondNumber(text, length, queued_ns)) return true;
  Release();
  is_refused_ = true;
  return false;
}

void QueueClock::Release() {
  if (fd_plus_1_ == 0) return;
  const int fd = fd_plus_1_ - 1;
  fd_plus_1_ = 0;
  // Released first: the number may belong to another file as soon as it is closed.
  if (ReleaseDescriptor(fd)) RawSyscall(SYS_close, fd);
}

}  // namespace coz::sampler
