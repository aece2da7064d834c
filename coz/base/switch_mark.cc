#include "coz/base/switch_mark.h"

#include <sys/syscall.h>
#include <time.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "coz/base/raw_syscall.h"

// Of libc from 2.35 on: where the thread's area lies, from its thread pointer on, and how much of
// it the kernel uses; 0: none is registered. sys/rseq.h declares them.
extern "C" {
extern const ptrdiff_t __rseq_offset __attribute__((weak));
extern const unsigned int __rseq_size __attribute__((weak));
}

namespace coz {
namespace {

// As linux/rseq.h has them, which not every system has.
struct RseqArea {
  uint32_t cpu_id_start;
  uint32_t cpu_id;
  std::atomic<uint64_t> sequence;
};
struct alignas(32) Sequence {
  uint32_t version;
  uint32_t flags;
  uint64_t start;
  uint64_t length;
  uint64_t abort;
};

// The kernel looks for the signature in front of the place where a sequence goes on when it is cut
// short. None of these bytes is ever executed.
struct Nowhere {
  uint32_t signature;
  uint32_t abort;
};
constexpr Nowhere kNowhere = {0x53053053, 0};  // RSEQ_SIG of x86

Sequence MakeMark() {
  Sequence mark = {};
  mark.start = reinterpret_cast<uint64_t>(&kNowhere.signature);
  mark.length = 1;
  mark.abort = reinterpret_cast<uint64_t>(&kNowhere.abort);
  return mark;
}
const Sequence g_mark = MakeMark();

RseqArea* Area() {
  return reinterpret_cast<RseqArea*>(static_cast<char*>(__builtin_thread_pointer()) +
                                     __rseq_offset);
}

bool IsRegistered() {
  return &__rseq_offset != nullptr && &__rseq_size != nullptr && __rseq_size != 0 &&
         g_mark.abort != 0;
}

// A sleep is a switch. Chance may take a mark away at once, so it has some tries to stay.
bool Try() {
  constexpr int kTries = 20;
  constexpr timespec kMoment = {0, 1000};
  bool stays = false;
  for (int i = 0; i < kTries && !stays; ++i) {
    SetSwitchMark();
    stays = HoldsSwitchMark();
  }
  if (!stays) return false;
  for (int i = 0; i < kTries; ++i) {
    SetSwitchMark();
    if (RawSyscall(SYS_nanosleep, &kMoment, nullptr) != 0) continue;
    if (HoldsSwitchMark()) return false;
  }
  return true;
}

enum class Answer : int { kNotAsked, kYes, kNo };
std::atomic<Answer> g_answer{Answer::kNotAsked};

}  // namespace

bool SwitchMarksWork() {
  Answer answer = g_answer.load(std::memory_order_relaxed);
  if (answer == Answer::kNotAsked) {
    answer = IsRegistered() && Try() ? Answer::kYes : Answer::kNo;
    g_answer.store(answer, std::memory_order_relaxed);
  }
  return answer == Answer::kYes;
}

void SetSwitchMark() {
  Area()->sequence.store(reinterpret_cast<uint64_t>(&g_mark), std::memory_order_relaxed);
}

bool HoldsSwitchMark() {
  return Area()->sequence.load(std::memory_order_relaxed) == reinterpret_cast<uint64_t>(&g_mark);
}

}  // namespace coz
