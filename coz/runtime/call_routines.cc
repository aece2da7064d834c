// This file is compiled for general registers only: stubs keep no others.
#include "coz/runtime/call_routines.h"

#include "coz/runtime/call_moments.h"
#include "coz/runtime/patched_code.h"
#include "coz/shared/api_calls.h"
#include "coz/shared/call_timers.h"

namespace coz::runtime::runtime_internal {
namespace {

constexpr uint32_t kFunctionBits = 8;
static_assert(shared::kMaxTimedFunctions <= 1 << kFunctionBits);
static_assert(shared::kMaxPoints <= 1 << 16);

uint64_t Ticks() { return __builtin_ia32_rdtsc(); }

// Null for a thread that has none: nobody's slot is that of several threads.
shared::ThreadSlot* OwnSlot() {
  shared::ThreadSlot* const slot = CountedSlot();
  const bool is_own = slot->state.load(std::memory_order_relaxed) == shared::ThreadState::kRunning;
  return is_own ? slot : nullptr;
}

uint64_t Here() { return reinterpret_cast<uint64_t>(__builtin_frame_address(0)); }

}  // namespace

// `argument` is the function's number, and above it the slot of the point that counts its calls.
extern "C" __attribute__((visibility("hidden"), used)) void coz_note_begin(uint64_t argument,
                                                                           uint64_t frame) {
  uint64_t* const visits = reinterpret_cast<uint64_t*>(
      &CountedSlot()->visits[(argument >> kFunctionBits) % shared::kMaxPoints]);
  // One instruction, so that a call by a signal handler in between is not lost.
  asm volatile("incq %0" : "+m"(*visits) : : "cc");
  shared::ThreadSlot* const slot = OwnSlot();
  if (slot == nullptr) return;
  const uint64_t function = argument & ((1 << kFunctionBits) - 1);
  shared::BeginCall(slot->timers, function, function, frame, Ticks(), Here());
}

extern "C" __attribute__((visibility("hidden"), used)) void coz_note_end(uint64_t argument,
                                                                         uint64_t frame) {
  shared::ThreadSlot* const slot = OwnSlot();
  if (slot == nullptr) return;
  const auto end = static_cast<uint32_t>(argument % shared::kEndHasLatency);
  if ((argument & shared::kEndHasLatency) == 0) {
    return shared::EndCall(slot->timers, end, frame, Ticks(), Here());
  }
  const CallMoment now = MomentOfCall(slot->ledger);
  shared::EndCall(slot->timers, end, frame, now.ticks, Here(), now.local_delay_ns);
}

// Stubs have saved rdi, rsi and, where they have to, flags.
#define COZ_ROUTINE_FOR_STUBS(name, routine) \
  asm(".text\n"                              \
      ".p2align 4\n"                         \
      ".hidden " #name                       \
      "\n"                                   \
      ".globl " #name                        \
      "\n"                                   \
      ".type " #name ", @function\n" #name   \
      ":\n"                                  \
      "  .cfi_startproc\n"                   \
      "  pushq %rax\n"                       \
      "  pushq %rcx\n"                       \
      "  pushq %rdx\n"                       \
      "  pushq %r8\n"                        \
      "  pushq %r9\n"                        \
      "  pushq %r10\n"                       \
      "  pushq %r11\n"                       \
      "  call " #routine                     \
      "\n"                                   \
      "  popq %r11\n"                        \
      "  popq %r10\n"                        \
      "  popq %r9\n"                         \
      "  popq %r8\n"                         \
      "  popq %rdx\n"                        \
      "  popq %rcx\n"                        \
      "  popq %rax\n"                        \
      "  ret\n"                              \
      "  .cfi_endproc\n"                     \
      ".size " #name ", . - " #name "\n")

COZ_ROUTINE_FOR_STUBS(coz_begin_call, coz_note_begin);
COZ_ROUTINE_FOR_STUBS(coz_end_call, coz_note_end);

extern "C" __attribute__((visibility("hidden"))) void coz_begin_call();
extern "C" __attribute__((visibility("hidden"))) void coz_end_call();

static void BeginInHandler(uint64_t argument, uint64_t frame, uint64_t) {
  coz_note_begin(argument, frame);
}
static void EndInHandler(uint64_t argument, uint64_t frame, uint64_t) {
  coz_note_end(argument, frame);
}

void PublishCallRoutines(shared::ProcessSlot* process) {
  process->begin_call = reinterpret_cast<uint64_t>(&coz_begin_call);
  process->end_call = reinterpret_cast<uint64_t>(&coz_end_call);
  process->begin_call_in_handler = reinterpret_cast<uint64_t>(&BeginInHandler);
  process->end_call_in_handler = reinterpret_cast<uint64_t>(&EndInHandler);
}

}  // namespace coz::runtime::runtime_internal
