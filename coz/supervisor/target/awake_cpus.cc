#include "coz/supervisor/target/awake_cpus.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"

namespace coz::supervisor {

absl::StatusOr<UniqueFd> KeepCpusAwake(const std::string& device, const std::string& idle_driver) {
  if (idle_driver == kNoIdleDriver) {
    return absl::FailedPreconditionError(
        "cannot keep idle CPUs awake: this kernel has no idle driver that a request could reach "
        "(/sys/devices/system/cpu/cpuidle/current_driver); leave --awake out, or boot the machine "
        "with the kernel parameter idle=poll");
  }
  const int32_t tolerated_latency_us = 0;
  UniqueFd file(open(device.c_str(), O_WRONLY | O_CLOEXEC));
  if (file.ok() && write(file.get(), &tolerated_latency_us, sizeof(tolerated_latency_us)) ==
                       sizeof(tolerated_latency_us)) {
    return file;
  }
  const int error = errno;
  return absl::ErrnoToStatus(
      error, absl::StrFormat("cannot keep idle CPUs awake through %s; run coz as root, or leave "
                             "--awake out",
                             device));
}

}  // namespace coz::supervisor
