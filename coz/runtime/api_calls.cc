// This file is compiled for general registers only: stubs keep no others. Process: target. Context:
// any thread, below the program's handlers too.
#include "coz/runtime/api_calls.h"

#include <dlfcn.h>
#include <link.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "coz/base/readable.h"
#include "coz/patch/code_patcher.h"
#include "coz/runtime/call_moments.h"
#include "coz/runtime/patched_code.h"
#include "coz/runtime/progress_points.h"
#include "coz/shared/call_timers.h"

// Weak: glibc has it since 2.35. Without it callers are not told apart.
#pragma weak _dl_find_object

namespace coz::runtime::runtime_internal {
namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;

shared::ControlBlock* g_block = nullptr;
const shared::ProcessSlot* g_slot = nullptr;

// Where a call site's calls count: the counter of its column and that of the function's point, as
// offsets in a thread slot; above them its number as a timed function + 1, or 0, and that of its
// latency sums + 1, or 0. The highest bit says that there is a point.
using Counters = uint64_t;
constexpr uint32_t kOffsetBits = 16;
constexpr uint64_t kOffsetMask = (1 << kOffsetBits) - 1;
static_assert(offsetof(shared::ThreadSlot, visits_of_none) <= kOffsetMask);

constexpr uint64_t OffsetOf(uint32_t point) {
  return offsetof(shared::ThreadSlot, visits) + point * sizeof(uint64_t);
}
constexpr Counters kHasPoint = uint64_t{1} << 63;
// What counts nowhere is added here.
constexpr Counters kNowhere = offsetof(shared::ThreadSlot, visits_of_none);
constexpr uint32_t kTimedBits = 9;
constexpr uint32_t kTimedShift = 2 * kOffsetBits;
constexpr uint32_t kLatencyBits = 7;
constexpr uint32_t kLatencyShift = kTimedShift + kTimedBits;
static_assert(shared::kMaxTimedFunctions < 1 << kTimedBits);
static_assert(shared::kMaxCallLatencies < 1 << kLatencyBits);

// A call site of one function, by its return address. Keys below kFirstKey are free or being
// written.
constexpr uint32_t kFunctionShift = 48;
constexpr uint64_t kFree = 0;
constexpr uint64_t kBeingWritten = 1;
constexpr uint32_t kWays = 4;
constexpr uint32_t kSetBits = 10;

struct CallSite {
  std::atomic<uint64_t> key;
  std::atomic<Counters> counters;
};
struct alignas(64) CallSites {
  CallSite ways[kWays];
};
// The assembly below finds a call site in it, and counts.
extern "C" {
__attribute__((visibility("hidden"))) CallSites coz_api_call_sites[1 << kSetBits];
}
static_assert(sizeof(CallSite) == 16 && sizeof(CallSites) == 64);
static_assert(offsetof(CallSite, key) == 0 && offsetof(CallSite, counters) == 8);
static_assert(kFunctionShift == 48 && kWays == 4 && kSetBits == 10 && kOffsetBits == 16);

uint64_t KeyOf(uint64_t function, uint64_t return_address) {
  return (function + 1) << kFunctionShift | return_address;
}

// No two calls end within four bytes.
CallSites& SetOf(uint64_t key) {
  constexpr uint32_t kCallBits = 2;
  return coz_api_call_sites[(key >> kCallBits) % (1 << kSetBits)];
}

// Whether a site was ever stored. A process that has none does not touch the pages of the table.
std::atomic<bool> g_has_sites{false};

void Store(uint64_t key, Counters counters) {
  CallSites& set = SetOf(key);
  g_has_sites.store(true);
  CallSite* site = nullptr;
  for (CallSite& way : set.ways) {
    uint64_t free = kFree;
    if (way.key.compare_exchange_strong(free, kBeingWritten)) {
      site = &way;
      break;
    }
  }
  if (site == nullptr) {
    // In the place of another one, which is looked at again.
    CallSite& taken = set.ways[(key >> 4) % kWays];
    uint64_t before = taken.key.load(kRelaxed);
    if (before == kBeingWritten || !taken.key.compare_exchange_strong(before, kBeingWritten)) {
      return;
    }
    site = &taken;
  }
  site->counters.store(counters, kRelaxed);
  site->key.store(key, std::memory_order_release);
}

bool FindObject(uint64_t address, dl_find_object* found) {
  return _dl_find_object(reinterpret_cast<void*>(address), found) == 0;
}

bool IsIn(const dl_find_object& object, uint64_t address) {
  return address >= reinterpret_cast<uint64_t>(object.dlfo_map_start) &&
         address < reinterpret_cast<uint64_t>(object.dlfo_map_end);
}

template <typename Value>
Value Read(uint64_t address) {
  Value value;
  __builtin_memcpy(&value, reinterpret_cast<const void*>(address), sizeof(value));
  return value;
}

// What the slot at this distance from `next` holds; 0: it cannot be read.
uint64_t ThroughSlot(uint64_t next, int32_t distance) {
  const uint64_t slot = next + static_cast<uint64_t>(static_cast<int64_t>(distance));
  return IsReadable(reinterpret_cast<const void*>(slot), sizeof(uint64_t)) ? Read<uint64_t>(slot)
                                                                           : 0;
}

// Through an entry of a procedure linkage table: endbr64 and a prefix may come before its jump.
uint64_t ThroughLinkage(uint64_t address) {
  constexpr uint32_t kEndbr64 = 0xfa1e0ff3;
  constexpr size_t kMostBytes = 11;
  if (!IsReadable(reinterpret_cast<const void*>(address), kMostBytes)) return address;
  uint64_t at = address;
  if (Read<uint32_t>(at) == kEndbr64) at += sizeof(kEndbr64);
  if (Read<uint8_t>(at) == 0xf2) ++at;
  if (Read<uint16_t>(at) != 0x25ff) return address;  // jmp [rip + ..]
  at += sizeof(uint16_t);
  return ThroughSlot(at + sizeof(int32_t), Read<int32_t>(at));
}

// What the call before this return address has called, or 0: a pointer says it.
uint64_t CalledBefore(uint64_t return_address) {
  constexpr uint64_t kLongest = 6;
  const uint64_t at = return_address - kLongest;
  if (!IsReadable(reinterpret_cast<const void*>(at), kLongest)) return 0;
  const auto distance = Read<int32_t>(return_address - sizeof(int32_t));
  if (Read<uint16_t>(at) == 0x15ff) return ThroughSlot(return_address, distance);
  if (Read<uint8_t>(at + 1) != 0xe8) return 0;
  return ThroughLinkage(return_address + static_cast<uint64_t>(static_cast<int64_t>(distance)));
}

// The runtime's own calls count for nobody: nothing here may come back here.
bool IsOwn(const dl_find_object* caller) {
  return caller != nullptr && IsIn(*caller, reinterpret_cast<uint64_t>(&ThroughLinkage));
}

// Whether the caller has called another function of the library, which went on here by a jump.
bool CameByAnother(const dl_find_object& library, uint64_t entry, uint64_t return_address) {
  constexpr uint64_t kEndbr64Bytes = 4;
  const uint64_t called = CalledBefore(return_address);
  // Code is changed behind endbr64.
  return IsIn(library, called) && called != entry && called + kEndbr64Bytes != entry;
}

const char* FileName(const char* path) {
  const char* name = path;
  for (; *path != '\0'; ++path) {
    if (*path == '/') name = path + 1;
  }
  return name;
}

const char* CallerName(const dl_find_object* caller) {
  if (caller == nullptr) return "(generated code)";
  const char* path = caller->dlfo_link_map == nullptr ? nullptr : caller->dlfo_link_map->l_name;
  if (path != nullptr && *path != '\0') return FileName(path);
  if (g_slot == nullptr || g_slot->program == 0) return "(program)";
  return FileName(g_block->modules[g_slot->program - 1].path);
}

// The column of the function and its caller; null where there is none left.
shared::PointSlot* ColumnOf(const shared::ApiFunction& function, const char* caller) {
  char name[shared::kPointNameBytes];
  size_t length = 0;
  const auto append = [&name, &length](const char* text, size_t most) {
    for (; *text != '\0' && length < most; ++text) name[length++] = *text;
  };
  append(function.name, shared::kApiNameBytes);
  name[length++] = shared::kApiSeparator;
  append(caller, sizeof(name) - 1);
  name[length] = '\0';
  return FindOrAddPoint(*g_block, shared::PointKind::kApi, name);
}

// Its number as a timed function + 1; 0: no more have room.
uint64_t TimedNumber(uint32_t point) {
  for (uint32_t i = 0; i < shared::kMaxTimedFunctions; ++i) {
    uint32_t taken = 0;
    if (g_block->timed_functions[i].compare_exchange_strong(taken, point + 1) ||
        taken == point + 1) {
      return i + 1;
    }
  }
  return 0;
}

struct Call {
  uint64_t function;  // its number
  uint64_t entry;     // where its code was changed
  uint64_t return_address;
  bool is_timed;
};

Counters CountersOf(const Call& call) {
  if (g_block == nullptr || call.function >= g_block->api.count.load(std::memory_order_acquire)) {
    return kNowhere;
  }
  dl_find_object caller;
  bool has_caller = false;
  if (_dl_find_object != nullptr) {
    has_caller = FindObject(call.return_address, &caller);
    dl_find_object library;
    if (FindObject(call.entry, &library) &&
        (IsOwn(has_caller ? &caller : nullptr) || IsIn(library, call.return_address) ||
         CameByAnother(library, call.entry, call.return_address))) {
      return kNowhere;
    }
  }
  const shared::ApiFunction& function = g_block->api.functions[call.function];
  const Counters point =
      function.point == 0 ? 0 : kHasPoint | OffsetOf(function.point - 1) << kOffsetBits;
  shared::PointSlot* const column = ColumnOf(
      function, _dl_find_object == nullptr ? "(any)" : CallerName(has_caller ? &caller : nullptr));
  if (column == nullptr) return kNowhere | point;
  column->ends_in_jump.store(call.is_timed ? function.ends_in_jump : 0, kRelaxed);
  column->is_released.store(0, kRelaxed);
  const auto number = static_cast<uint32_t>(column - g_block->points);
  const uint64_t timed = call.is_timed ? TimedNumber(number) : 0;
  const uint64_t latency = function.latency % (shared::kMaxCallLatencies + 1);
  return OffsetOf(number) | point | timed << kTimedShift | latency << kLatencyShift;
}

}  // namespace

