#include "coz/patch/patch_builder.h"

#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <vector>

#include "coz/patch/relocation.h"
#include "coz/patch/stub_space.h"

namespace coz::patch {
namespace {

constexpr size_t kMostCountingBytes = 98;  // counting, or the call of a routine
constexpr size_t kMostCopyExtra = 14;      // that a copy is longer than the instruction
static_assert(kMostCountingBytes + kMaxDisplacedBytes + kMostCopyExtra * kMaxDisplaced +
                  kJumpBytes <=
              kMaxStubBytes);
constexpr uint8_t kWord = 8;
constexpr uint8_t kRedZone = 128;

class Builder {
 public:
  Builder(const PlacePlan& plan, uint64_t address, uint64_t stub, const CounterPlace& counter,
          const CallEdge& edge, uint64_t semaphore)
      : plan_(plan) {
    patch_.address = address;
    patch_.stub = stub;
    patch_.semaphore = semaphore;
    patch_.counter = counter;
    patch_.edge = edge;
    patch_.way = plan.way;
    patch_.pushes_return_address = plan.pushes_return_address ? 1 : 0;
    patch_.displaced_bytes = static_cast<uint8_t>(plan.displaced.size());
    patch_.original_bytes = static_cast<uint8_t>(plan.original.size());
    std::copy(plan.original.begin(), plan.original.end(), patch_.original);
  }

  std::optional<CodePatch> Build() {
    Step(0, 0);
    const bool calls = plan_.way == Way::kJump && patch_.edge.routine != 0;
    if (plan_.replaces_call) {
      if (!calls) return std::nullopt;
      ReplaceCall();
    } else if (calls) {
      CallRoutine();
    } else if (plan_.way == Way::kJump) {
      Count();
    }
    if (!CopyDisplaced()) return std::nullopt;
    Step(patch_.displaced_bytes, 0);
    if (plan_.goes_on && !JumpTo(patch_.address + patch_.displaced_bytes)) return std::nullopt;
    if (calls) PutRoutine();
    if (code_.size() > kMaxStubBytes || is_full_) return std::nullopt;
    std::copy(code_.begin(), code_.end(), patch_.stub_code);
    patch_.stub_bytes = static_cast<uint8_t>(code_.size());
    if (!Replace()) return std::nullopt;
    return patch_;
  }

 private:
  void Emit(std::initializer_list<uint8_t> bytes) { code_.insert(code_.end(), bytes); }
  void Emit32(int32_t value) {
    uint8_t bytes[sizeof(value)];
    memcpy(bytes, &value, sizeof(value));
    code_.insert(code_.end(), std::begin(bytes), std::end(bytes));
  }

  void EmitAt(std::initializer_list<uint8_t> bytes, int32_t displacement) {
    Emit(bytes);
    Emit32(displacement);
  }

  // From here on the stub stands for this place in the original.
  void Step(size_t original_offset, size_t pushed_bytes) {
    if (patch_.step_count == kMaxSteps) {
      is_full_ = true;
      return;
    }
    patch_.steps[patch_.step_count++] = {static_cast<uint8_t>(code_.size()),
                                         static_cast<uint8_t>(original_offset),
                                         static_cast<uint8_t>(pushed_bytes)};
  }

  void Increment(int32_t displacement) {
    if (patch_.counter.is_shared != 0) Emit({0xf0});  // lock
    EmitAt({0x48, 0xff, 0x80}, displacement);         // inc qword [rax + ..]
  }

