// Lines that are active in a part of the run alone. phases [SECONDS]
//
// For 6 s of every 8 the program reads records, 1 ms each; then it indexes for 2 s, 1 ms a record.
// Every record is visited in both.
//
//   Read faster         up to 100 % while it is active: three quarters of the run
//   Index faster        up to 100 % while it is active: one quarter of the run
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "coz/runtime/coz.h"
#include "examples/work.h"

namespace {

uint64_t Read(uint64_t x, uint64_t steps) {
  EXAMPLE_WORK(x, steps);
  return x;
}

uint64_t Index(uint64_t x, uint64_t steps) {
  EXAMPLE_WORK(x, steps);
  return x;
}

}  // namespace

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? atof(argv[1]) : 32;
  const uint64_t ms = StepsPerMs();
  const auto start = std::chrono::steady_clock::now();
  uint64_t x = 1;
  uint64_t records = 0;
  while (true) {
    const std::chrono::duration<double> now = std::chrono::steady_clock::now() - start;
    if (now.count() >= seconds) break;
    const bool reading = static_cast<uint64_t>(now.count()) % 8 < 6;
    x = reading ? Read(x, ms) : Index(x, ms);
    ++records;
    COZ_PROGRESS_NAMED("records");
  }
  volatile uint64_t sink = x;
  (void)sink;
  printf("%llu records\n", static_cast<unsigned long long>(records));
  return 0;
}
