// In each round a future on each other CPU runs beside work of the thread that waits for them.
#include <future>
#include <list>
#include <utility>

#include "bench/accuracy/workload.h"

namespace {

// A task with a thread of its own.
class Future {
 public:
  // This does what std::async does, but on a CPU of its own.
  Future(int cpu, std::packaged_task<uint64_t()> task)
      : task_(std::move(task)), result_(task_.get_future()), thread_(cpu, [this] { task_(); }) {}

  uint64_t Get() {
    const uint64_t result = result_.get();
    thread_.join();
    return result;
  }

 private:
  std::packaged_task<uint64_t()> task_;
  std::future<uint64_t> result_;
  workload::Thread thread_;
};

}  // namespace

int main(int argc, char** argv) {
  workload::Program program(argc, argv);
  const uint64_t task = program.Steps("task", 800);
  const uint64_t own = program.Steps("own", 600);
  program.Start();
  workload::UseCpu(0);
  uint64_t x = 1;
  while (program.Running()) {
    std::list<Future> futures;
    for (int i = 1; i < program.Threads(); ++i) {
      futures.emplace_back(i, std::packaged_task<uint64_t()>([task, i] {
                             uint64_t y = static_cast<uint64_t>(i);
                             WORK(y, task);  // LINE(task)
                             return y;
                           }));
    }
    WORK(x, own);  // LINE(own)
    for (Future& future : futures) x ^= future.Get();
    VISIT("rounds");
  }
  workload::Keep(x);
  return program.Finish();
}
