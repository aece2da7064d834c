// Rounds of two threads on two CPUs. A third thread, of the lowest priority, always has work.
#include <pthread.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

#include "bench/accuracy/workload.h"

int main(int argc, char** argv) {
  workload::Program program(argc, argv);
  const uint64_t longer = program.Steps("longer", 4000);
  const uint64_t shorter = program.Steps("shorter", 2500);
  const uint64_t idle = program.OtherSteps(200);
  pthread_barrier_t barrier;
  pthread_barrier_init(&barrier, nullptr, 2);
  std::atomic<bool> stop{false};
  workload::ShareCpus(2);
  program.Start();
  workload::Thread background(workload::kAnyCpu, [&] {
    setpriority(PRIO_PROCESS, static_cast<id_t>(syscall(SYS_gettid)), 19);
    uint64_t x = 1;
    while (!stop) WORK(x, idle);
    workload::Keep(x);
  });
  workload::Thread other(workload::kAnyCpu, [&] {
    uint64_t x = 1;
    while (pthread_barrier_wait(&barrier), !stop) {
      WORK(x, shorter);  // LINE(shorter)
      pthread_barrier_wait(&barrier);
    }
    workload::Keep(x);
  });
  uint64_t x = 1;
  while (program.Running()) {
    pthread_barrier_wait(&barrier);
    WORK(x, longer);  // LINE(longer)
    pthread_barrier_wait(&barrier);
    VISIT("rounds");
  }
  stop = true;
  pthread_barrier_wait(&barrier);
  other.join();
  background.join();
  workload::Keep(x);
  return program.Finish();
}
