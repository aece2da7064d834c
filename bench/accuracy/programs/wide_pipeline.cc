// Three stages with a third of the threads each, and bounded queues between them. It has at least
// three threads.
#include <algorithm>
#include <list>

#include "bench/accuracy/programs/bounded_queue.h"
#include "bench/accuracy/workload.h"

int main(int argc, char** argv) {
  workload::Program program(argc, argv);
  const int per_stage = std::max(1, program.Threads() / 3);
  const uint64_t read_steps = program.Steps("read", 200);
  const uint64_t change_steps = program.Steps("change", 260);
  const uint64_t write_steps = program.Steps("write", 150);
  workload::BoundedQueue changes(4 * static_cast<size_t>(per_stage));
  workload::BoundedQueue writes(4 * static_cast<size_t>(per_stage));
  program.Start();
  std::list<workload::Thread> threads;
  for (int i = 0; i < per_stage; ++i) {
    threads.emplace_back(3 * i, [&] {
      uint64_t x = 1;
      while (program.Running()) {
        WORK(x, read_steps);  // LINE(read)
        changes.Put(x | 1);
      }
      changes.Put(0);
    });
    threads.emplace_back(3 * i + 1, [&] {
      while (uint64_t x = changes.Take()) {
        WORK(x, change_steps);  // LINE(change)
        writes.Put(x | 1);
      }
      writes.Put(0);
    });
    threads.emplace_back(3 * i + 2, [&] {
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
