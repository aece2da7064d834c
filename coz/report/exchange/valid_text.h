// Names for formats that hold UTF-8 alone: a path, and so the name of a unit, may have any bytes.
//
// Shape    the text, with U+FFFD for each byte that belongs to no character, as in the JSON formats
// Units    none
// Errors   none
// Threads  safe: a pure function
// Signals  not async-signal-safe
// Source   docs/export.md
#ifndef COZ_REPORT_EXCHANGE_VALID_TEXT_H_
#define COZ_REPORT_EXCHANGE_VALID_TEXT_H_

#include <string>

namespace coz::report {

std::string ValidText(const std::string& text);

}  // namespace coz::report

#endif  // COZ_REPORT_EXCHANGE_VALID_TEXT_H_
