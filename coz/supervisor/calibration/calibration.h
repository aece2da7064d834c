// How far predictions are off on this machine, as the last `coz selftest` found, kept for later
// runs.
//
// Shape    one JSON object in $XDG_STATE_HOME/coz or ~/.local/state/coz; written beside and renamed
// Units    errors are fractions of program speedup; s since the epoch
// Errors   ReadCalibration: nullopt where there is none, it is damaged, or of another machine.
//          WriteCalibration: those of the file, in one sentence
// Threads  safe
// Signals  none
// Source   XDG Base Directory Specification
#ifndef COZ_SUPERVISOR_CALIBRATION_CALIBRATION_H_
#define COZ_SUPERVISOR_CALIBRATION_CALIBRATION_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace coz::supervisor {

struct Calibration {
  int64_t time_s = 0;
  uint32_t figures = 0;
  double mean_error = 0;
  double worst_error = 0;
};

// Of the differences between predicted and known.
Calibration CalibrationOf(const std::vector<double>& errors, int64_t time_s);

// Empty where neither variable is an absolute path.
std::string CalibrationPath();

// `machine`: host name, kernel and CPUs; a calibration of another one says nothing here.
std::optional<Calibration> ReadCalibration(const std::string& path,
                                           const std::string& machine = "");
absl::Status WriteCalibration(const std::string& path, const Calibration& calibration,
                              const std::string& machine = "");

}  // namespace coz::supervisor

#endif  // COZ_SUPERVISOR_CALIBRATION_CALIBRATION_H_
