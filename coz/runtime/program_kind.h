// What the program of this process is to the runtime: some programs make their system calls
// themselves.
//
// Shape    one answer for the process
// Units    none
// Errors   what cannot be known is an ordinary program
// Threads  safe
// Signals  not async-signal-safe
// Source   elf(5); docs/running.md, "Go"
#ifndef COZ_RUNTIME_PROGRAM_KIND_H_
#define COZ_RUNTIME_PROGRAM_KIND_H_

namespace coz::runtime {

enum class ProgramKind {
  kOrdinary,
  // Go's runtime makes system calls itself, exec among them. Signals it handles by libc where it is
  // built with cgo.
  kGo,
  // It is linked with no library, and so has no libc: not even its thread pointer is libc's.
  kWithoutLibc,
};

ProgramKind KindOfProgram();

// Whether the process is Valgrind's, which runs the program's code itself. Samples would come to
// Valgrind, and end it.
bool RunsUnderValgrind();

}  // namespace coz::runtime

#endif  // COZ_RUNTIME_PROGRAM_KIND_H_
