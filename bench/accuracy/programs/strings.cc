// Nearly all time is in libc's strlen and memcpy of a text. The lines are those of the callers.
#include <cstring>
#include <string>

#include "bench/accuracy/workload.h"

// The compiler may not join or drop calls across it.
#define OPAQUE() asm volatile("" : : : "memory")

int main(int argc, char** argv) {
  workload::Program program(argc, argv);
  const uint64_t scans = program.Times("scan", 400);
  const uint64_t copies = program.Times("copy", 200);
  workload::UseCpu(0);
  const std::string text(100000, 'a');
  std::string copy(text.size(), ' ');
  const char* volatile source = text.c_str();
  size_t sum = 0;
  program.Start();
  while (program.Running()) {
    for (uint64_t i = 0; i < scans; ++i) sum += strlen(source);  // LINE(scan)
    // clang-format off
    for (uint64_t i = 0; i < copies; ++i) { memcpy(copy.data(), source, copy.size()); OPAQUE(); }  // LINE(copy)
    // clang-format on
    VISIT("texts");
  }
  workload::Keep(sum);
  return program.Finish();
}
