// What this process has mapped.
//
// Shape    as StubSpace takes it
// Units    runtime addresses
// Errors   none
// Threads  safe
// Signals  none
// Source   proc(5), /proc/PID/maps
#ifndef COZ_BENCH_PATCH_MAPPED_HERE_H_
#define COZ_BENCH_PATCH_MAPPED_HERE_H_

#include <vector>

#include "coz/patch/stub_space.h"

namespace coz::bench {

std::vector<patch::AddressRange> MappedHere();

}  // namespace coz::bench

#endif  // COZ_BENCH_PATCH_MAPPED_HERE_H_