extern "C" {

__attribute__((visibility("hidden"), used)) uint64_t coz_look_at_call_site(uint64_t function,
                                                                           uint64_t return_address,
                                                                           uint64_t code,
                                                                           uint64_t is_timed) {
  patch::Original original;
  const uint64_t entry = patch::OriginalOf(code, &original) ? original.address : code;
  const Counters counters = CountersOf({function, entry, return_address, is_timed != 0});
  Store(KeyOf(function, return_address), counters);
  return counters;
}

}  // extern "C"

// Calls coz_look_at_call_site, and keeps all registers but rax and the flags. What is called may
// use vector registers, which hold arguments of the library's function, and wants an aligned stack.
asm(R"(
.text
.p2align 4
.hidden coz_keep_and_look_at
.globl coz_keep_and_look_at
.type coz_keep_and_look_at, @function
coz_keep_and_look_at:
  .cfi_startproc
  pushq %rbp
  .cfi_def_cfa_offset 16
  .cfi_offset %rbp, -16
  movq %rsp, %rbp
  .cfi_def_cfa_register %rbp
  pushq %rdi
  pushq %rsi
  pushq %rdx
  pushq %rcx
  pushq %r8
  pushq %r9
  pushq %r10
  pushq %r11
  subq $512, %rsp
  andq $-64, %rsp
  fxsave64 (%rsp)
  call coz_look_at_call_site
  fxrstor64 (%rsp)
  leaq -64(%rbp), %rsp
  popq %r11
  popq %r10
  popq %r9
  popq %r8
  popq %rcx
  popq %rdx
  popq %rsi
  popq %rdi
  popq %rbp
  .cfi_def_cfa %rsp, 8
  ret
  .cfi_endproc
.size coz_keep_and_look_at, . - coz_keep_and_look_at
)");

