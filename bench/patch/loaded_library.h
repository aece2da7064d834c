// The file of a library that this process has loaded.
//
// Shape    a name, or its end: "libc.so.6"
// Units    none
// Errors   empty: it is not loaded
// Threads  safe
// Signals  not safe
// Source   dl_iterate_phdr(3)
#ifndef COZ_BENCH_PATCH_LOADED_LIBRARY_H_
#define COZ_BENCH_PATCH_LOADED_LIBRARY_H_

#include <string>

namespace coz::bench {

std::string LoadedLibrary(const std::string& name);

}  // namespace coz::bench

#endif  // COZ_BENCH_PATCH_LOADED_LIBRARY_H_
