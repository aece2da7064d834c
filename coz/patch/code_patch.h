// A change of running code that counts visits to a place: which bytes to store where, and what the
// new code stands for. The supervisor builds it (patch_builder.h), the target stores it
// (code_patcher.h).
//
// Shape    plain data, of one size, that may lie in shared memory. The *stub* is new code beside
//          the program: it counts (kJump only), runs copies of the *displaced* instructions, and
//          jumps back
// Units    runtime addresses; bytes; offsets from `address` (original) and from `stub`
// Errors   none
// Threads  a value
// Signals  a value
// Source   docs/design/patching.md
#ifndef COZ_PATCH_CODE_PATCH_H_
#define COZ_PATCH_CODE_PATCH_H_

#include <cstddef>
#include <cstdint>

namespace coz::patch {

// kJump: a jump to the stub stands at the place. Its last bytes may be what stands there anyway.
// kTrap: an int3, whose handler counts and goes on in the stub.
enum class Way : uint8_t { kNone, kJump, kTrap };

inline constexpr uint8_t kInt3 = 0xcc;
inline constexpr size_t kJumpBytes = 5;
inline constexpr size_t kMaxInstructionBytes = 15;
inline constexpr size_t kMaxDisplacedBytes = kJumpBytes + kMaxInstructionBytes;
inline constexpr size_t kMaxDisplaced = 6;  // instructions
inline constexpr size_t kMaxStubBytes = 212;
inline constexpr size_t kMaxSteps = 26;
inline constexpr size_t kMaxOtherCounters = 3;
inline constexpr uint8_t kSystemCall[] = {0x0f, 0x05};  // the instruction

// Of rax, rcx, rdx, rbx, rsp, rbp, rsi or rdi, in this order.
inline constexpr uint8_t kPushOfRax = 0x50;
constexpr bool IsPushOfOneByte(uint8_t code) { return (code & 0xf8) == kPushOfRax; }

// Where the calling thread's counter is: a 64-bit word, `displacement` behind the pointer that the
// thread has at `fs_offset` from its thread pointer.
struct CounterPlace {
  int32_t fs_offset;
  int32_t displacement;
  // The end of a pair that may have requests under way already: where that pointer's thread counts
  // begins, and ends that have none. An end counts at `displacement` where more begins have been
  // counted than ends, and else among the latter. 0 for both: each visit counts.
  int32_t begins;
  int32_t without_begin;
  // Where else each visit counts, for other points at the place; 0: none.
  int32_t others[kMaxOtherCounters];
  // 1: several threads may count in the same words, so each increment is locked.
  int32_t is_shared;
};

// Where a function's return address is when a thread is at an instruction of it: so far above its
// stack pointer or its frame pointer.
struct FrameRule {
  uint8_t by_rbp;
  int32_t distance;
};

// In place of counting, the stub calls a routine that keeps every register but the flags. It gets
// the argument in edi, the address of the function's return address in rsi, and the other registers
// as they are at the place. An int3's handler calls the other routine, an ordinary function that
// gets the place's address too.
//
// Where the place is a system call instruction, the routine may make the call in its place. It has
// all registers as the kernel would get them, and nothing on the stack. Either it leaves them as
// they are, but for r11 and the flags, and jumps to the address in rcx, where a system call
// instruction stands. Or it changes what the kernel would change, and jumps behind that. There is
// no routine for a handler.
struct CallEdge {
  uint64_t routine;  // 0: there is none, and the stub counts
  uint64_t routine_in_handler;
  uint32_t argument;
  FrameRule frame;
};

// From `stub_offset` on, until the next step: what an interrupted stub stands for. The thread is at
// `original_offset` of the original code, and the stub has pushed so many bytes onto its stack.
struct StubStep {
  uint8_t stub_offset;
  uint8_t original_offset;
  uint8_t pushed_bytes;
};

// Where a displaced instruction was, and where its copy is. The first is the place itself.
struct Displaced {
  uint8_t original_offset;
  uint8_t stub_offset;
};

struct CodePatch {
  uint64_t address;  // of the first byte that is changed
  uint64_t stub;
  // A 16-bit word that the program looks at, and that is raised while the place is changed (the
  // semaphore of a probe in the source); 0: none.
  uint64_t semaphore;
  CounterPlace counter;
  CallEdge edge;
  Way way;
  // The jump has no int3 where a displaced instruction began. So no thread may be there now; that
  // none comes later is known.
  uint8_t needs_one_thread;
  // A copy of a call pushes the return address without the processor's shadow stack.
  uint8_t pushes_return_address;
  uint8_t changed_bytes;
  // Of `original`: those that are changed, displaced, or part of the jump and left as they are. No
  // other change may touch them meanwhile.
  uint8_t original_bytes;
  uint8_t displaced_bytes;
  uint8_t displaced_count;
  uint8_t step_count;
  uint8_t stub_bytes;
  uint8_t original[kMaxDisplacedBytes + 1];
  uint8_t replacement[kJumpBytes];
  Displaced displaced[kMaxDisplaced];
  StubStep steps[kMaxSteps];
  uint8_t stub_code[kMaxStubBytes];
};

}  // namespace coz::patch

#endif  // COZ_PATCH_CODE_PATCH_H_
