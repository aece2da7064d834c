// What a profiler might have changed in a process, seen from outside by /proc.
//
// Shape    slots by address; texts to be compared
// Units    runtime addresses
// Errors   what cannot be read is missing, and fails the test where it should be there
// Threads  safe
// Signals  none
// Source   proc(5); System V ABI, "Global Offset Table"
#ifndef COZ_TESTING_PROCESS_STATE_H_
#define COZ_TESTING_PROCESS_STATE_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

namespace coz::testing {

// What the slots of `file` hold by which it calls other objects, by address. `file` has been
// linked to address 0.
std::map<uint64_t, uint64_t> CallSlotsOf(pid_t pid, const std::string& file);
// Those that are bound. The others point into the file itself, until it calls the function.
std::map<uint64_t, uint64_t> BoundSlotsOf(pid_t pid, const std::string& file);
// How many of them lead into libcoz.so.
size_t SlotsIntoLibrary(pid_t pid, const std::map<uint64_t, uint64_t>& slots);

// Its POSIX timers, and those of its threads.
size_t TimersOf(pid_t pid);

// The dispositions of its signals, its tracer, its descriptors, how many slots of `file` are
// wrapped, whether its code is as in the file, and its timers.
std::string StateFromOutside(pid_t pid, const std::string& file);

}  // namespace coz::testing

#endif  // COZ_TESTING_PROCESS_STATE_H_
