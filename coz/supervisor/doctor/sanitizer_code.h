// Whether a program holds the runtime of a sanitizer. That runtime makes system calls of its own,
// for signals and waits, which nobody who profiles the program can change; it leaves SIGTRAP alone.
//
// Shape    one answer for a file, from its dynamic symbols
// Units    none
// Errors   damaged symbols are none
// Threads  compatible
// Signals  none
// Source   elf(5); compiler-rt, which exports __sanitizer_*
#ifndef COZ_SUPERVISOR_DOCTOR_SANITIZER_CODE_H_
#define COZ_SUPERVISOR_DOCTOR_SANITIZER_CODE_H_

#include <libelf.h>

namespace coz::supervisor {

bool HasSanitizerCode(Elf* elf);

}  // namespace coz::supervisor

#endif  // COZ_SUPERVISOR_DOCTOR_SANITIZER_CODE_H_
