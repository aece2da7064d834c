#include "coz/supervisor/calibration/calibration.h"

#include <sched.h>
#include <sys/utsname.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "nlohmann/json.hpp"

namespace coz::supervisor {
namespace {

using Json = nlohmann::ordered_json;

// A folder of state may be shared between machines.
std::string ThisMachine() {
  utsname names = {};
  uname(&names);
  cpu_set_t allowed;
  const int cpus = sched_getaffinity(0, sizeof(allowed), &allowed) == 0 ? CPU_COUNT(&allowed) : 0;
  return absl::StrCat(names.nodename, " ", names.release, " ", cpus);
}

std::string OrThis(const std::string& machine) { return machine.empty() ? ThisMachine() : machine; }

absl::Status FileError(const std::string& path, int error) {
  return absl::Status(absl::ErrnoToStatusCode(error),
                      absl::StrFormat("cannot keep the result in %s: %s; name another folder: "
                                      "XDG_STATE_HOME=FOLDER coz selftest",
                                      path, strerror(error)));
}

}  // namespace

Calibration CalibrationOf(const std::vector<double>& errors, int64_t time_s) {
  Calibration calibration;
  calibration.time_s = time_s;
  calibration.figures = static_cast<uint32_t>(errors.size());
  for (const double error : errors) {
    calibration.mean_error += std::fabs(error) / static_cast<double>(errors.size());
    calibration.worst_error = std::max(calibration.worst_error, std::fabs(error));
  }
  return calibration;
}

std::string CalibrationPath() {
  const auto folder = [](const char* variable) {
    const char* const value = getenv(variable);
    return value != nullptr && *value == '/' ? std::string(value) : std::string();
  };
  std::string state = folder("XDG_STATE_HOME");
  if (state.empty() && !folder("HOME").empty()) state = folder("HOME") + "/.local/state";
  return state.empty() ? "" : state + "/coz/calibration.json";
}

std::optional<Calibration> ReadCalibration(const std::string& path, const std::string& machine) {
  std::ifstream file(path);
  const Json json = Json::parse(file, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return std::nullopt;
  for (const char* key : {"time_s", "figures", "mean_error", "worst_error"}) {
    if (!json.contains(key) || !json[key].is_number()) return std::nullopt;
  }
  if (!json.contains("machine") || json["machine"] != OrThis(machine)) return std::nullopt;
  Calibration calibration;
  calibration.time_s = json["time_s"].get<int64_t>();
  calibration.figures = json["figures"].get<uint32_t>();
  calibration.mean_error = json["mean_error"].get<double>();
  calibration.worst_error = json["worst_error"].get<double>();
  if (calibration.figures == 0) return std::nullopt;
  return calibration;
}

absl::Status WriteCalibration(const std::string& path, const Calibration& calibration,
                              const std::string& machine) {
  if (path.empty()) return FileError("~/.local/state/coz", ENOENT);
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), error);
  if (error) return FileError(path, error.value());
  const Json json = {{"machine", OrThis(machine)},
                     {"time_s", calibration.time_s},
                     {"figures", calibration.figures},
                     {"mean_error", calibration.mean_error},
                     {"worst_error", calibration.worst_error}};
  const std::string beside = path + ".new";
  errno = 0;
  {
    std::ofstream file(beside);
    file << json.dump() << "\n";
    if (!file.flush()) return FileError(path, errno == 0 ? EIO : errno);
  }
  if (rename(beside.c_str(), path.c_str()) != 0) return FileError(path, errno);
  return absl::OkStatus();
}

}  // namespace coz::supervisor
