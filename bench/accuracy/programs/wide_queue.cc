// One thread makes tasks for all others, which are hardly faster than it.
#include <list>

#include "bench/accuracy/programs/bounded_queue.h"
#include "bench/accuracy/workload.h"

int main(int argc, char** argv) {
  workload::Program program(argc, argv);
  const int workers = program.Threads() - 1;
  const uint64_t make = program.Steps("make", 30);
  const uint64_t work = program.Steps("work", 30 * 0.95 * workers);
  workload::BoundedQueue queue(4 * static_cast<size_t>(workers));
  program.Start();
  std::list<workload::Thread> threads;
  for (int i = 0; i < workers; ++i) {
    threads.emplace_back(1 + i, [&] {
      while (uint64_t x = queue.Take()) {
        WORK(x, work);  // LINE(work)
        workload::Keep(x);
        VISIT("tasks");
      }
    });
  }
  workload::UseCpu(0);
  uint64_t x = 1;
  while (program.Running()) {
    WORK(x, make);  // LINE(make)
    queue.Put(x | 1);
  }
  for (int i = 0; i < workers; ++i) queue.Put(0);
  for (workload::Thread& thread : threads) thread.join();
  workload::Keep(x);
  return program.Finish();
}
