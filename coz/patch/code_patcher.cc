#include "coz/patch/code_patcher.h"

#include <sys/syscall.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <type_traits>

#include "coz/base/raw_syscall.h"
#include "coz/base/readable.h"
#include "coz/patch/code_memory.h"

namespace coz::patch {
namespace {

constexpr uint64_t kPageBytes = 4096;
constexpr greg_t kBreakpointException = 3;

// kActive: from before the first byte is changed until the last is restored. kGone: its code was
// unmapped.
enum class State : uint32_t { kActive, kRestored, kGone };

struct Entry {
  std::atomic<State> state;
  CodePatch patch;
};

// Each int3 of ours, by its address. Keys stay; a value changes where the address is used again.
struct Trap {
  std::atomic<uint64_t> address;
  std::atomic<uint32_t> patch;  // index
  uint8_t displaced;            // index
};
constexpr uint32_t kTraps = 1 << 14;
static_assert(kTraps > kMaxPatches * kMaxDisplaced);

Entry g_entries[kMaxPatches];
std::atomic<uint32_t> g_count{0};
Trap g_traps[kTraps];
// By their address. The table is at most half full.
constexpr uint32_t kStubPages = 4 * kMaxPatches;
std::atomic<uint64_t> g_stub_pages[kStubPages];
uint32_t g_stub_page_count = 0;
std::atomic<bool> g_has_traps{false};

std::atomic_flag g_changing = ATOMIC_FLAG_INIT;
std::atomic<uint32_t> g_unmapping{0};

uint32_t HashOf(uint64_t address) {
  return static_cast<uint32_t>((address * 0x9e3779b97f4a7c15u) >> 50) & (kTraps - 1);
}

Trap* FindTrap(uint64_t address) {
  for (uint32_t i = 0, at = HashOf(address); i < kTraps; ++i, at = (at + 1) % kTraps) {
    const uint64_t found = g_traps[at].address.load(std::memory_order_acquire);
    if (found == address) return &g_traps[at];
    if (found == 0) return nullptr;
  }
  return nullptr;
}

void SetTrap(uint64_t address, uint32_t patch, uint8_t displaced) {
  if (Trap* known = FindTrap(address)) {
    // The same instruction of another patch has the same number, or comes first in its place.
    known->displaced = displaced;
    known->patch.store(patch, std::memory_order_release);
    return;
  }
  for (uint32_t i = 0, at = HashOf(address); i < kTraps; ++i, at = (at + 1) % kTraps) {
    Trap& trap = g_traps[at];
    if (trap.address.load(std::memory_order_relaxed) != 0) continue;
    trap.displaced = displaced;
    trap.patch.store(patch, std::memory_order_relaxed);
    trap.address.store(address, std::memory_order_release);
    return;
  }
}

uint8_t* BytesAt(uint64_t address) { return reinterpret_cast<uint8_t*>(address); }

// Whether an int3 stands at this offset while the place is being changed and, within a jump, after
// that.
bool IsTrapOffset(const CodePatch& patch, size_t offset) {
  if (offset == 0) return true;
  if (patch.needs_one_thread != 0) return false;
  for (size_t i = 1; i < patch.displaced_count; ++i) {
    if (patch.displaced[i].original_offset == offset) return true;
  }
  return false;
}

// One thread at a time changes code. Whoever interrupts it in a handler is told so, and does not
// wait.
class ChangeLock {
 public:
  ChangeLock() : held_(!g_changing.test_and_set(std::memory_order_acquire)) {}
  ~ChangeLock() {
    if (held_) g_changing.clear(std::memory_order_release);
  }
  ChangeLock(const ChangeLock&) = delete;
  ChangeLock& operator=(const ChangeLock&) = delete;
  bool held() const { return held_; }

