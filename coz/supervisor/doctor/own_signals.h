// Whether a program sets the actions of signals without libc. It would take the signal of samples
// from the runtime, and a sample would then go to the program.
//
// Shape    one answer for a file, from its machine code
// Units    none
// Errors   what is no readable ELF file does not
// Threads  safe
// Signals  none
// Source   rt_sigaction(2); elf(5); docs/design/signals.md
#ifndef COZ_SUPERVISOR_DOCTOR_OWN_SIGNALS_H_
#define COZ_SUPERVISOR_DOCTOR_OWN_SIGNALS_H_

#include <string_view>

#include "coz/sourcemap/binary_info.h"

namespace coz::supervisor {

// Go's runtime has such code, too. Whether it uses it is seen when it runs (docs/running.md).
bool TakesSignalsItself(const sourcemap::BinaryInfo& info);

// What to say of such a program behind its name, with what helps.
inline constexpr char kTakesSignalsItself[] =
    "handles signals by the system call rt_sigaction without libc, and might take a sample for a "
    "signal of its own; let it use sigaction()";

// In machine code: `mov $SYS_rt_sigaction, %eax` shortly before `syscall`, unless what is moved to
// %edi before is another signal than SIGTRAP.
bool SetsActionOfTrap(std::string_view code);

}  // namespace coz::supervisor

#endif  // COZ_SUPERVISOR_DOCTOR_OWN_SIGNALS_H_
