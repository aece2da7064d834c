// Process: target. Context: the program's threads, in Go's scheduler and in sync.
#include "coz/sync/interpose/goroutines.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "coz/base/clock.h"
#include "coz/base/errno_saver.h"
#include "coz/base/go_moment.h"
#include "coz/sync/delay/accrual.h"
#include "coz/sync/delay/delay_ledger.h"
#include "coz/sync/interpose/call_stacks.h"
#include "coz/sync/interpose/io_wait.h"
#include "coz/sync/interpose/thread_sync.h"

namespace coz::interpose {

__thread bool t_seeks_goroutine __attribute__((tls_model("initial-exec"))) = false;

namespace {

__thread bool t_runs_goroutines __attribute__((tls_model("initial-exec"))) = false;

// A thread that finds the next goroutine at once has not waited.
constexpr uint64_t kLongestSwitchNs = 5 * kNsPerUs;
// As for other waits that the outside ends (io_wait.h).
constexpr uint64_t kShortestOutsideWaitNs = 20 * kNsPerUs;

enum class Readied : uint32_t { kNo, kByGoroutine };

std::atomic<const std::atomic<uint32_t>*> g_is_on = nullptr;

// A descriptor and its side, as one word; 0: none.
class Polled {
 public:
  explicit Polled(uint32_t word) : word_(word) {}
  Polled(int fd, IoSide side)
      : word_(static_cast<uint32_t>(fd + 1) << 1 | (side == IoSide::kInput ? 1 : 0)) {}

  uint32_t word() const { return word_; }
  int fd() const { return static_cast<int>(word_ >> 1) - 1; }
  IoSide side() const { return (word_ & 1) != 0 ? IoSide::kInput : IoSide::kOutput; }

