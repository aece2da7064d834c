// Evaluates the DWARF expressions of call frame information, as procedure linkage tables, signal
// trampolines and hand-written assembly use them.
//
// Shape    a stack of 64-bit numbers; the result is its top
// Units    runtime addresses
// Errors   false: an operation that call frame information must not use, or memory not readable
// Threads  safe
// Signals  async-signal-safe
// Source   DWARF 5 sections 2.5 and 6.4.2
#ifndef COZ_SAMPLER_UNWIND_DWARF_EXPRESSION_H_
#define COZ_SAMPLER_UNWIND_DWARF_EXPRESSION_H_

#include <cstdint>

#include "coz/base/byte_reader.h"
#include "coz/sampler/unwind/stack_reader.h"

namespace coz::sampler {

enum class EvaluationResult : uint8_t { kOk, kMalformed, kUnreadable };

// `registers` are the kRegisterCount of the frame; `initial` is pushed first unless it is null.
EvaluationResult EvaluateExpression(ByteReader expression, const uint64_t* registers,
                                    const uint64_t* initial, StackReader* memory, uint64_t* result);

}  // namespace coz::sampler

#endif  // COZ_SAMPLER_UNWIND_DWARF_EXPRESSION_H_
