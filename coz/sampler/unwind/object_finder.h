// Finds the .eh_frame of the loaded object that holds an address.
//
// Shape    the program, its libraries, those opened later, and the vDSO
// Units    runtime addresses
// Errors   InitObjectFinder: false where libc has no _dl_find_object (glibc before 2.35)
// Threads  safe after InitObjectFinder
// Signals  FindEhFrame is async-signal-safe, as _dl_find_object is; InitObjectFinder is not
// Source   glibc manual, "Dynamic Linker Introspection"; vdso(7)
#ifndef COZ_SAMPLER_UNWIND_OBJECT_FINDER_H_
#define COZ_SAMPLER_UNWIND_OBJECT_FINDER_H_

#include <cstdint>

#include "coz/sampler/unwind/eh_frame.h"

namespace coz::sampler {

bool InitObjectFinder();

// False where no object, or one without .eh_frame_hdr, holds `address`.
bool FindEhFrame(uint64_t address, EhFrameSection* section);

}  // namespace coz::sampler

#endif  // COZ_SAMPLER_UNWIND_OBJECT_FINDER_H_
