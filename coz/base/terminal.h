// Whether a stream can be drawn on.
//
// Shape    none
// Units    none
// Errors   none
// Threads  safe while nobody changes the environment
// Signals  not async-signal-safe
// Source   isatty(3); TERM is "dumb" or not set where nobody knows of escape sequences, as in Emacs
//          and logs of CI
#ifndef COZ_BASE_TERMINAL_H_
#define COZ_BASE_TERMINAL_H_

#include <unistd.h>

#include <cstdlib>
#include <string_view>

namespace coz {

// A terminal that knows escape sequences.
inline bool CanDrawOn(int fd) {
  const char* const terminal = getenv("TERM");
  return terminal != nullptr && std::string_view(terminal) != "dumb" && isatty(fd) == 1;
}

}  // namespace coz

#endif  // COZ_BASE_TERMINAL_H_