 private:
  uint32_t word_;
};

// A Polled: through which the thread's last call that would have waited went.
__thread uint32_t t_would_block __attribute__((tls_model("initial-exec"))) = 0;

struct Goroutine {
  std::atomic<uint64_t> address;
  std::atomic<uint64_t> virtual_ns;      // when a thread left it; 0: none has
  std::atomic<uint64_t> local_delay_ns;  // of that thread
  std::atomic<Readied> readied;          // since then
  std::atomic<uint32_t> polled;          // a Polled, which it waits for
  // It is of Go's runtime, and collects garbage or gives memory back. Goroutines of the program
  // bring that about, however it is made ready.
  std::atomic<bool> serves;
};

constexpr size_t kHashBits = 13;
Goroutine g_goroutines[size_t{1} << kHashBits];

static_assert(offsetof(CallStacks, top) == 0 && offsetof(CallStacks, limit) == 8);
static_assert(kCallStackBytes == 32768, "the routine below has the number, too");
static_assert(GoMoment::kLocks == GoMoment{8}, "the routine below has the number, too");

__thread delay::Wait t_seek __attribute__((tls_model("initial-exec"))) = {};

// A meeting of goroutines.
struct Group {
  std::atomic<uint64_t> address;
  std::atomic<uint64_t> latest_ns;  // virtual time of the arrivals so far
  std::atomic<bool> is_complete;
};

constexpr size_t kGroupBits = 10;
Group g_groups[size_t{1} << kGroupBits];
constexpr uint32_t kWaiters = 0x7fffffff;

// Those that the calling thread wakes next, in the call in which it has arrived last.
struct Woken {
  uint64_t latest_ns;
  uint32_t left;
};
__thread Woken t_woken __attribute__((tls_model("initial-exec")));

Group& GroupAt(uint64_t address) {
  return g_groups[((address >> 2) * 0x9E3779B97F4A7C15u) >> (64 - kGroupBits)];
}

Goroutine& PlaceOf(uint64_t address) {
  return g_goroutines[((address >> 4) * 0x9E3779B97F4A7C15u) >> (64 - kHashBits)];
}

// Its entry, new or taken from another.
Goroutine& TakePlace(uint64_t address) {
  Goroutine& place = PlaceOf(address);
  if (place.address.load(std::memory_order_relaxed) != address) {
    place.address.store(address, std::memory_order_relaxed);
    place.virtual_ns.store(0, std::memory_order_relaxed);
    place.serves.store(false, std::memory_order_relaxed);
  }
  return place;
}

const void* AsObject(uint64_t address) {
  return reinterpret_cast<const void*>(static_cast<uintptr_t>(address));
}

void Leave(delay::ThreadLedger& thread, uint64_t goroutine, GoMoment moment) {
  NoteCallHere(thread, AsObject(goroutine));
  const uint64_t now_ns = MonotonicNowNs();
  LeaveCpu(thread, now_ns);
  if (moment == GoMoment::kEnds) {
    TakePlace(goroutine).virtual_ns.store(0, std::memory_order_relaxed);
  } else {
    Goroutine& place = TakePlace(goroutine);
    place.readied.store(moment == GoMoment::kYields ? Readied::kByGoroutine : Readied::kNo,
                        std::memory_order_relaxed);
    place.polled.store(0, std::memory_order_relaxed);
    const uint64_t local_ns = thread.local_delay_ns.load(std::memory_order_relaxed);
    place.local_delay_ns.store(local_ns, std::memory_order_relaxed);
    place.virtual_ns.store(now_ns - local_ns, std::memory_order_relaxed);
  }
  t_woken.left = 0;  // one that was about to wait need not be woken
  t_seek = delay::BeginWait(thread, now_ns);
  t_seeks_goroutine = true;
}

// Before it takes a lock, or stops all other threads.
void PayBefore(delay::ThreadLedger& thread, uint64_t site) {
  if (!CallerIsBehind(thread)) {
    NoteCall(thread, AsObject(site));
  } else if (!MaySkipCall(thread, AsObject(site))) {
    PayAtCall(thread, AsObject(site));
  }
}

void NoteThatServes(uint64_t goroutine) {
  TakePlace(goroutine).serves.store(true, std::memory_order_relaxed);
}

// Of its state, behind a lock of one word, the goroutine is the first.
uint64_t GoroutineOf(uint64_t scavenger) {
  return static_cast<const uint64_t*>(AsObject(scavenger))[1];
}

uint32_t CounterOf(const std::atomic<uint64_t>& state) {
  return static_cast<uint32_t>(state.load(std::memory_order_relaxed) >> 32);
}

// A wait group holds its state first: above the counter, below the number of those that wait. Go
// 1.17 puts it where it is aligned.
const std::atomic<uint64_t>& StateOf(uint64_t group) {
  constexpr uint64_t kWord = sizeof(uint64_t);
  return *static_cast<const std::atomic<uint64_t>*>(AsObject((group + kWord - 1) / kWord * kWord));
}

// No wait group, or a member of no object: the program is about to panic, and may recover from
// that.
constexpr uint64_t kLowestAddress = 65536;

// Who makes the counter 0 lets the others go on, who came last in real time. Each goes on from the
// latest virtual time of any.
void Arrive(delay::ThreadLedger& thread, uint64_t address, int64_t delta) {
  if (delta >= 0 || address < kLowestAddress) return;
  NoteCallHere(thread, AsObject(address));
  const uint64_t state = StateOf(address).load(std::memory_order_relaxed);
  const bool is_last = static_cast<int64_t>(state >> 32) + delta == 0;
  const uint64_t own_ns = MonotonicNowNs() - thread.local_delay_ns.load(std::memory_order_relaxed);
  Group& group = GroupAt(address);
  const bool goes_on = group.address.load(std::memory_order_relaxed) == address &&
                       !group.is_complete.load(std::memory_order_relaxed);
  if (!goes_on) {
    group.latest_ns.store(0, std::memory_order_relaxed);
    group.address.store(address, std::memory_order_relaxed);
  }
  uint64_t latest_ns = group.latest_ns.load(std::memory_order_relaxed);
  while (latest_ns < own_ns &&
         !group.latest_ns.compare_exchange_weak(latest_ns, own_ns, std::memory_order_relaxed)) {
  }
  group.is_complete.store(is_last, std::memory_order_relaxed);
  if (!is_last) return;
  t_woken = {std::max(latest_ns, own_ns), static_cast<uint32_t>(state) & kWaiters};
}

// Nobody blocks where all have arrived.
void Meet(delay::ThreadLedger& thread, uint64_t address) {
  if (address < kLowestAddress) return;
  const Group& group = GroupAt(address);
  const bool is_over = group.address.load(std::memory_order_relaxed) == address &&
                       group.is_complete.load(std::memory_order_relaxed) &&
                       CounterOf(StateOf(address)) == 0;
  NoteCallHere(thread, AsObject(address));
  if (!is_over) return;
  delay::GoOnAfter(*sync_internal::g_ledger, thread,
                   group.latest_ns.load(std::memory_order_relaxed), MonotonicNowNs());
}

// What the clock or the outside makes ready, a thread does that looks for a goroutine.
void MakeReady(uint64_t goroutine) {
  if (SeeksGoroutine()) return;
  PayBeforeWakeAt(AsObject(goroutine), AsObject(goroutine));
  Goroutine& place = TakePlace(goroutine);
  if (t_woken.left != 0) {
    --t_woken.left;
    const uint64_t left_ns = place.virtual_ns.load(std::memory_order_relaxed);
    place.virtual_ns.store(std::max(left_ns, t_woken.latest_ns), std::memory_order_relaxed);
  }
  place.readied.store(Readied::kByGoroutine, std::memory_order_relaxed);
}

// The local delay that was left by the last profiled thread to make ready what the goroutine waits
// for; 0: none has.
uint64_t WriterFor(const Goroutine& place) {
  const Polled polled(place.polled.load(std::memory_order_relaxed));
  return polled.word() == 0 ? 0 : WakerThrough(polled.fd(), polled.side());
}

void EndSeek(delay::ThreadLedger& thread, const Goroutine& place, bool by_goroutine,
             uint64_t goroutine, uint64_t now_ns) {
  delay::GlobalLedger& global = *sync_internal::g_ledger;
  const uint64_t sought_ns = now_ns - t_seek.start_ns;
  const uint64_t queued_ns = ResumeRunning(thread);
  if (by_goroutine) {
    delay::EndWaitCredited(global, thread, t_seek, now_ns, global.wakes.Find(AsObject(goroutine)),
                           sought_ns > kLongestSwitchNs);
    delay::GoOnFromCpu(global, thread);
    return;
  }
  // The goroutine has waited for the outside, and the thread for any goroutine. So what is owed is
  // what was inserted in the shorter wait.
  const uint64_t own_ns = std::max(thread.local_delay_ns.load(std::memory_order_relaxed),
                                   place.local_delay_ns.load(std::memory_order_relaxed));
  const uint64_t writer_ns = WriterFor(place);
  delay::EndWaitCreditedBy(thread, t_seek, now_ns, std::max(own_ns, writer_ns),
                           sought_ns > kLongestSwitchNs);
  // Where the outside has ended the wait, a writer has left what is older than the wait.
  if (writer_ns > own_ns) {
    return delay::CreditQueueAfter(global, thread, t_seek, now_ns, queued_ns);
  }
  if (sought_ns < kShortestOutsideWaitNs) return;
  PayAfterWait();
  PayForStretchesInProgress(thread);
}

void Execute(delay::ThreadLedger& thread, uint64_t goroutine) {
  const Goroutine& place = PlaceOf(goroutine);
  const bool is_known = place.address.load(std::memory_order_relaxed) == goroutine;
  const uint64_t left_ns = is_known ? place.virtual_ns.load(std::memory_order_relaxed) : 0;
  const bool by_goroutine = !is_known || place.serves.load(std::memory_order_relaxed) ||
                            place.readied.load(std::memory_order_relaxed) == Readied::kByGoroutine;
  const uint64_t now_ns = MonotonicNowNs();
  if (SeeksGoroutine()) EndSeek(thread, place, by_goroutine, goroutine, now_ns);
  t_seeks_goroutine = false;
  // It goes on no earlier than where it was, whichever thread it was on.
  if (left_ns != 0) delay::GoOnAfter(*sync_internal::g_ledger, thread, left_ns, now_ns);
  NoteCall(thread, AsObject(goroutine));
}

}  // namespace

void NoteWouldBlock(int fd, IoSide side) { t_would_block = Polled(fd, side).word(); }

bool IsOfGosRuntime() {
  const std::atomic<uint32_t>* const is_on = g_is_on.load(std::memory_order_acquire);
  return is_on != nullptr && is_on->load(std::memory_order_relaxed) != 0 && !t_runs_goroutines;
}

// `first` and `second` are the first two arguments of the function that the code belongs to.
extern "C" __attribute__((visibility("hidden"), used)) void coz_note_goroutine(uint64_t moment,
                                                                               uint64_t first,
                                                                               uint64_t second) {
  const std::atomic<uint32_t>* const is_on = g_is_on.load(std::memory_order_acquire);
  if (is_on == nullptr || is_on->load(std::memory_order_relaxed) == 0) return;
  delay::ThreadLedger* const thread = CurrentThreadLedger();
  if (thread == nullptr) return;
  const ErrnoSaver errno_saver;
  t_runs_goroutines = true;
  switch (static_cast<GoMoment>(moment)) {
    case GoMoment::kReady:
      return MakeReady(second);
    case GoMoment::kExecute:
      return Execute(*thread, first);
    case GoMoment::kServes:
      return NoteThatServes(first);
    case GoMoment::kPolls:
      return TakePlace(first).polled.store(t_would_block, std::memory_order_relaxed);
    case GoMoment::kScavenges:
      return NoteThatServes(GoroutineOf(first));
    case GoMoment::kHalts:
      return SeeksGoroutine() ? void() : PayBefore(*thread, moment);
    case GoMoment::kLocks:
      return PayBefore(*thread, first);
    case GoMoment::kArrives:
      return Arrive(*thread, first, static_cast<int64_t>(second));
    case GoMoment::kMeets:
      return Meet(*thread, first);
    default:
      return Leave(*thread, first, static_cast<GoMoment>(moment));
  }
}

// Stubs have saved rdi, rsi and, where they have to, flags. Go passes arguments in rax and rbx. The
// caller's stack may have room for a few words alone. No vector register is live but xmm15, which
// is zero.
asm(".text\n"
    ".p2align 4\n"
    ".hidden coz_goroutine\n"
    ".globl coz_goroutine\n"
    ".type coz_goroutine, @function\n"
    "coz_goroutine:\n"
    "  .cfi_startproc\n"
    "  .cfi_undefined rip\n"
    "  pushq %rbp\n"
    "  movq %rsp, %rbp\n"
    "  pushq %rax\n"
    "  pushq %rcx\n"
    "  movq coz_call_stacks@gottpoff(%rip), %rcx\n"
    "  movq %fs:(%rcx), %rax\n"
    "  cmpq %fs:8(%rcx), %rax\n"
    "  jbe 1f\n"
    "  subq $32768, %fs:(%rcx)\n"
    "  movq %rax, %rsp\n"
    "  pushq %rdx\n"
    "  pushq %r8\n"
    "  pushq %r9\n"
    "  pushq %r10\n"
    "  pushq %r11\n"
    "  subq $8, %rsp\n"
    "  movq -8(%rbp), %rsi\n"
    "  movq %rbx, %rdx\n"
    "  call coz_note_goroutine\n"
    "  addq $8, %rsp\n"
    "  popq %r11\n"
    "  popq %r10\n"
    "  popq %r9\n"
    "  popq %r8\n"
    "  popq %rdx\n"
    "  leaq -16(%rbp), %rsp\n"
    "  movq coz_call_stacks@gottpoff(%rip), %rcx\n"
    "  addq $32768, %fs:(%rcx)\n"
    "  jmp 2f\n"
    // Without a stack of ours. The argument is a GoMoment.
    "1:\n"
    "  cmpl $8, %edi\n"
    "  jae 2f\n"
    "  pushq %rdx\n"
    "  pushq %r8\n"
    "  pushq %r9\n"
    "  pushq %r10\n"
    "  pushq %r11\n"
    "  andq $-16, %rsp\n"
    "  movq -8(%rbp), %rsi\n"
    "  movq %rbx, %rdx\n"
    "  call coz_note_goroutine\n"
    "  leaq -56(%rbp), %rsp\n"
    "  popq %r11\n"
    "  popq %r10\n"
    "  popq %r9\n"
    "  popq %r8\n"
    "  popq %rdx\n"
    "2:\n"
    "  xorps %xmm15, %xmm15\n"
    "  popq %rcx\n"
    "  popq %rax\n"
    "  popq %rbp\n"
    "  ret\n"
    "  .cfi_endproc\n"
    ".size coz_goroutine, . - coz_goroutine\n");

extern "C" __attribute__((visibility("hidden"))) void coz_goroutine();

uint64_t GoroutineRoutine(const std::atomic<uint32_t>* is_on) {
  g_is_on.store(is_on, std::memory_order_release);
  return reinterpret_cast<uint64_t>(&coz_goroutine);
}

}  // namespace coz::interpose