 private:
  const bool held_;
};

// Where the page stands in the table, or would.
std::atomic<uint64_t>& StubPage(uint64_t page) {
  uint32_t at = HashOf(page) % kStubPages;
  for (;; at = (at + 1) % kStubPages) {
    const uint64_t found = g_stub_pages[at].load(std::memory_order_acquire);
    if (found == page || found == 0) return g_stub_pages[at];
  }
}

bool IsOnStubPage(uint64_t address) {
  const uint64_t page = address & ~(kPageBytes - 1);
  return StubPage(page).load(std::memory_order_acquire) == page && page != 0;
}

bool OwnStubPage(uint64_t page) {
  if (IsOnStubPage(page)) return true;
  if (g_stub_page_count == kStubPages / 2 || !MapStubPage(page)) return false;
  ++g_stub_page_count;
  StubPage(page).store(page, std::memory_order_release);
  return true;
}

PatchResult StoreStub(const CodePatch& patch) {
  const uint64_t end = patch.stub + patch.stub_bytes;
  for (uint64_t page = patch.stub & ~(kPageBytes - 1); page < end; page += kPageBytes) {
    if (!OwnStubPage(page)) return PatchResult::kNoStubSpace;
  }
  if (!AllowWriting(patch.stub, patch.stub_bytes)) return PatchResult::kMayNotWrite;
  for (size_t i = 0; i < patch.stub_bytes; ++i) StoreByte(patch.stub + i, patch.stub_code[i]);
  ForbidWriting(patch.stub, patch.stub_bytes);
  return PatchResult::kDone;
}

// The newest entry for this place.
Entry* EntryAt(uint64_t address) {
  const Trap* trap = FindTrap(address);
  if (trap == nullptr || trap->displaced != 0) return nullptr;
  return &g_entries[trap->patch.load(std::memory_order_acquire)];
}

bool IsSame(const CallEdge& a, const CallEdge& b) {
  return a.routine == b.routine && a.routine_in_handler == b.routine_in_handler &&
         a.argument == b.argument && a.frame.by_rbp == b.frame.by_rbp &&
         a.frame.distance == b.frame.distance;
}

// Of values without padding between their bytes.
template <typename Value>
bool AreSame(const Value& a, const Value& b) {
  static_assert(std::has_unique_object_representations_v<Value>);
  return memcmp(&a, &b, sizeof(a)) == 0;
}

// Wherever their stubs are.
bool DoTheSame(const CodePatch& a, const CodePatch& b) {
  return a.address == b.address && a.semaphore == b.semaphore && AreSame(a.counter, b.counter) &&
         IsSame(a.edge, b.edge) && a.way == b.way && a.needs_one_thread == b.needs_one_thread &&
         a.pushes_return_address == b.pushes_return_address && a.changed_bytes == b.changed_bytes &&
         a.original_bytes == b.original_bytes && a.displaced_bytes == b.displaced_bytes &&
         a.displaced_count == b.displaced_count && a.step_count == b.step_count &&
         a.stub_bytes == b.stub_bytes && AreSame(a.original, b.original) &&
         AreSame(a.displaced, b.displaced) && AreSame(a.steps, b.steps);
}

bool HasBytes(uint64_t address, const uint8_t* bytes, size_t count) {
  return IsReadable(BytesAt(address), count) && std::equal(bytes, bytes + count, BytesAt(address));
}

// A jump may lean on bytes that it leaves as they are. So that they stay, and no change finds
// another one's bytes, changes lie apart with all of their original bytes.
bool OverlapsAnother(const CodePatch& patch) {
  for (uint64_t at = patch.address - sizeof(patch.original);
       at < patch.address + patch.original_bytes; ++at) {
    const Entry* other = EntryAt(at);
    if (other == nullptr || at == patch.address) continue;
    const bool is_active = other->state.load(std::memory_order_relaxed) == State::kActive;
    if (is_active && at + other->patch.original_bytes > patch.address) return true;
  }
  return false;
}

// Whether the place can be changed now; nothing is changed yet.
PatchResult Check(const CodePatch& patch) {
  if (OverlapsAnother(patch)) return PatchResult::kOverlaps;
  if (!HasBytes(patch.address, patch.original, patch.original_bytes))
    return PatchResult::kOtherCode;
  const bool is_alone = HasOneThread();
  if (patch.needs_one_thread != 0 && !is_alone) return PatchResult::kManyThreads;
  if (patch.pushes_return_address != 0 && HasShadowStack()) return PatchResult::kShadowStack;
  if (!SyncCores() && !is_alone) return PatchResult::kNoBarrier;
  return PatchResult::kDone;
}

// A new entry, or the one from before the patch was removed. That has its stub already, which an
// earlier session of coz may have placed.
PatchResult Enter(const CodePatch& patch, Entry** entered) {
  Entry* const known = EntryAt(patch.address);
  if (known != nullptr && DoTheSame(known->patch, patch)) {
    *entered = known;
  } else {
    const uint32_t index = g_count.load(std::memory_order_relaxed);
    if (index == kMaxPatches) return PatchResult::kFull;
    const PatchResult stored = StoreStub(patch);
    if (stored != PatchResult::kDone) return stored;
    *entered = &g_entries[index];
    memcpy(&(*entered)->patch, &patch, sizeof(patch));
  }
  const auto index = static_cast<uint32_t>(*entered - g_entries);
  (*entered)->state.store(State::kActive, std::memory_order_release);
  if (index == g_count.load(std::memory_order_relaxed))
    g_count.store(index + 1, std::memory_order_release);
  for (uint8_t i = 0; i < patch.displaced_count; ++i) {
    const size_t offset = patch.displaced[i].original_offset;
    if (offset < patch.changed_bytes && IsTrapOffset(patch, offset)) {
      SetTrap(patch.address + offset, index, i);
    }
  }
  if (patch.way == Way::kTrap) g_has_traps.store(true, std::memory_order_relaxed);
  return PatchResult::kDone;
}

// Lets the program take the way by the place, or not any more.
void ChangeSemaphore(const CodePatch& patch, int16_t by) {
  if (patch.semaphore == 0 || !IsReadable(BytesAt(patch.semaphore), sizeof(by))) return;
  __atomic_fetch_add(reinterpret_cast<int16_t*>(patch.semaphore), by, __ATOMIC_SEQ_CST);
}

// An int3 where any instruction begins; then what lies between; then the first byte. Between these,
// all CPUs see what was stored before.
void ChangeBytes(const CodePatch& patch) {
  for (size_t i = 0; i < patch.changed_bytes; ++i) {
    if (IsTrapOffset(patch, i)) StoreByte(patch.address + i, kInt3);
  }
  SyncCores();
  if (patch.way == Way::kTrap) return;
  for (size_t i = 1; i < patch.changed_bytes; ++i) {
    if (!IsTrapOffset(patch, i)) StoreByte(patch.address + i, patch.replacement[i]);
  }
  SyncCores();
  StoreByte(patch.address, patch.replacement[0]);
  SyncCores();
}

void RestoreBytes(const CodePatch& patch) {
  StoreByte(patch.address, kInt3);
  SyncCores();
  for (size_t i = 1; i < patch.changed_bytes; ++i) {
    if (!IsTrapOffset(patch, i)) StoreByte(patch.address + i, patch.original[i]);
  }
  SyncCores();
  for (size_t i = patch.changed_bytes; i-- > 0;) {
    if (IsTrapOffset(patch, i)) StoreByte(patch.address + i, patch.original[i]);
  }
  SyncCores();
}

uint64_t ThreadPointer() {
  uint64_t pointer = 0;
  asm("mov %%fs:0, %0" : "=r"(pointer));
  return pointer;
}

void CountVisit(const CounterPlace& counter) {
  const uint64_t at = ThreadPointer() + static_cast<uint64_t>(int64_t{counter.fs_offset});
  const uint64_t base = *reinterpret_cast<const uint64_t*>(at);
  const auto cell_at = [base](int32_t displacement) {
    return reinterpret_cast<uint64_t*>(base + static_cast<uint64_t>(int64_t{displacement}));
  };
  uint64_t* cell = cell_at(counter.displacement);
  if (counter.begins != 0 && *cell_at(counter.begins) <= *cell) {
    cell = cell_at(counter.without_begin);
  }
  // One instruction each, as in the stub.
  asm volatile("lock incq %0" : "+m"(*cell) : : "cc");
  for (const int32_t other : counter.others) {
    if (other != 0) asm volatile("lock incq %0" : "+m"(*cell_at(other)) : : "cc");
  }
}

// What the stub would do, for an int3.
void PassEdge(const CallEdge& edge, uint64_t address, const ucontext_t& context) {
  const greg_t base = context.uc_mcontext.gregs[edge.frame.by_rbp != 0 ? REG_RBP : REG_RSP];
  const auto routine =
      reinterpret_cast<void (*)(uint64_t, uint64_t, uint64_t)>(edge.routine_in_handler);
  routine(edge.argument, static_cast<uint64_t>(base + edge.frame.distance), address);
}

// An int3 of ours at this address, or null.
const Entry* TrapAt(uint64_t address, uint8_t* displaced) {
  const Trap* trap = FindTrap(address);
  if (trap == nullptr) return nullptr;
  const Entry& entry = g_entries[trap->patch.load(std::memory_order_acquire)];
  *displaced = trap->displaced;
  return entry.state.load(std::memory_order_acquire) == State::kGone ? nullptr : &entry;
}

// A thread stands one byte behind a displaced instruction: whether it has executed that, not the
// int3 in its place. It may have, where the instruction has one byte, and the thread was there when
// the code changed. A push has left its register on the stack. Another instruction is taken for
// executed: its int3 stands for a moment only, or it is a nop.
bool HasPassed(const CodePatch& patch, uint8_t displaced, const ucontext_t& context) {
  constexpr int kPushed[] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX,
                             REG_RSP, REG_RBP, REG_RSI, REG_RDI};
  const size_t offset = patch.displaced[displaced].original_offset;
  const bool is_one_byte = displaced + 1 < patch.displaced_count &&
                           patch.displaced[displaced + 1].original_offset == offset + 1;
  if (!is_one_byte) return false;
  const uint8_t code = patch.original[offset];
  if (!IsPushOfOneByte(code)) return true;
  const auto& registers = context.uc_mcontext.gregs;
  const auto* stack = reinterpret_cast<const uint64_t*>(registers[REG_RSP]);
  const int pushed = kPushed[code - kPushOfRax];
  const uint64_t before = pushed == REG_RSP ? sizeof(uint64_t) : 0;
  return *stack == static_cast<uint64_t>(registers[pushed]) + before;
}

// Whether the code is that of before or after the change, from a displaced instruction on. It may
// have been unmapped since the patch was removed, and be another one.
bool HasItsCode(const CodePatch& patch, uint8_t displaced) {
  const size_t offset = patch.displaced[displaced].original_offset;
  const uint64_t at = patch.address + offset;
  if (*BytesAt(at) == kInt3) return true;
  return HasBytes(at, patch.original + offset, patch.original_bytes - offset) ||
         (offset < patch.changed_bytes &&
          HasBytes(at, patch.replacement + offset, patch.changed_bytes - offset));
}

// The caller has the lock.
bool RestoreAll() {
  bool restored = true;
  const uint32_t count = g_count.load(std::memory_order_acquire);
  for (uint32_t i = 0; i < count; ++i) {
    Entry& entry = g_entries[i];
    const CodePatch& patch = entry.patch;
    if (entry.state.load(std::memory_order_relaxed) != State::kActive) continue;
    if (!IsReadable(BytesAt(patch.address), patch.changed_bytes)) continue;
    if (!AllowWriting(patch.address, patch.changed_bytes)) {
      restored = false;
      continue;
    }
    ChangeSemaphore(patch, -1);
    RestoreBytes(patch);
    ForbidWriting(patch.address, patch.changed_bytes);
    entry.state.store(State::kRestored, std::memory_order_release);
  }
  return restored;
}

}  // namespace

