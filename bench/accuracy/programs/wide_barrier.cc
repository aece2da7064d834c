// All threads meet at a barrier each round. One of them has more work than the others.
#include <pthread.h>

#include <atomic>
#include <list>

#include "bench/accuracy/workload.h"

int main(int argc, char** argv) {
  workload::Program program(argc, argv);
  const uint64_t heavy = program.Steps("heavy", 1000);
  const uint64_t light = program.Steps("light", 700);
  pthread_barrier_t barrier;
  pthread_barrier_init(&barrier, nullptr, static_cast<unsigned>(program.Threads()));
  std::atomic<bool> stop{false};
  program.Start();
  std::list<workload::Thread> helpers;
  for (int i = 1; i < program.Threads(); ++i) {
    helpers.emplace_back(i, [&] {
      uint64_t x = 1;
      while (!stop) {
        WORK(x, light);  // LINE(light)
        pthread_barrier_wait(&barrier);
        pthread_barrier_wait(&barrier);
      }
      workload::Keep(x);
    });
  }
  workload::UseCpu(0);
  uint64_t x = 1;
  while (!stop) {
    WORK(x, heavy);  // LINE(heavy)
    pthread_barrier_wait(&barrier);
    VISIT("rounds");
    stop = !program.Running();
    pthread_barrier_wait(&barrier);
  }
  for (workload::Thread& helper : helpers) helper.join();
  workload::Keep(x);
  return program.Finish();
}
