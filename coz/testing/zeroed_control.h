// A control block of a test's own, all zero as the supervisor's new one is.
//
// Shape    240 MB of address space; a page is there once it is touched, so that a test pays for
//          what it uses
// Units    none
// Errors   a failed mmap ends the test process
// Threads  as of the block
// Signals  none
// Source   mmap(2)
#ifndef COZ_TESTING_ZEROED_CONTROL_H_
#define COZ_TESTING_ZEROED_CONTROL_H_

#include <sys/mman.h>

#include <cstdlib>
#include <memory>

#include "coz/shared/control_block.h"

namespace coz::testing {

struct UnmapControl {
  void operator()(shared::ControlBlock* control) const { munmap(control, sizeof(*control)); }
};
using OwnedControl = std::unique_ptr<shared::ControlBlock, UnmapControl>;

inline OwnedControl ZeroedControl() {
  void* const memory = mmap(nullptr, sizeof(shared::ControlBlock), PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) abort();
  return OwnedControl(static_cast<shared::ControlBlock*>(memory));
}

}  // namespace coz::testing

#endif  // COZ_TESTING_ZEROED_CONTROL_H_
