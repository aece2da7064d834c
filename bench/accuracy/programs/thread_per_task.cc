// Each task has its own thread, which is never joined. One task runs while the next is prepared.
#include <semaphore.h>

#include "bench/accuracy/workload.h"

int main(int argc, char** argv) {
  workload::Program program(argc, argv);
  const uint64_t task = program.Steps("task", 800);
  const uint64_t prepare = program.Steps("prepare", 500);
  sem_t free_places;
  sem_init(&free_places, 0, 1);
  workload::UseCpu(0);
  program.Start();
  uint64_t x = 1;
  while (program.Running()) {
    WORK(x, prepare);  // LINE(prepare)
    sem_wait(&free_places);
    workload::Thread(1, [&, y = x]() mutable {
      WORK(y, task);  // LINE(task)
      workload::Keep(y);
      VISIT("tasks");
      sem_post(&free_places);
    }).detach();
  }
  sem_wait(&free_places);
  workload::Keep(x);
  return program.Finish();
}
