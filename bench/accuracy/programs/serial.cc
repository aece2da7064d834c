// One thread does two kinds of work in turn. The effect of each is its share of the time.
#include "bench/accuracy/workload.h"

int main(int argc, char** argv) {
  workload::Program program(argc, argv);
  const uint64_t parse = program.Steps("parse", 700);
  const uint64_t print = program.Steps("print", 300);
  workload::UseCpu(0);
  program.Start();
  uint64_t x = 1;
  while (program.Running()) {
    WORK(x, parse);  // LINE(parse)
    WORK(x, print);  // LINE(print)
    VISIT("items");
  }
  workload::Keep(x);
  return program.Finish();
}