PatchResult InsertPatch(const CodePatch& patch) {
  const ChangeLock lock;
  if (!lock.held() || g_unmapping.load(std::memory_order_seq_cst) != 0) return PatchResult::kBusy;
  const Entry* known = EntryAt(patch.address);
  if (known != nullptr && known->state.load(std::memory_order_relaxed) == State::kActive) {
    const bool is_same =
        AreSame(known->patch.counter, patch.counter) && IsSame(known->patch.edge, patch.edge);
    return is_same ? PatchResult::kAlready : PatchResult::kOtherCode;
  }
  const PatchResult checked = Check(patch);
  if (checked != PatchResult::kDone) return checked;
  if (!AllowWriting(patch.address, patch.changed_bytes)) return PatchResult::kMayNotWrite;
  Entry* entry = nullptr;
  const PatchResult entered = Enter(patch, &entry);
  if (entered == PatchResult::kDone) {
    ChangeBytes(entry->patch);
    ChangeSemaphore(entry->patch, 1);
  }
  ForbidWriting(patch.address, patch.changed_bytes);
  return entered;
}

PatchResult RemovePatch(uint64_t address) {
  const ChangeLock lock;
  if (!lock.held() || g_unmapping.load(std::memory_order_seq_cst) != 0) return PatchResult::kBusy;
  Entry* entry = EntryAt(address);
  if (entry == nullptr || entry->state.load(std::memory_order_relaxed) != State::kActive)
    return PatchResult::kNoSuchPatch;
  if (!AllowWriting(address, entry->patch.changed_bytes)) return PatchResult::kMayNotWrite;
  ChangeSemaphore(entry->patch, -1);
  RestoreBytes(entry->patch);
  ForbidWriting(address, entry->patch.changed_bytes);
  // The entry stays: a thread may have taken its int3 and not come to the handler yet.
  entry->state.store(State::kRestored, std::memory_order_release);
  return PatchResult::kDone;
}

