// Makes and maps the control block, and finds the supervisor's from within a process of the target.
//
// Shape    one mapping per process, for its whole life; children of fork inherit it
// Units    bytes
// Errors   MapControl: null, and why. MapControlBlock: null where the process is not to be
//          profiled. Only the first process then says why on standard error, in one line
// Threads  MapControlBlock: for the one thread that there is when a process starts
// Signals  only MayJoinFromHere is async-signal-safe
// Source   memfd_create(2), pid_namespaces(7)
#ifndef COZ_SHARED_CONTROL_MAPPING_H_
#define COZ_SHARED_CONTROL_MAPPING_H_

#include <cstdint>

#include "coz/shared/carry_over.h"
#include "coz/shared/control_block.h"

namespace coz::shared {

enum class MapFault {
  kNone,
  kNoFile,        // `fd` is none, or cannot be looked at; errno says why
  kOtherVersion,  // magic, version or size is not this code's
  kNoMemory       // mmap has failed; errno says why
};

struct MappedControl {
  ControlBlock* control = nullptr;
  MapFault fault = MapFault::kNone;
};

// Gives the empty file `fd` the size and the head of a control block of this version. False, with
// errno, where that fails.
bool FormatControl(int fd);

// Maps the control block in `fd`, and `mapped_bytes` in all: the tables behind it may come later.
MappedControl MapControl(int fd, uint64_t mapped_bytes = kControlMappingBytes);

// Puts the control block in `fd` in the place of the block `at`, which the process has kept, with
// its slots at `places`. Slots first: whoever runs meanwhile finds its own. False, with errno,
// where that fails; what is there then belongs to no session.
bool PlaceControl(int fd, const SlotPlaces& places, ControlBlock* at);

// Why a process has no block: a clause, and what to do about it. `error`: errno of the open.
const char* Explain(MapFault fault, int error);

// The block that the environment names, if this process is to be profiled.
ControlBlock* MapControlBlock();

// Whether the calling process's number means the same to the supervisor. It counts those for which
// it does not.
bool MayJoinFromHere(ControlBlock& control);

}  // namespace coz::shared

#endif  // COZ_SHARED_CONTROL_MAPPING_H_
