// One of two threads sleeps before it works. They meet at a barrier each round.
#include <pthread.h>
#include <time.h>

#include <atomic>

#include "bench/accuracy/workload.h"

int main(int argc, char** argv) {
  workload::Program program(argc, argv);
  const timespec nap = {0, static_cast<long>(1000 * program.Times("nap", 2000))};
  const uint64_t after = program.OtherSteps(500);
  const uint64_t beside = program.OtherSteps(1500);
  pthread_barrier_t barrier;
  pthread_barrier_init(&barrier, nullptr, 2);
  std::atomic<bool> stop{false};
  program.Start();
  workload::Thread other(1, [&] {
    uint64_t x = 1;
    while (!stop) {
      WORK(x, beside);
      pthread_barrier_wait(&barrier);
      pthread_barrier_wait(&barrier);
    }
    workload::Keep(x);
  });
  workload::UseCpu(0);
  uint64_t x = 1;
  while (!stop) {
    nanosleep(&nap, nullptr);  // LINE(nap)
    WORK(x, after);
    pthread_barrier_wait(&barrier);
    VISIT("rounds");
    stop = !program.Running();
    pthread_barrier_wait(&barrier);
  }
  other.join();
  workload::Keep(x);
  return program.Finish();
}
