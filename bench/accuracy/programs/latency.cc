// An open loop: orders arrive at random times, whether the server keeps up or not. The figure is
// the time until an order is served.
//
// The server is busy for a third of the time. At twice the load the queue depends on small changes
// of the machine's speed: eight measured truths spread by 369 points. Each run has its own
// arrivals. If all runs had the same, short runs would all measure the same accident.
#include <cmath>
#include <condition_variable>
#include <deque>
#include <mutex>

#include "bench/accuracy/workload.h"

namespace {

class Orders {
 public:
  void Push(uint64_t arrival_ns) {
    const std::lock_guard<std::mutex> lock(mutex_);
    arrivals_.push_back(arrival_ns);
    not_empty_.notify_one();
  }
  uint64_t Pop() {
    std::unique_lock<std::mutex> lock(mutex_);
    not_empty_.wait(lock, [this] { return !arrivals_.empty(); });
    const uint64_t arrival_ns = arrivals_.front();
    arrivals_.pop_front();
    return arrival_ns;
  }

 private:
  std::mutex mutex_;
  std::condition_variable not_empty_;
  std::deque<uint64_t> arrivals_;
};

}  // namespace

int main(int argc, char** argv) {
  workload::Program program(argc, argv);
  const uint64_t serve = program.Steps("serve", 500);
  const uint64_t receive = program.Steps("receive", 60);
  Orders orders;
  program.Start();
  workload::Thread server(1, [&] {
    uint64_t x = 1;
    while (const uint64_t arrival_ns = orders.Pop()) {
      WORK(x, serve);  // LINE(serve)
      workload::AddLatencyNs(workload::NowNs() - arrival_ns);
      DEPART("order");
    }
    workload::Keep(x);
  });
  workload::UseCpu(0);
  uint64_t random = workload::NowNs() * 0x9E3779B97F4A7C15u | 1;
  uint64_t x = 1;
  while (program.Running()) {
    random ^= random << 13;
    random ^= random >> 7;
    random ^= random << 17;
    const double uniform = (static_cast<double>(random >> 11) + 1) / 9007199254740993.0;
    workload::SleepUs(static_cast<uint64_t>(-1500 * std::log(uniform)));
    WORK(x, receive);  // LINE(receive)
    ARRIVE("order");
    orders.Push(workload::NowNs());
  }
  orders.Push(0);
  server.join();
  workload::Keep(x);
  return program.Finish();
}
