// Three stages on two CPUs, with two threads each and bounded queues between them.
#include <list>

#include "bench/accuracy/programs/bounded_queue.h"
#include "bench/accuracy/workload.h"

int main(int argc, char** argv) {
  constexpr int kThreads = 2;  // per stage
  workload::Program program(argc, argv);
  const uint64_t read_steps = program.Steps("read", 500);
  const uint64_t change_steps = program.Steps("change", 900);
  const uint64_t write_steps = program.Steps("write", 400);
  workload::BoundedQueue changes(8);
  workload::BoundedQueue writes(8);
  workload::ShareCpus(2);
  program.Start();
  std::list<workload::Thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back(workload::kAnyCpu, [&] {
      uint64_t x = 1;
      while (program.Running()) {
        WORK(x, read_steps);  // LINE(read)
        changes.Put(x | 1);
      }
      changes.Put(0);
    });
    threads.emplace_back(workload::kAnyCpu, [&] {
      while (uint64_t x = changes.Take()) {
        WORK(x, change_steps);  // LINE(change)
        writes.Put(x | 1);
      }
      writes.Put(0);
    });
    threads.emplace_back(workload::kAnyCpu, [&] {
      while (uint64_t x = writes.Take()) {
        WORK(x, write_steps);  // LINE(write)
        workload::Keep(x);
        VISIT("items");
      }
    });
  }
  for (workload::Thread& thread : threads) thread.join();
  return program.Finish();
}