namespace {

// One instruction, so that a call by a signal handler in between is not lost.
void Increment(uint64_t offset) {
  asm volatile("incq %0" : "+m"(*reinterpret_cast<uint64_t*>(t_counted + offset)) : : "cc");
}

void Count(Counters counters) {
  Increment(counters & kOffsetMask);
  if ((counters & kHasPoint) != 0) Increment(counters >> kOffsetBits & kOffsetMask);
}

}  // namespace

extern "C" {

// After it was counted.
__attribute__((visibility("hidden"), used)) void coz_begin_counted_api_call(uint64_t function,
                                                                            uint64_t frame,
                                                                            Counters counters) {
  shared::ThreadSlot* const slot = CountedSlot();
  // Nobody's slot is that of several threads.
  if (slot->state.load(kRelaxed) != shared::ThreadState::kRunning) return;
  const auto here = reinterpret_cast<uint64_t>(__builtin_frame_address(0));
  const auto timed = static_cast<uint32_t>(counters >> kTimedShift & ((1 << kTimedBits) - 1));
  if (timed == 0) return shared::PassCall(slot->timers, frame, here);
  const uint32_t end = shared::kFirstApiEnd + static_cast<uint32_t>(function);
  const auto latency = static_cast<uint32_t>(counters >> kLatencyShift & ((1 << kLatencyBits) - 1));
  if (latency == 0) {
    return shared::BeginCall(slot->timers, timed - 1, end, frame, __builtin_ia32_rdtsc(), here);
  }
  const CallMoment now = MomentOfCall(slot->ledger);
  shared::BeginCall(slot->timers, timed - 1, end, frame, now.ticks, here,
                    {latency, now.local_delay_ns});
}

__attribute__((visibility("hidden"))) void coz_begin_api_call_in_handler(uint64_t function,
                                                                         uint64_t frame,
                                                                         uint64_t entry) {
  const Counters counters =
      coz_look_at_call_site(function, *reinterpret_cast<const uint64_t*>(frame), entry, 1);
  Count(counters);
  coz_begin_counted_api_call(function, frame, counters);
}

__attribute__((visibility("hidden"))) void coz_begin_api_call();
__attribute__((visibility("hidden"))) void coz_count_api_call();

}  // extern "C"