bool TakeTrap(const siginfo_t& info, ucontext_t* context) {
  const auto ip = static_cast<uint64_t>(context->uc_mcontext.gregs[REG_RIP]);
  uint8_t displaced = 0;
  const Entry* entry = TrapAt(ip - 1, &displaced);
  if (entry == nullptr) return false;
  const bool is_trap =
      info.si_code == SI_KERNEL && context->uc_mcontext.gregs[REG_TRAPNO] == kBreakpointException;
  const CodePatch& patch = entry->patch;
  // Another SIGTRAP of this thread was under way, so the kernel has dropped that of the int3. Its
  // byte may have been restored since. Behind an int3 of ours no instruction begins that a thread
  // comes to (place_plan.cc sees to that), but it may have been there before.
  const bool is_dropped =
      !is_trap && HasItsCode(patch, displaced) && !HasPassed(patch, displaced, *context);
  if (!is_trap && !is_dropped) return false;
  if (displaced == 0) {
    if (patch.edge.routine == 0) {
      CountVisit(patch.counter);
    } else if (patch.edge.routine_in_handler != 0) {
      PassEdge(patch.edge, patch.address, *context);
    }
  }
  const uint64_t copy = patch.stub + patch.displaced[displaced].stub_offset;
  context->uc_mcontext.gregs[REG_RIP] = static_cast<greg_t>(copy);
  return is_trap;
}

