// What the supervisor calls in a process that it attaches to: functions of libcoz.so, by their
// names.
//
// Shape    each takes one number and returns an AttachAnswer, as WithErrno packs it
// Units    none
// Errors   the answer, with the errno of the system call that was refused, if one was; anything but
//          kDone changes nothing in the process
// Threads  one call at a time, in a thread that has been stopped where it may take the loader's and
//          malloc's locks
// Signals  not async-signal-safe; the caller blocks all signals
// Source   docs/design/attach.md
#ifndef COZ_SHARED_ATTACH_INTERFACE_H_
#define COZ_SHARED_ATTACH_INTERFACE_H_

#include <cstdint>

namespace coz::shared {

// The argument is a descriptor of the control block, which the call closes. From then on the
// process is profiled, and perf events of its threads may be enabled (sampler::OpenTaskClockOf).
// Where ControlBlock::use_cpu_timers is set there are none; see kSampleByTimersFunction.
inline constexpr char kAttachFunction[] = "_coz_attach";
// The process is not profiled any more. Its events must be closed. The argument is 1 where the
// disposition of the sampling signal is to become the program's again: no signal of an event may be
// under way then.
inline constexpr char kDetachFunction[] = "_coz_detach";

// Code of the process is about to be changed (1): no thread may block the sampling signal from now
// on, for an int3 may stand where it comes. Or (0): does what the supervisor asks for in
// ControlBlock::patch_request.
inline constexpr char kChangeCodeFunction[] = "_coz_change_code";
// CPU timers sample the process from now on. Makes one for each thread in
// ControlBlock::timer_request. Perf events must be disabled. The argument means nothing.
inline constexpr char kSampleByTimersFunction[] = "_coz_sample_by_timers";

// Nothing raises the sampling signal any more: timers are deleted, events that threads have opened
// for themselves are closed, and code becomes as it was. Other events must be closed. The argument
// means nothing.
inline constexpr char kEndSignalsFunction[] = "_coz_end_signals";

enum class AttachAnswer : int64_t {
  kDone = 1,
  kInProfile = 2,     // a supervisor that lives has attached
  kPreloaded = 3,     // the process was started with the library
  kOtherVersion = 4,  // of the control block
  kNoMemory = 5,      // the block cannot be mapped
  kNoSlot = 6,        // the block has no room for the process
  kNotAttached = 7,   // and so cannot be detached
  kCodeStays = 8,     // changed, as the system forbids to restore it
  kOtherPoints = 9,   // its marks have the numbers of other processes' points
  kNoHandler = 10,    // the sampling signal cannot be taken
  kNoFile = 11        // the block's file cannot be looked at
};

constexpr int64_t WithErrno(AttachAnswer answer, int error) {
  return static_cast<int64_t>(answer) | int64_t{error} << 8;
}
constexpr AttachAnswer AnswerIn(int64_t packed) { return static_cast<AttachAnswer>(packed & 0xff); }
// 0: none.
constexpr int ErrnoIn(int64_t packed) { return static_cast<int>(packed >> 8); }

}  // namespace coz::shared

#endif  // COZ_SHARED_ATTACH_INTERFACE_H_
