// Copies text out of memory that the target may write to at any time.
//
// Shape    what is before the NUL, or all where there is none
// Units    bytes
// Errors   none
// Threads  safe; text that changes meanwhile is a mixture
// Signals  not safe
// Source   none
#ifndef COZ_SUPERVISOR_TARGET_SHARED_TEXT_H_
#define COZ_SUPERVISOR_TARGET_SHARED_TEXT_H_

#include <cstddef>
#include <cstring>
#include <string>

namespace coz::supervisor {

template <size_t kBytes>
std::string SharedText(const char (&text)[kBytes]) {
  return std::string(text, strnlen(text, kBytes));
}

}  // namespace coz::supervisor

#endif  // COZ_SUPERVISOR_TARGET_SHARED_TEXT_H_