bool HasTraps() { return g_has_traps.load(std::memory_order_relaxed); }

bool OriginalOf(uint64_t ip, Original* original) {
  uint8_t displaced = 0;
  const Entry* trap =
      g_has_traps.load(std::memory_order_relaxed) ? TrapAt(ip - 1, &displaced) : nullptr;
  const bool is_active =
      trap != nullptr && trap->state.load(std::memory_order_relaxed) == State::kActive;
  if (is_active && trap->patch.way == Way::kTrap && displaced == 0) {
    *original = {ip - 1, 0, true};
    return true;
  }
  if (!IsOnStubPage(ip)) return false;
  const uint32_t count = g_count.load(std::memory_order_acquire);
  for (uint32_t i = 0; i < count; ++i) {
    const CodePatch& patch = g_entries[i].patch;
    if (ip < patch.stub || ip >= patch.stub + patch.stub_bytes) continue;
    const StubStep* step = patch.steps;
    while (step + 1 < patch.steps + patch.step_count &&
           patch.stub + (step + 1)->stub_offset <= ip) {
      ++step;
    }
    *original = {patch.address + step->original_offset, step->pushed_bytes,
                 patch.way == Way::kTrap && ip == patch.stub};
    return true;
  }
  return false;
}

void BeginUnmap() {
  g_unmapping.fetch_add(1, std::memory_order_seq_cst);
  // Whoever changes code now does so for microseconds.
  while (g_changing.test_and_set(std::memory_order_acquire)) RawSyscall(SYS_sched_yield);
  g_changing.clear(std::memory_order_release);
}

void EndUnmap() {
  const uint32_t count = g_count.load(std::memory_order_acquire);
  for (uint32_t i = 0; i < count; ++i) {
    Entry& entry = g_entries[i];
    const CodePatch& patch = entry.patch;
    if (entry.state.load(std::memory_order_relaxed) != State::kActive) continue;
    if (!HasBytes(patch.address, patch.replacement, patch.changed_bytes)) {
      entry.state.store(State::kGone, std::memory_order_release);
    }
  }
  g_unmapping.fetch_sub(1, std::memory_order_seq_cst);
}

bool RestoreCode() {
  constexpr int kMostYields = 10000;
  int yields = 0;
  while (g_changing.test_and_set(std::memory_order_acquire)) {
    if (++yields == kMostYields) return false;
    RawSyscall(SYS_sched_yield);
  }
  const bool restored = RestoreAll();
  g_changing.clear(std::memory_order_release);
  return restored;
}

void OnForkInChild() {
  OnForkOfWriter();
  g_changing.clear(std::memory_order_relaxed);
  g_unmapping.store(0, std::memory_order_relaxed);
}

}  // namespace coz::patch