  // The increment is one instruction, so that a visit by a signal handler in between is not lost.
  void Count() {
    uint8_t pushed = 0;
    const auto push = [&](std::initializer_list<uint8_t> bytes, uint8_t by) {
      Emit(bytes);
      pushed = static_cast<uint8_t>(pushed + by);
      Step(0, pushed);
    };
    const auto pop = [&](std::initializer_list<uint8_t> bytes, uint8_t by) {
      Emit(bytes);
      pushed = static_cast<uint8_t>(pushed - by);
      Step(0, pushed);
    };
    if (plan_.keeps_red_zone) push({0x48, 0x8d, 0x64, 0x24, 0x80}, kRedZone);  // lea rsp,[rsp-128]
    push({0x50}, kWord);                                                       // push rax
    if (plan_.keeps_flags) {
      Emit({0x9f, 0x0f, 0x90, 0xc0});  // lahf; seto al
      push({0x50}, kWord);
    }
    Emit({0x64, 0x48, 0x8b, 0x04, 0x25});  // mov rax, fs:[..]
    Emit32(patch_.counter.fs_offset);
    if (patch_.counter.begins != 0) {
      push({0x51}, kWord);                                      // push rcx
      EmitAt({0x48, 0x8b, 0x88}, patch_.counter.begins);        // mov rcx, [rax + ..]
      EmitAt({0x48, 0x3b, 0x88}, patch_.counter.displacement);  // cmp rcx, [rax + ..]
      pop({0x59}, kWord);
      const uint8_t increment = patch_.counter.is_shared != 0 ? 8 : 7;  // bytes
      Emit({0x77, static_cast<uint8_t>(increment + 2)});                // ja to the last increment
      Increment(patch_.counter.without_begin);
      Emit({0xeb, increment});  // jmp behind it
    }
    Increment(patch_.counter.displacement);
    for (const int32_t other : patch_.counter.others) {
      if (other != 0) Increment(other);
    }
    if (plan_.keeps_flags) {
      pop({0x58}, kWord);
      Emit({0x04, 0x7f, 0x9e});  // add al, 127, which overflows as before; sahf
    }
    pop({0x58}, kWord);
    if (plan_.keeps_red_zone) pop({0x48, 0x8d, 0xa4, 0x24, 0x80, 0, 0, 0}, kRedZone);
  }

  void CallRoutine() {
    const int32_t red_zone = plan_.keeps_red_zone ? kRedZone : 0;
    const int32_t before_flags = red_zone + 2 * kWord;
    const int32_t pushed = before_flags + (plan_.keeps_flags ? 2 * kWord : 0);
    if (plan_.keeps_red_zone) {
      Emit({0x48, 0x8d, 0x64, 0x24, 0x80});  // lea rsp, [rsp-128]
      Step(0, red_zone);
    }
    Emit({0x57});  // push rdi
    Step(0, red_zone + kWord);
    Emit({0x56});  // push rsi
    Step(0, before_flags);
    if (plan_.keeps_flags) {
      Emit({0x50});  // push rax
      Step(0, before_flags + kWord);
      Emit({0x9f, 0x0f, 0x90, 0xc0});  // lahf; seto al
      Emit({0x50});                    // push rax
      Step(0, pushed);
      Emit({0x48, 0x8b, 0x44, 0x24, kWord});  // mov rax, [rsp + 8]
    }
    Emit({0xbf});  // mov edi, ..
    Emit32(static_cast<int32_t>(patch_.edge.argument));
    const FrameRule& frame = patch_.edge.frame;
    if (frame.by_rbp != 0) {
      Emit({0x48, 0x8d, 0xb5});  // lea rsi, [rbp + ..]
      Emit32(frame.distance);
    } else {
      Emit({0x48, 0x8d, 0xb4, 0x24});  // lea rsi, [rsp + ..]
      Emit32(frame.distance + pushed);
    }
    Emit({0xff, 0x15});  // call [rip + ..], which PutRoutine completes
    routine_operand_ = code_.size();
    Emit32(0);
    if (plan_.keeps_flags) {
      Emit({0x58});  // pop rax
      Step(0, before_flags + kWord);
      Emit({0x04, 0x7f, 0x9e});  // add al, 127, which overflows as before; sahf
      Emit({0x58});              // pop rax
      Step(0, before_flags);
    }
    Emit({0x5e});  // pop rsi
    Step(0, red_zone + kWord);
    Emit({0x5f});  // pop rdi
    if (!plan_.keeps_red_zone) return Step(0, 0);
    Step(0, red_zone);
    Emit({0x48, 0x8d, 0xa4, 0x24, 0x80, 0, 0, 0});  // lea rsp, [rsp+128]
    Step(0, 0);
  }

  // The routine goes on behind its jump, where a system call instruction stands, or behind that.
  void ReplaceCall() {
    patch_.displaced[patch_.displaced_count++] = {0, 0};
    constexpr int32_t kJumpToRoutine = 6;        // bytes
    EmitAt({0x48, 0x8d, 0x0d}, kJumpToRoutine);  // lea rcx, [rip + ..]
    Emit({0xff, 0x25});                          // jmp [rip + ..], which PutRoutine completes
    routine_operand_ = code_.size();
    Emit32(0);
    Emit({kSystemCall[0], kSystemCall[1]});
  }

