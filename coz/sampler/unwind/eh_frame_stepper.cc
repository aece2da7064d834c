#include "coz/sampler/unwind/eh_frame_stepper.h"

#include <atomic>
#include <cstddef>

#include "coz/base/byte_reader.h"
#include "coz/sampler/unwind/dwarf_expression.h"
#include "coz/sampler/unwind/eh_frame.h"
#include "coz/sampler/unwind/go_functions.h"
#include "coz/sampler/unwind/object_finder.h"
#include "coz/sampler/unwind/rule_cache.h"
#include "coz/sampler/unwind/sigreturn.h"

namespace coz::sampler {
namespace {

RuleCache cache;

std::atomic<const uint8_t*> go_functions{nullptr};
std::atomic<uint64_t> go_functions_bytes{0};

// Where ucontext_t keeps the registers, by DWARF number.
constexpr int kGregs[kRegisterCount] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
                                        REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                        REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};

// The kernel has put a ucontext_t where the handler's return has left the stack pointer.
StepResult StepOutOfSignal(StackReader* stack, Frame* frame) {
  const uint64_t context = frame->registers[kRsp];
  for (int number = 0; number < kRegisterCount; ++number) {
    const uint64_t offset = offsetof(ucontext_t, uc_mcontext.gregs) +
                            static_cast<uint64_t>(kGregs[number]) * sizeof(greg_t);
    if (!stack->Read(context + offset, &frame->registers[number])) return StepResult::kBadMemory;
  }
  frame->is_exact = true;
  return StepResult::kStepped;
}

StepResult StepByCompactRules(CompactRules rules, StackReader* stack, Frame* frame) {
  const uint64_t cfa = frame->registers[rules.cfa_register()] + rules.cfa_offset();
  if (!stack->Read(cfa - 8, &frame->registers[kReturnAddress])) return StepResult::kBadMemory;
  for (int index = 0; index < CompactRules::kKeptCount; ++index) {
    const uint64_t below = rules.below_cfa(index);
    if (below != 0 && !stack->Read(cfa - below, &frame->registers[CompactRules::kKept[index]])) {
      return StepResult::kBadMemory;
    }
  }
  frame->registers[kRsp] = cfa;
  frame->is_exact = false;
  return StepResult::kStepped;
}

StepResult ResultOf(EvaluationResult result) {
  switch (result) {
    case EvaluationResult::kOk:
      return StepResult::kStepped;
    case EvaluationResult::kUnreadable:
      return StepResult::kBadMemory;
    default:
      return StepResult::kBadCfi;
  }
}

// Applies rules of any kind to the registers of one frame.
class RuleApplier {
 public:
  RuleApplier(const FrameRules& rules, const EhFrameSection& section, StackReader* stack,
              const Frame& frame)
      : rules_(rules), section_(section), stack_(stack), frame_(frame) {}

  StepResult Apply(Frame* caller) {
    StepResult result = ComputeCfa();
    if (result != StepResult::kStepped) return result;
    *caller = frame_;
    caller->registers[kRsp] = cfa_;
    for (int number = 0; number < kRegisterCount; ++number) {
      result = Recover(number, &caller->registers[number]);
      if (result != StepResult::kStepped) return result;
    }
    return StepResult::kStepped;
  }

 private:
  StepResult ComputeCfa() {
    if (rules_.cfa_is_expression) return Evaluate(rules_.cfa_value, nullptr, &cfa_);
    cfa_ = frame_.registers[rules_.cfa_register] + Signed(rules_.cfa_value);
    return StepResult::kStepped;
  }

  StepResult Recover(int number, uint64_t* value) {
    const int32_t operand = rules_.registers.value[number];
    switch (rules_.registers.kind[number]) {
      case RuleKind::kSameValue:
        return StepResult::kStepped;
      case RuleKind::kUndefined:
        return number == kReturnAddress ? StepResult::kEnd : StepResult::kStepped;
      case RuleKind::kAtCfaPlus:
        return Load(cfa_ + Signed(operand), value);
      case RuleKind::kCfaPlus:
        *value = cfa_ + Signed(operand);
        return StepResult::kStepped;
      case RuleKind::kInRegister:
        *value = frame_.registers[operand];
        return StepResult::kStepped;
      case RuleKind::kIsExpression:
        return Evaluate(operand, &cfa_, value);
      case RuleKind::kAtExpression: {
        uint64_t address;
        const StepResult result = Evaluate(operand, &cfa_, &address);
        return result == StepResult::kStepped ? Load(address, value) : result;
      }
    }
    return StepResult::kBadCfi;
  }

  StepResult Load(uint64_t address, uint64_t* value) {
    return stack_->Read(address, value) ? StepResult::kStepped : StepResult::kBadMemory;
  }

  StepResult Evaluate(int32_t distance, const uint64_t* initial, uint64_t* value) {
    ByteReader reader(section_.begin + distance, section_.end);
    const ByteReader expression = reader.Split(reader.Uleb128());
    return ResultOf(EvaluateExpression(expression, frame_.registers, initial, stack_, value));
  }

