// SIGXFSZ, by which the kernel ends a process that writes beyond `ulimit -f`. Ignored, it lets the
// write fail with EFBIG, which can be told.
//
// Shape    one disposition for the process
// Units    none
// Errors   none
// Threads  IgnoreFileSizeSignal: before there are others; RestoreFileSizeSignal: safe
// Signals  RestoreFileSizeSignal is async-signal-safe
// Source   setrlimit(2); exec keeps that a signal is ignored, which a program can see
#ifndef COZ_BASE_FILE_SIZE_SIGNAL_H_
#define COZ_BASE_FILE_SIZE_SIGNAL_H_

namespace coz {

// Once, at the start.
void IgnoreFileSizeSignal();

// As this process was started with it: for a program that takes the place of this process or of its
// child. Does nothing where it was never ignored.
void RestoreFileSizeSignal();

}  // namespace coz

#endif  // COZ_BASE_FILE_SIZE_SIGNAL_H_
