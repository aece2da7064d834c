// Seconds on the command line: 90, 90s, 1.5m or 2h.
#ifndef COZ_TOOLS_SECONDS_H_
#define COZ_TOOLS_SECONDS_H_

#include <string>

#include "CLI/App.hpp"

namespace coz {

// For CLI::Option::transform. Makes a time with a unit a number of seconds, and leaves all else to
// the option's other checks.
CLI::Validator TimesWithUnits();

}  // namespace coz

#endif  // COZ_TOOLS_SECONDS_H_
