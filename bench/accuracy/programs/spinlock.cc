// Two threads contend for a pthread spin lock.
#include <pthread.h>

#include "bench/accuracy/workload.h"

int main(int argc, char** argv) {
  workload::Program program(argc, argv);
  const uint64_t inside = program.Steps("inside", 600);
  const uint64_t outside = program.Steps("outside", 400);
  pthread_spinlock_t lock;
  pthread_spin_init(&lock, PTHREAD_PROCESS_PRIVATE);
  uint64_t shared = 1;
  const auto loop = [&] {
    uint64_t x = 1;
    while (program.Running()) {
      pthread_spin_lock(&lock);
      WORK(shared, inside);  // LINE(inside)
      pthread_spin_unlock(&lock);
      WORK(x, outside);  // LINE(outside)
      VISIT("items");
    }
    workload::Keep(x);
  };
  program.Start();
  workload::Thread first(0, loop);
  workload::Thread second(1, loop);
  first.join();
  second.join();
  return program.Finish();
}
