#include "coz/patch/testing/made_code.h"

#include <sys/mman.h>

#include <cstring>

#include "coz/patch/code_patch.h"

namespace coz::patch::made {
namespace {

class CodePage {
 public:
  CodePage() {
    page_ = static_cast<uint8_t*>(mmap(reinterpret_cast<void*>(kAddress), kBytes,
                                       PROT_READ | PROT_WRITE,
                                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0));
    memset(page_, kInt3, kBytes);
  }
  uint8_t* Add(const Bytes& code) {
    mprotect(page_, kBytes, PROT_READ | PROT_WRITE);
    uint8_t* const at = page_ + kFunctionBytes * used_++;
    memcpy(at, code.data(), code.size());
    mprotect(page_, kBytes, PROT_READ | PROT_EXEC);
    return at;
  }

 private:
  static constexpr size_t kBytes = 1 << 16;
  static constexpr uintptr_t kAddress = uintptr_t{1} << 44;
  uint8_t* page_ = nullptr;
  size_t used_ = 0;
};

PlanLimits Only(Kind kind) {
  PlanLimits limits;
  limits.allow_jump = kind != Kind::kTrap;
  limits.allow_five_bytes = kind == Kind::kJump;
  limits.allow_trap = kind == Kind::kTrap;
  return limits;
}

constexpr uint64_t kFlags = 0x202;
constexpr uint64_t kAllFlags = 0x8d5;  // carry, parity, adjust, zero, sign, overflow

}  // namespace

asm(R"(
.text
.globl RunInState
RunInState:
  push %rbx; push %rbp; push %r12; push %r13; push %r14; push %r15
  push %rdi
  push %rsi
  push 120(%rdi); popfq
  mov (%rdi),%rax; mov 8(%rdi),%rbx; mov 16(%rdi),%rcx; mov 24(%rdi),%rdx; mov 32(%rdi),%rsi
  mov 48(%rdi),%rbp; mov 56(%rdi),%r8; mov 64(%rdi),%r9; mov 72(%rdi),%r10; mov 80(%rdi),%r11
  mov 88(%rdi),%r12; mov 96(%rdi),%r13; mov 104(%rdi),%r14; mov 112(%rdi),%r15
  mov 40(%rdi),%rdi
  call *(%rsp)
  pushfq
  push %rdi
  mov 24(%rsp),%rdi
  mov %rax,(%rdi); mov %rbx,8(%rdi); mov %rcx,16(%rdi); mov %rdx,24(%rdi); mov %rsi,32(%rdi)
  mov %rbp,48(%rdi); mov %r8,56(%rdi); mov %r9,64(%rdi); mov %r10,72(%rdi); mov %r11,80(%rdi)
  mov %r12,88(%rdi); mov %r13,96(%rdi); mov %r14,104(%rdi); mov %r15,112(%rdi)
  pop %rax; mov %rax,40(%rdi)
  pop %rax; mov %rax,120(%rdi)
  add $16,%rsp
  pop %r15; pop %r14; pop %r13; pop %r12; pop %rbp; pop %rbx
  ret
)");

State StartState(uint64_t seed, uint64_t flags) {
  static uint64_t memory[64];
  State state;
  auto* words = reinterpret_cast<uint64_t*>(&state);
  for (size_t i = 0; i < sizeof(state) / sizeof(uint64_t); ++i) {
    words[i] = (seed + i) * 0x9e3779b97f4a7c15u;
  }
  state.rdi = reinterpret_cast<uint64_t>(&memory[8]);
  state.rcx = 3;
  state.flags = kFlags | flags;
  return state;
}

std::vector<State> RunAll(const uint8_t* function) {
  std::vector<State> ends;
  for (const uint64_t flags : {uint64_t{0}, kAllFlags, uint64_t{0x41}, uint64_t{0x800}}) {
    for (uint64_t seed = 1; seed < 4; ++seed) {
      State state = StartState(seed, flags);
      RunInState(&state, function);
      ends.push_back(state);
    }
  }
  return ends;
}

bool IsEqual(const std::vector<State>& a, const std::vector<State>& b) {
  return a.size() == b.size() && memcmp(a.data(), b.data(), a.size() * sizeof(State)) == 0;
}

uint8_t* Add(const Bytes& code) {
  static CodePage page;
  return page.Add(code);
}

Kind KindOf(const PlacePlan& plan) {
  if (plan.way == Way::kTrap) return Kind::kTrap;
  return plan.shared_bytes != 0 ? Kind::kSharedJump : Kind::kJump;
}

std::string NameOf(Kind kind) {
  return kind == Kind::kTrap   ? " by an int3"
         : kind == Kind::kJump ? " by a jump"
                               : " by shared bytes";
}

PlacePlan PlanFor(const uint8_t* code, size_t bytes, size_t offset, Kind kind) {
  return PlanPlace({code, bytes, kFunctionBytes, offset}, Only(kind));
}

}  // namespace coz::patch::made
