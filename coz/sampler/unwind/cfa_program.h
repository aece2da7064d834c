// Runs a function's call frame instructions up to one address, to find its caller's registers.
//
// Shape    a rule per register, in DWARF's numbering for x86-64: 6 rbp, 7 rsp, 16 return address
// Units    bytes from the canonical frame address (CFA); expressions point into .eh_frame
// Errors   false where the instructions are malformed
// Threads  safe
// Signals  async-signal-safe
// Source   DWARF 5 sections 6.4.2 and 6.4.3; x86-64 psABI figure 3.36; GCC's DW_CFA_GNU_*
#ifndef COZ_SAMPLER_UNWIND_CFA_PROGRAM_H_
#define COZ_SAMPLER_UNWIND_CFA_PROGRAM_H_

#include <cstdint>

#include "coz/sampler/unwind/eh_frame.h"

namespace coz::sampler {

inline constexpr int kRegisterCount = 17;
inline constexpr int kRbx = 3;
inline constexpr int kRbp = 6;
inline constexpr int kRsp = 7;
inline constexpr int kR12 = 12;
inline constexpr int kReturnAddress = 16;

enum class RuleKind : uint8_t {
  kSameValue,     // as in the callee; the default
  kUndefined,     // lost; of the return address: there is no caller
  kAtCfaPlus,     // in memory at CFA + value
  kCfaPlus,       // is CFA + value
  kInRegister,    // in register `value`
  kAtExpression,  // in memory where the expression says
  kIsExpression,  // what the expression says
};

// An expression's value is the offset of its length field from the begin of the FDE's section.
struct RegisterRules {
  RuleKind kind[kRegisterCount] = {};
  int32_t value[kRegisterCount] = {};
};

struct FrameRules {
  bool cfa_is_expression = false;
  uint8_t cfa_register = kRsp;
  int32_t cfa_value = 0;
  RegisterRules registers;
};

// `section_begin` is what expression values are relative to.
bool FindFrameRules(const FrameDescription& description, const uint8_t* section_begin,
                    uint64_t address, FrameRules* rules);

}  // namespace coz::sampler

#endif  // COZ_SAMPLER_UNWIND_CFA_PROGRAM_H_
