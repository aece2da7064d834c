// Signals by which a write that fails ends its process: of a pipe that nobody reads (SIGPIPE), of a
// file that gets too large (SIGXFSZ).
//
// Shape    IgnoreWriteSignal and RestoreWriteSignals come in pairs: here, and in what is started
// Units    none
// Errors   none: a write fails then with EPIPE or EFBIG
// Threads  one at a time
// Signals  RestoreWriteSignals is async-signal-safe
// Source   signal(7)
#ifndef COZ_BASE_WRITE_SIGNALS_H_
#define COZ_BASE_WRITE_SIGNALS_H_

namespace coz {

void IgnoreWriteSignal(int signal);

// To what they were when this process began. Between fork and exec: a signal that is ignored stays
// so through an exec.
void RestoreWriteSignals();

}  // namespace coz

#endif  // COZ_BASE_WRITE_SIGNALS_H_
