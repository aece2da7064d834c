// Steps from a frame to its caller by .eh_frame, or by the table of a Go program.
//
// Shape    a Frame is the registers of one activation, in DWARF's numbering
// Units    runtime addresses
// Errors   an enum per reason
// Threads  safe; decoded rules are cached for all threads without a lock
// Signals  StepOut, SetGoFunctions and ForgetCachedRules are async-signal-safe
// Source   DWARF 5 section 6.4.4; sigreturn(2)
#ifndef COZ_SAMPLER_UNWIND_EH_FRAME_STEPPER_H_
#define COZ_SAMPLER_UNWIND_EH_FRAME_STEPPER_H_

#include <ucontext.h>

#include <cstdint>

#include "coz/sampler/unwind/cfa_program.h"
#include "coz/sampler/unwind/stack_reader.h"

namespace coz::sampler {

struct Frame {
  uint64_t registers[kRegisterCount];
  // False: the frame is in a call, and its address is a return address.
  bool is_exact;

  uint64_t LookupAddress() const { return registers[kReturnAddress] - (is_exact ? 0 : 1); }
};

Frame FrameOf(const ucontext_t& context);

enum class StepResult : uint8_t { kStepped, kEnd, kNoCfi, kBadCfi, kBadMemory };

// Replaces `frame` by its caller's. After kNoCfi the frame is as it was; after any other result but
// kStepped it is useless.
StepResult StepOut(StackReader* stack, Frame* frame);

// The same for code that keeps a frame pointer. kNoCfi where the register holds none.
StepResult StepByFramePointer(StackReader* stack, Frame* frame);

// A table by which code without .eh_frame is left (go_functions.h).
void SetGoFunctions(const uint8_t* table, uint64_t bytes);

void ForgetCachedRules();

}  // namespace coz::sampler

#endif  // COZ_SAMPLER_UNWIND_EH_FRAME_STEPPER_H_
