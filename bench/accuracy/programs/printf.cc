// Formatting in libc, in turn with the program's own work.
#include <cstdio>

#include "bench/accuracy/workload.h"

int main(int argc, char** argv) {
  workload::Program program(argc, argv);
  const uint64_t lines = program.Times("format", 2000);
  const uint64_t compute = program.Steps("compute", 500);
  workload::UseCpu(0);
  FILE* const null = fopen("/dev/null", "w");
  if (null == nullptr) return 2;
  program.Start();
  uint64_t x = 1;
  while (program.Running()) {
    for (uint64_t i = 0; i < lines; ++i)
      fprintf(null, "%d %s %.3f\n", 42, "text", 3.14);  // LINE(format)
    WORK(x, compute);                                   // LINE(compute)
    VISIT("pages");
  }
  fclose(null);
  workload::Keep(x);
  return program.Finish();
}