  // Behind the code, where nobody comes.
  void PutRoutine() {
    const auto distance = static_cast<int32_t>(code_.size() - (routine_operand_ + sizeof(int32_t)));
    memcpy(&code_[routine_operand_], &distance, sizeof(distance));
    const auto* begin = reinterpret_cast<const uint8_t*>(&patch_.edge.routine);
    code_.insert(code_.end(), begin, begin + sizeof(patch_.edge.routine));
  }

  bool CopyDisplaced() {
    for (size_t i = plan_.replaces_call ? 1 : 0; i < plan_.instructions.size(); ++i) {
      const size_t begin = plan_.instructions[i];
      const size_t end =
          i + 1 < plan_.instructions.size() ? plan_.instructions[i + 1] : plan_.displaced.size();
      const std::optional<Copy> copy = Relocate(&plan_.displaced[begin], end - begin,
                                                patch_.address + begin, patch_.stub + code_.size());
      if (!copy.has_value()) return false;
      patch_.displaced[patch_.displaced_count++] = {static_cast<uint8_t>(begin),
                                                    static_cast<uint8_t>(code_.size())};
      Step(begin, 0);
      const size_t copy_begin = code_.size();
      code_.insert(code_.end(), copy->bytes.begin(),
                   copy->bytes.begin() + static_cast<std::ptrdiff_t>(copy->pushed_from));
      if (copy->pushed_from != 0) Step(begin, kWord);
      code_.resize(copy_begin);
      code_.insert(code_.end(), copy->bytes.begin(), copy->bytes.end());
    }
    return true;
  }

  bool JumpTo(uint64_t target) {
    Emit({0xe9});
    const auto distance =
        static_cast<int64_t>(target - (patch_.stub + code_.size() + sizeof(int32_t)));
    Emit32(static_cast<int32_t>(distance));
    return distance == static_cast<int32_t>(distance);
  }

  bool Replace() {
    if (plan_.way == Way::kTrap) {
      patch_.changed_bytes = 1;
      patch_.replacement[0] = kInt3;
      return true;
    }
    patch_.changed_bytes = static_cast<uint8_t>(kJumpBytes - plan_.shared_bytes);
    const auto distance = static_cast<int64_t>(patch_.stub - (patch_.address + kJumpBytes));
    const auto word = static_cast<int32_t>(distance);
    patch_.replacement[0] = 0xe9;
    memcpy(&patch_.replacement[1], &word, sizeof(word));
    if (distance != word) return false;
    // Who arrives at a displaced instruction within the jump finds an int3, or nobody does.
    const GivenBytes given = GivenInDistance(plan_);
    const bool has_given = (static_cast<uint32_t>(word) & given.mask) == given.value;
    patch_.needs_one_thread = has_given ? 0 : 1;
    return has_given || plan_.no_entry_inside;
  }

  const PlacePlan& plan_;
  CodePatch patch_ = {};
  std::vector<uint8_t> code_;
  size_t routine_operand_ = 0;
  bool is_full_ = false;
};

}  // namespace

size_t MostStubBytes(const PlacePlan& plan) {
  return kMostCountingBytes + plan.displaced.size() + kMostCopyExtra * plan.instructions.size() +
         kJumpBytes;
}

GivenBytes GivenInDistance(const PlacePlan& plan) {
  GivenBytes given;
  if (plan.way != Way::kJump) return given;
  const auto give = [&given](size_t at, uint8_t byte) {
    const size_t shift = 8 * (at - 1);
    given.mask |= uint32_t{0xff} << shift;
    given.value |= uint32_t{byte} << shift;
  };
  for (const size_t begin : plan.instructions) {
    if (begin >= 1 && begin < kJumpBytes) give(begin, kInt3);
  }
  for (size_t at = kJumpBytes - plan.shared_bytes; at < kJumpBytes; ++at) {
    give(at, plan.original[at]);
  }
  return given;
}

std::optional<uint64_t> TakeStub(const PlacePlan& plan, uint64_t address, StubSpace* space) {
  const size_t bytes = MostStubBytes(plan);
  const std::optional<uint64_t> stub = space->Take(address, bytes, GivenInDistance(plan));
  return stub.has_value() || !plan.no_entry_inside ? stub : space->Take(address, bytes, {});
}

std::optional<CodePatch> BuildPatch(const PlacePlan& plan, uint64_t address, uint64_t stub,
                                    const CounterPlace& counter, uint64_t semaphore,
                                    const CallEdge& edge) {
  if (plan.way == Way::kNone) return std::nullopt;
  return Builder(plan, address, stub, counter, edge, semaphore).Build();
}

}  // namespace coz::patch
