#include "coz/testing/capabilities.h"

#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

#include "coz/sampler/perf_event.h"

namespace coz::testing {
namespace {

std::string Missing(bool exclude_kernel) {
  sampler::PerfEventOptions options;
  options.sampling_period_ns = 1'000'000;
  options.inherited_sigtrap = true;
  options.exclude_kernel = exclude_kernel;
  const int fd = sampler::OpenTaskClock(options);
  if (fd >= 0) {
    close(fd);
    return "";
  }
  std::string paranoid = "unreadable";
  std::ifstream("/proc/sys/kernel/perf_event_paranoid") >> paranoid;
  return std::string("required: perf_event_open of the task clock with sigtrap, exclude_kernel=") +
         (exclude_kernel ? "1" : "0") + "; actual: " + strerror(-fd) +
         ", kernel.perf_event_paranoid=" + paranoid + ", uid " + std::to_string(getuid());
}

}  // namespace

std::string MissingPerfEvents() { return Missing(true); }

std::string MissingKernelPerfEvents() { return Missing(false); }

bool MissingCapabilityIsFailure() {
  const char* value = getenv("COZ_REQUIRE_CAPABILITIES");
  return value != nullptr && strcmp(value, "1") == 0;
}

}  // namespace coz::testing