// Stubs have saved rdi (the function's number), rsi (where the return address is) and, where they
// have to, flags.
//
// COZ_API_FIND sets rax to the counters of a call site that is known, and goes on at 3; behind it
// the others are looked at. rcx is the key. The key is looked at again behind the counters: the
// call site may have become another one's meanwhile. COZ_API_COUNT loses rcx and `slot`.
asm(R"(
.macro COZ_API_WAY way sites
  cmpq (16 * \way)(\sites), %rcx
  jne 1f
  movq (16 * \way + 8)(\sites), %rax
  cmpq (16 * \way)(\sites), %rcx
  je 3f
1:
.endm
.macro COZ_API_FIND sites
  leaq 1(%rdi), %rcx
  shlq $48, %rcx
  orq (%rsi), %rcx
  movl %ecx, %eax
  andl $0xffc, %eax
  shll $4, %eax
  leaq coz_api_call_sites(%rip), \sites
  addq %rax, \sites
  COZ_API_WAY 0 \sites
  COZ_API_WAY 1 \sites
  COZ_API_WAY 2 \sites
  COZ_API_WAY 3 \sites
.endm
.macro COZ_API_COUNT slot
  movq _ZN3coz7runtime16runtime_internal9t_countedE@gottpoff(%rip), \slot
  movq %fs:(\slot), \slot
  movzwl %ax, %ecx
  incq (\slot,%rcx)
  testq %rax, %rax
  jns 4f
  movl %eax, %ecx
  shrl $16, %ecx
  incq (\slot,%rcx)
4:
.endm

.text
.p2align 4
.hidden coz_count_api_call
.globl coz_count_api_call
.type coz_count_api_call, @function
coz_count_api_call:
  pushq %rax
  pushq %rcx
  COZ_API_FIND %rsi
  pushq %rdx
  movq %rcx, %rsi
  shlq $16, %rsi
  shrq $16, %rsi
  movq 24(%rsp), %rdx
  xorl %ecx, %ecx
  call coz_keep_and_look_at
  popq %rdx
3:
  COZ_API_COUNT %rsi
  popq %rcx
  popq %rax
  ret
.size coz_count_api_call, . - coz_count_api_call

.p2align 4
.hidden coz_begin_api_call
.globl coz_begin_api_call
.type coz_begin_api_call, @function
coz_begin_api_call:
  pushq %rax
  pushq %rcx
  pushq %rdx
  COZ_API_FIND %rdx
  pushq %rsi
  movq (%rsi), %rsi
  movq 32(%rsp), %rdx
  movl $1, %ecx
  call coz_keep_and_look_at
  popq %rsi
3:
  COZ_API_COUNT %rdx
  pushq %r8
  pushq %r9
  pushq %r10
  pushq %r11
  movq %rax, %rdx
  call coz_begin_counted_api_call
  popq %r11
  popq %r10
  popq %r9
  popq %r8
  popq %rdx
  popq %rcx
  popq %rax
  ret
.size coz_begin_api_call, . - coz_begin_api_call
)");

void PublishApiRoutines(shared::ControlBlock* control, shared::ProcessSlot* process) {
  FlushApiCallSites();  // columns of another session have other numbers
  g_block = control;
  g_slot = process;
  ImposeAtCallsIn(&control->ledger);
  process->begin_api_call = reinterpret_cast<uint64_t>(&coz_begin_api_call);
  process->count_api_call = reinterpret_cast<uint64_t>(&coz_count_api_call);
  process->begin_api_call_in_handler = reinterpret_cast<uint64_t>(&coz_begin_api_call_in_handler);
}

void FlushApiCallSites() {
  if (!g_has_sites.load()) return;
  for (CallSites& set : coz_api_call_sites) {
    for (CallSite& site : set.ways) {
      uint64_t key = site.key.load(kRelaxed);
      // Who writes one now is still in its code.
      if (key > kBeingWritten) site.key.compare_exchange_strong(key, kFree);
    }
  }
}

}  // namespace coz::runtime::runtime_internal
