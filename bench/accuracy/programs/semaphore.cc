// Two stages with a ring of four places between them, counted by semaphores.
#include <semaphore.h>

#include "bench/accuracy/workload.h"

int main(int argc, char** argv) {
  workload::Program program(argc, argv);
  const uint64_t produce = program.Steps("produce", 700);
  const uint64_t consume = program.Steps("consume", 1000);
  constexpr unsigned kPlaces = 4;
  uint64_t ring[kPlaces] = {};
  sem_t empty;
  sem_t full;
  sem_init(&empty, 0, kPlaces);
  sem_init(&full, 0, 0);
  program.Start();
  workload::Thread consumer(1, [&] {
    uint64_t sum = 0;
    for (unsigned i = 0;; ++i) {
      sem_wait(&full);
      uint64_t item = ring[i % kPlaces];
      sem_post(&empty);
      if (item == 0) break;
      WORK(item, consume);  // LINE(consume)
      sum ^= item;
      VISIT("items");
    }
    workload::Keep(sum);
  });
  workload::UseCpu(0);
  uint64_t x = 1;
  bool running = true;
  for (unsigned i = 0; running; ++i) {
    running = program.Running();
    WORK(x, produce);  // LINE(produce)
    sem_wait(&empty);
    ring[i % kPlaces] = running ? x | 1 : 0;
    sem_post(&full);
  }
  consumer.join();
  return program.Finish();
}