  static uint64_t Signed(int32_t value) { return static_cast<uint64_t>(int64_t{value}); }

  const FrameRules& rules_;
  const EhFrameSection& section_;
  StackReader* const stack_;
  const Frame frame_;
  uint64_t cfa_ = 0;
};

StepResult ResultOf(FindResult result) {
  switch (result) {
    case FindResult::kNone:
      return StepResult::kNoCfi;
    case FindResult::kMalformed:
      return StepResult::kBadCfi;
    case FindResult::kFound:
      return StepResult::kStepped;
  }
  return StepResult::kBadCfi;
}

// Not inlined: what it keeps on the stack is not needed when rules are applied.
__attribute__((noinline)) StepResult FindRules(uint64_t lookup_address,
                                               const EhFrameSection& section, FrameRules* rules,
                                               bool* is_signal_frame) {
  FrameDescription description;
  const StepResult result = ResultOf(FindFrameDescription(section, lookup_address, &description));
  if (result != StepResult::kStepped) return result;
  *is_signal_frame = description.is_signal_frame;
  return FindFrameRules(description, section.begin, lookup_address, rules) ? StepResult::kStepped
                                                                           : StepResult::kBadCfi;
}

__attribute__((noinline)) StepResult FindRulesOfGo(uint64_t lookup_address, FrameRules* rules) {
  const uint8_t* const begin = go_functions.load(std::memory_order_acquire);
  if (begin == nullptr) return StepResult::kNoCfi;
  const uint8_t* const end = begin + go_functions_bytes.load(std::memory_order_relaxed);
  return ResultOf(GoFunctions(begin, end).FindRules(lookup_address, rules));
}

__attribute__((noinline)) StepResult StepByRules(StackReader* stack, Frame* frame) {
  const uint64_t lookup_address = frame->LookupAddress();
  EhFrameSection section;
  FrameRules rules;
  bool is_signal_frame = false;
  StepResult result = StepResult::kNoCfi;
  if (FindEhFrame(lookup_address, &section)) {
    result = FindRules(lookup_address, section, &rules, &is_signal_frame);
  }
  if (result == StepResult::kNoCfi) result = FindRulesOfGo(lookup_address, &rules);
  if (result != StepResult::kStepped) return result;
  if (!is_signal_frame) {
    const CompactRules compact = CompactRules::Pack(rules);
    if (compact.present()) {
      cache.Insert(lookup_address, compact);
      return StepByCompactRules(compact, stack, frame);
    }
  }
  result = RuleApplier(rules, section, stack, *frame).Apply(frame);
  frame->is_exact = is_signal_frame;
  return result;
}

}  // namespace

Frame FrameOf(const ucontext_t& context) {
  Frame frame;
  for (int number = 0; number < kRegisterCount; ++number) {
    frame.registers[number] = static_cast<uint64_t>(context.uc_mcontext.gregs[kGregs[number]]);
  }
  frame.is_exact = true;
  return frame;
}

StepResult StepOut(StackReader* stack, Frame* frame) {
  const CompactRules compact = cache.Find(frame->LookupAddress());
  StepResult result = StepResult::kNoCfi;
  if (compact.present()) {
    result = StepByCompactRules(compact, stack, frame);
  } else {
    const uint64_t ip = frame->registers[kReturnAddress];
    result = StepByRules(stack, frame);
    if (result == StepResult::kNoCfi && IsInSigreturn(stack, ip)) {
      return StepOutOfSignal(stack, frame);
    }
  }
  // A zero is how hand-written thread starts mark the outermost frame.
  if (result == StepResult::kStepped && frame->registers[kReturnAddress] == 0) {
    return StepResult::kEnd;
  }
  return result;
}

StepResult StepByFramePointer(StackReader* stack, Frame* frame) {
  const uint64_t pointer = frame->registers[kRbp];
  uint64_t outer = 0;
  uint64_t return_address = 0;
  // Frames lie further out one after the other, so that a walk ends.
  if (pointer < frame->registers[kRsp] || pointer % sizeof(uint64_t) != 0 ||
      !stack->Read(pointer, &outer) || !stack->Read(pointer + 8, &return_address)) {
    return StepResult::kNoCfi;
  }
  if (return_address == 0) return StepResult::kEnd;
  frame->registers[kReturnAddress] = return_address;
  frame->registers[kRsp] = pointer + 16;
  frame->registers[kRbp] = outer;
  frame->is_exact = false;
  return StepResult::kStepped;
}

// Nobody looks at the bytes before there is a table.
void SetGoFunctions(const uint8_t* table, uint64_t bytes) {
  go_functions_bytes.store(bytes, std::memory_order_relaxed);
  go_functions.store(table, std::memory_order_release);
}

void ForgetCachedRules() { cache.Forget(); }

}  // namespace coz::sampler
