// Rounds of two threads that spin until the other has arrived, without the CPU's hint.
#include "bench/accuracy/programs/rounds.h"
#include "bench/accuracy/programs/spin_gate.h"

int main(int argc, char** argv) {
  using Gate = rounds::SpinGate<rounds::Hint::kNone>;
  return rounds::RunRounds<Gate>(argc, argv, 700, 1000);
}
