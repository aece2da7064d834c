// States from which displaced instructions are run: registers hold addresses of an arena whose
// words are addresses of it too, so that most accesses, and those by what they load, find memory.
//
// Shape    a state for each seed; some registers hold small numbers, and flags vary
// Units    addresses of this process and of children forked from it
// Errors   none
// Threads  compatible
// Signals  none
// Source   none
#ifndef COZ_BENCH_PATCH_START_STATE_H_
#define COZ_BENCH_PATCH_START_STATE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "bench/patch/register_puppet.h"

namespace coz::bench {

inline constexpr uint64_t kRedZoneBytes = 128;

// Memory that this process and its children share, but for one word beside it: the counter.
class Arena {
 public:
  static constexpr size_t kBytes = 1 << 18;
  Arena();

  void Refill();
  std::vector<uint8_t> Contents() const;
  const std::vector<uint8_t>& pristine() const { return pristine_; }
  // No register but rsp leads there, so that nothing reads what a stub leaves below it.
  uint64_t stack() const { return address() + kBytes / 4 * 3; }
  uint64_t address() const { return reinterpret_cast<uint64_t>(memory_); }
  // Where thread-local variables are. The word at counter_offset leads to the counter.
  uint64_t fs_base() const { return address() + kBytes / 4; }
  int32_t counter_offset() const { return kBytes / 4 * 3 - 8; }
  uint64_t* counter() { return reinterpret_cast<uint64_t*>(memory_ + kBytes); }

 private:
  uint8_t* memory_;
  std::vector<uint8_t> pristine_;
};

// What an instruction asks of the state, so that it does not only fault.
struct Wishes {
  std::vector<uint8_t> small;  // registers that have to hold small numbers, as below
  bool one_round = false;      // of a string instruction: rcx is 1
};

// The general registers in the order of their numbers in instructions; 4 is rsp.
unsigned long long* GeneralRegister(user_regs_struct* registers, int number);

MachineState StartState(const MachineState& first, const Arena& arena, uint64_t seed, bool is_entry,
                        const Wishes& wishes);

}  // namespace coz::bench

#endif  // COZ_BENCH_PATCH_START_STATE_H_
