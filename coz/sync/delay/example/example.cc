// Keeps two threads' ledgers by hand: a sample imposes delay, a pause pays it, a wait is credited.
// Prints the ledgers after each step. A real caller reads the clock and sleeps.
#include <cstdint>
#include <cstdio>

#include "coz/sync/delay/delay_ledger.h"

namespace {

using coz::delay::GlobalLedger;
using coz::delay::ThreadLedger;

constexpr uint64_t kNsPerUs = 1000;
// A sampling period of 1 ms, in a line that is sped up by half.
constexpr uint64_t kDelayPerSampleNs = 500 * kNsPerUs;

// A real one is in memory that all processes of a run share. It starts as zeros.
GlobalLedger global;
ThreadLedger worker;  // runs the line
ThreadLedger waiter;

unsigned long long Us(uint64_t ns) { return ns / kNsPerUs; }

void Print(const char* step) {
  printf("%-28s  global %4llu  worker %4llu  waiter %4llu, owes %3llu\n", step,
         Us(global.global_delay_ns), Us(worker.local_delay_ns), Us(waiter.local_delay_ns),
         Us(coz::delay::OwedDelay(global, waiter)));
}

}  // namespace

int main() {
  coz::delay::ImposeDelay(global, worker, kDelayPerSampleNs);
  Print("worker is sampled");

  const uint64_t owed_ns = coz::delay::OwedDelay(global, waiter);
  coz::delay::RecordPause(waiter, owed_ns, owed_ns + 20 * kNsPerUs);
  Print("waiter pauses 20 us too long");

  const coz::delay::Wait wait = coz::delay::BeginWait(waiter, 1000 * kNsPerUs);
  coz::delay::ImposeDelay(global, worker, kDelayPerSampleNs);
  Print("worker is sampled meanwhile");

  // The waiter was blocked for 2 ms. That is longer than what it owes, so the wait pays for all.
  coz::delay::EndWaitCredited(global, waiter, wait, 3000 * kNsPerUs, worker.local_delay_ns);
  Print("worker wakes waiter");

  printf("waiter: paused %llu, credited %llu\n", Us(waiter.paused_ns), Us(waiter.credited_ns));
  return 0;
}
