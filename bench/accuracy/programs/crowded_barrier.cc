// Four threads on two CPUs meet at a barrier each round. One of them has more work than the others.
#include <pthread.h>

#include <atomic>

#include "bench/accuracy/workload.h"

int main(int argc, char** argv) {
  workload::Program program(argc, argv);
  const uint64_t heavy = program.Steps("heavy", 5000);
  const uint64_t light = program.Steps("light", 3000);
  pthread_barrier_t barrier;
  pthread_barrier_init(&barrier, nullptr, 4);
  std::atomic<bool> stop{false};
  workload::ShareCpus(2);
  program.Start();
  const auto helper = [&] {
    uint64_t x = 1;
    while (!stop) {
      WORK(x, light);  // LINE(light)
      pthread_barrier_wait(&barrier);
      pthread_barrier_wait(&barrier);
    }
    workload::Keep(x);
  };
  workload::Thread first(workload::kAnyCpu, helper);
  workload::Thread second(workload::kAnyCpu, helper);
  workload::Thread third(workload::kAnyCpu, helper);
  uint64_t x = 1;
  while (!stop) {
    WORK(x, heavy);  // LINE(heavy)
    pthread_barrier_wait(&barrier);
    VISIT("rounds");
    stop = !program.Running();
    pthread_barrier_wait(&barrier);
  }
  first.join();
  second.join();
  third.join();
  workload::Keep(x);
  return program.Finish();
}
