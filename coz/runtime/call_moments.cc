// This file is compiled for general registers only: stubs keep no others.
#include "coz/runtime/call_moments.h"

#include <atomic>

#include "coz/base/clock.h"
#include "coz/sync/delay/accrual.h"

namespace coz::runtime::runtime_internal {
namespace {

std::atomic<delay::GlobalLedger*> g_global{nullptr};

}  // namespace

extern "C" {
__attribute__((visibility("hidden"), used)) void coz_impose_accrued(delay::ThreadLedger* ledger) {
  delay::GlobalLedger* const global = g_global.load(std::memory_order_acquire);
  if (global != nullptr) delay::ImposeAccrued(*global, *ledger, MonotonicNowNs());
}
}

// What is called may use the vector registers of every x86-64, which hold arguments and results of
// the library's function, and wants an aligned stack. It has no code for wider ones.
asm(R"(
.text
.p2align 4
.hidden coz_keep_and_impose_accrued
.globl coz_keep_and_impose_accrued
.type coz_keep_and_impose_accrued, @function
coz_keep_and_impose_accrued:
  .cfi_startproc
  pushq %rbp
  .cfi_def_cfa_offset 16
  .cfi_offset %rbp, -16
  movq %rsp, %rbp
  .cfi_def_cfa_register %rbp
  pushq %rax
  pushq %rcx
  pushq %rdx
  pushq %rsi
  pushq %rdi
  pushq %r8
  pushq %r9
  pushq %r10
  pushq %r11
  subq $256, %rsp
  andq $-64, %rsp
  movaps %xmm0, 0(%rsp)
  movaps %xmm1, 16(%rsp)
  movaps %xmm2, 32(%rsp)
  movaps %xmm3, 48(%rsp)
  movaps %xmm4, 64(%rsp)
  movaps %xmm5, 80(%rsp)
  movaps %xmm6, 96(%rsp)
  movaps %xmm7, 112(%rsp)
  movaps %xmm8, 128(%rsp)
  movaps %xmm9, 144(%rsp)
  movaps %xmm10, 160(%rsp)
  movaps %xmm11, 176(%rsp)
  movaps %xmm12, 192(%rsp)
  movaps %xmm13, 208(%rsp)
  movaps %xmm14, 224(%rsp)
  movaps %xmm15, 240(%rsp)
  call coz_impose_accrued
  movaps 0(%rsp), %xmm0
  movaps 16(%rsp), %xmm1
  movaps 32(%rsp), %xmm2
  movaps 48(%rsp), %xmm3
  movaps 64(%rsp), %xmm4
  movaps 80(%rsp), %xmm5
  movaps 96(%rsp), %xmm6
  movaps 112(%rsp), %xmm7
  movaps 128(%rsp), %xmm8
  movaps 144(%rsp), %xmm9
  movaps 160(%rsp), %xmm10
  movaps 176(%rsp), %xmm11
  movaps 192(%rsp), %xmm12
  movaps 208(%rsp), %xmm13
  movaps 224(%rsp), %xmm14
  movaps 240(%rsp), %xmm15
  leaq -72(%rbp), %rsp
  popq %r11
  popq %r10
  popq %r9
  popq %r8
  popq %rdi
  popq %rsi
  popq %rdx
  popq %rcx
  popq %rax
  popq %rbp
  .cfi_def_cfa %rsp, 8
  ret
  .cfi_endproc
.size coz_keep_and_impose_accrued, . - coz_keep_and_impose_accrued
)");

void ImposeAtCallsIn(delay::GlobalLedger* global) {
  g_global.store(global, std::memory_order_release);
}

}  // namespace coz::runtime::runtime_internal
