// The names of call paths: "Hash < Log" is Hash where Log calls it.
//
// Shape    names of functions, the innermost first, with " < " in between. Users may leave the
//          blanks out
// Units    none
// Errors   none: a text that names no caller is one name
// Threads  safe
// Signals  not async-signal-safe
// Source   docs/units.md, "Call paths"
#ifndef COZ_BASE_CALL_PATH_NAME_H_
#define COZ_BASE_CALL_PATH_NAME_H_

#include <string>
#include <string_view>
#include <vector>

namespace coz {

std::string JoinCallPath(const std::vector<std::string>& functions);

// A '<' that opens the arguments of a template, or belongs to an operator, separates nothing. Where
// " < " occurs, it alone separates.
std::vector<std::string> SplitCallPath(std::string_view name);

}  // namespace coz

#endif  // COZ_BASE_CALL_PATH_NAME_H_
