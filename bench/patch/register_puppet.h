// A stopped process that lends its registers: single instructions are run in it from any state, and
// nothing else ever runs in it.
//
// Shape    a child by fork, traced; so it has all that this process has mapped until then. Memory
//          that both see is mapped shared before
// Units    runtime addresses; steps are instructions
// Errors   CHECK: the machine refuses ptrace
// Threads  one: ptrace knows threads
// Signals  faults of the puppet are seen, and never delivered
// Source   ptrace(2)
#ifndef COZ_BENCH_PATCH_REGISTER_PUPPET_H_
#define COZ_BENCH_PATCH_REGISTER_PUPPET_H_

#include <sys/types.h>
#include <sys/user.h>

#include <cstdint>
#include <functional>
#include <vector>

namespace coz::bench {

struct MachineState {
  user_regs_struct general = {};
  std::vector<uint8_t> vector;  // as XSAVE has it
};

struct Stop {
  MachineState state;
  int fault_signal = 0;  // 0: it came to the end
  uint64_t fault_address = 0;
  bool is_over = true;  // false: the most steps were made before
};

class RegisterPuppet {
 public:
  RegisterPuppet();
  ~RegisterPuppet();
  RegisterPuppet(const RegisterPuppet&) = delete;
  RegisterPuppet& operator=(const RegisterPuppet&) = delete;

  // Its own at the beginning.
  const MachineState& first_state() const { return first_; }

  // From `state` on, until the instruction pointer is where `is_inside` is false.
  Stop Run(const MachineState& state, const std::function<bool(uint64_t)>& is_inside,
           int most_steps);

  // False where nothing is mapped.
  bool Read(uint64_t address, std::vector<uint8_t>* bytes) const;
  bool Write(uint64_t address, const std::vector<uint8_t>& bytes) const;

 private:
  MachineState State() const;
  void SetState(const MachineState& state) const;

  pid_t pid_;
  MachineState first_;
};

}  // namespace coz::bench

#endif  // COZ_BENCH_PATCH_REGISTER_PUPPET_H_
