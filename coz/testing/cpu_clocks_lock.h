// Keeps tests that sample by clocks of the CPUs apart: the clock of one would sample the threads of
// another, too.
//
// Shape    held from construction to destruction; a test that finds it held waits
// Units    none
// Errors   ends the test program
// Threads  compatible
// Signals  none
// Source   flock(2); docs/design/sampling.md, "Clocks of the CPUs"
#ifndef COZ_TESTING_CPU_CLOCKS_LOCK_H_
#define COZ_TESTING_CPU_CLOCKS_LOCK_H_

#include "coz/base/unique_fd.h"

namespace coz::testing {

class CpuClocksLock {
 public:
  CpuClocksLock();

 private:
  UniqueFd file_;
};

}  // namespace coz::testing

#endif  // COZ_TESTING_CPU_CLOCKS_LOCK_H_
