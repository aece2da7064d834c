// Numbers on the command line, and seconds: 90, 90s, 1.5m or 2h.
#ifndef COZ_TOOLS_SECONDS_H_
#define COZ_TOOLS_SECONDS_H_

#include <string>

#include "CLI/App.hpp"

namespace coz {

// For CLI::Option::transform. Makes a time with a unit a number of seconds, and leaves all else to
// the option's other checks.
CLI::Validator TimesWithUnits();

// For CLI::Option::check, in place of the range alone, which NaN passes.
CLI::Validator NumberIn(const CLI::Range& range);

// For an unsigned number, of which the parser takes -1 and what does not fit for its largest.
CLI::Validator WholeNumber();

}  // namespace coz

#endif  // COZ_TOOLS_SECONDS_H_
