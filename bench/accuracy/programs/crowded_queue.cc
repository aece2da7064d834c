// Eight workers on two CPUs take items from a bounded queue. One thread makes the items.
#include <list>

#include "bench/accuracy/programs/bounded_queue.h"
#include "bench/accuracy/workload.h"

int main(int argc, char** argv) {
  constexpr int kWorkers = 8;
  workload::Program program(argc, argv);
  const uint64_t make = program.Steps("make", 300);
  const uint64_t work = program.Steps("work", 900);
  workload::BoundedQueue queue(16);
  workload::ShareCpus(2);
  program.Start();
  std::list<workload::Thread> workers;
  for (int i = 0; i < kWorkers; ++i) {
    workers.emplace_back(workload::kAnyCpu, [&] {
      while (uint64_t x = queue.Take()) {
        WORK(x, work);  // LINE(work)
        workload::Keep(x);
        VISIT("tasks");
      }
    });
  }
  uint64_t x = 1;
  while (program.Running()) {
    WORK(x, make);  // LINE(make)
    queue.Put(x | 1);
  }
  for (int i = 0; i < kWorkers; ++i) queue.Put(0);
  for (workload::Thread& worker : workers) worker.join();
  workload::Keep(x);
  return program.Finish();
}
