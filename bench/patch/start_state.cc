#include "bench/patch/start_state.h"

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <random>

namespace coz::bench {
namespace {

constexpr size_t kPageBytes = 4096;
constexpr size_t kLineBytes = 64;
constexpr uint64_t kMiddle = Arena::kBytes / 2;
constexpr uint64_t kArithmeticFlags = 0x8d5;  // carry, parity, adjust, zero, sign, overflow
constexpr uint64_t kOtherFlags = 0x202;       // interrupts, and the one that is always set
constexpr int kRcx = 1;

// Of XSAVE's area: two registers of 128 bits and more.
constexpr size_t kXmmBegin = 160;
constexpr size_t kXmmBytes = 256;  // 16 registers

}  // namespace

Arena::Arena()
    : memory_(static_cast<uint8_t*>(mmap(nullptr, kBytes + kPageBytes, PROT_READ | PROT_WRITE,
                                         MAP_SHARED | MAP_ANONYMOUS, -1, 0))),
      pristine_(kBytes) {
  if (memory_ == MAP_FAILED) abort();
  std::mt19937_64 random(1);
  for (size_t at = 0; at < kBytes; at += sizeof(uint64_t)) {
    const uint64_t word = address() + kMiddle + (random() % 256) * kLineBytes;
    memcpy(&pristine_[at], &word, sizeof(word));
  }
  const auto counter_at = reinterpret_cast<uint64_t>(counter());
  memcpy(&pristine_[kBytes - sizeof(uint64_t)], &counter_at, sizeof(counter_at));
}

void Arena::Refill() {
  memcpy(memory_, pristine_.data(), kBytes);
  *counter() = 0;
}

std::vector<uint8_t> Arena::Contents() const { return {memory_, memory_ + kBytes}; }

unsigned long long* GeneralRegister(user_regs_struct* registers, int number) {
  unsigned long long* const all[] = {
      &registers->rax, &registers->rcx, &registers->rdx, &registers->rbx,
      &registers->rsp, &registers->rbp, &registers->rsi, &registers->rdi,
      &registers->r8,  &registers->r9,  &registers->r10, &registers->r11,
      &registers->r12, &registers->r13, &registers->r14, &registers->r15};
  return all[number];
}

MachineState StartState(const MachineState& first, const Arena& arena, uint64_t seed, bool is_entry,
                        const Wishes& wishes) {
  constexpr int kRegisters = 16;
  constexpr uint64_t kStackAlignment = 16;
  std::mt19937_64 random(seed);
  MachineState state = first;
  for (int i = 0; i < kRegisters; ++i) {
    const bool is_small = random() % 8 == 0;
    *GeneralRegister(&state.general, i) =
        is_small ? random() % 256 : arena.address() + kMiddle + (random() % 256) * kLineBytes;
  }
  for (const uint8_t number : wishes.small) {
    *GeneralRegister(&state.general, number) = random() % 16;
  }
  if (wishes.one_round) *GeneralRegister(&state.general, kRcx) = 1;
  // A call has pushed its return address.
  state.general.rsp = arena.stack() - (is_entry ? kStackAlignment / 2 : 0);
  state.general.fs_base = arena.fs_base();
  state.general.eflags = kOtherFlags | (random() & kArithmeticFlags);
  state.general.orig_rax = ~0ULL;  // no system call is to be made again
  for (size_t at = 0; at < kXmmBytes; at += sizeof(uint32_t)) {
    const auto number = static_cast<float>(random() % 1000);
    memcpy(&state.vector[kXmmBegin + at], &number, sizeof(number));
  }
  return state;
}

}  // namespace coz::bench
