#include "coz/testing/cpu_clocks_lock.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cstdio>
#include <cstdlib>

namespace coz::testing {
namespace {

// The same for all test programs of the machine.
constexpr char kPath[] = "/tmp/coz-test-cpu-clocks.lock";

}  // namespace

CpuClocksLock::CpuClocksLock() : file_(open(kPath, O_RDWR | O_CREAT | O_CLOEXEC, 0666)) {
  if (!file_.ok() || flock(file_.get(), LOCK_EX) != 0) {
    perror(kPath);
    abort();
  }
}

}  // namespace coz::testing
