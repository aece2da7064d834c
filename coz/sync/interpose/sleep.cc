// Waits that no thread of this process ends: sleeps, and waits for the end of child processes.
// Process: target. Context: the program's threads.
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include "coz/sync/interpose/io_wait.h"
#include "coz/sync/interpose/wrapped_calls.h"

namespace coz::interpose {
namespace {

// A profiled child pays, and leaves its local delay, before it ends.
template <typename Call>
pid_t WaitForChild(Call call) {
  return WaitForIo(
      call, [](pid_t child) { return child > 0 ? WakerBy(ProcessExitKey(child)) : 0; },
      [](pid_t child, uint64_t) {
        return child > 0 && !IsWokenByTree(ProcessExitKey(child)) ? delay::WaitKind::kChild
                                                                  : delay::WaitKind::kNone;
      });
}

}  // namespace
}  // namespace coz::interpose

using coz::interpose::g_real;
using coz::interpose::WaitForChild;

extern "C" {

int nanosleep(const timespec* duration, timespec* rest) {
  return coz::interpose::Sleep([=] { return g_real.nanosleep(duration, rest); });
}
COZ_SECOND_NAME(__nanosleep, nanosleep);

int clock_nanosleep(clockid_t clock, int flags, const timespec* time, timespec* rest) {
  return coz::interpose::Sleep([=] { return g_real.clock_nanosleep(clock, flags, time, rest); });
}

int usleep(useconds_t duration_us) {
  return coz::interpose::Sleep([=] { return g_real.usleep(duration_us); });
}

unsigned sleep(unsigned seconds) {
  return coz::interpose::Sleep([=] { return g_real.sleep(seconds); });
}

int thrd_sleep(const timespec* duration, timespec* rest) {
  return coz::interpose::Sleep([=] { return g_real.thrd_sleep(duration, rest); });
}

pid_t wait(int* status) {
  return WaitForChild([=] { return g_real.wait(status); });
}
COZ_SECOND_NAME(__wait, wait);

pid_t waitpid(pid_t child, int* status, int options) {
  return WaitForChild([=] { return g_real.waitpid(child, status, options); });
}
COZ_SECOND_NAME(__waitpid, waitpid);

pid_t wait3(int* status, int options, rusage* usage) noexcept {
  return WaitForChild([=] { return g_real.wait3(status, options, usage); });
}

pid_t wait4(pid_t child, int* status, int options, rusage* usage) noexcept {
  return WaitForChild([=] { return g_real.wait4(child, status, options, usage); });
}

int waitid(idtype_t type, id_t id, siginfo_t* info, int options) {
  return coz::interpose::WaitForIo(
      [=] { return g_real.waitid(type, id, info, options); },
      [info](int result) {
        return result == 0 && info != nullptr && info->si_pid > 0
                   ? coz::interpose::WakerBy(coz::interpose::ProcessExitKey(info->si_pid))
                   : 0;
      },
      [info](int result, uint64_t) {
        const bool has_ended = result == 0 && info != nullptr && info->si_pid > 0;
        return has_ended &&
                       !coz::interpose::IsWokenByTree(coz::interpose::ProcessExitKey(info->si_pid))
                   ? coz::delay::WaitKind::kChild
                   : coz::delay::WaitKind::kNone;
      });
}

}  // extern "C"
