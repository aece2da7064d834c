// Rounds much shorter than the sampling period.
#include <condition_variable>
#include <mutex>

#include "bench/accuracy/programs/rounds.h"

namespace {

class Gate {
 public:
  void Post() {
    const std::lock_guard<std::mutex> lock(mutex_);
    open_ = true;
    opened_.notify_one();
  }
  void Wait() {
    std::unique_lock<std::mutex> lock(mutex_);
    opened_.wait(lock, [this] { return open_; });
    open_ = false;
  }

 private:
  std::mutex mutex_;
  std::condition_variable opened_;
  bool open_ = false;
};

}  // namespace

int main(int argc, char** argv) { return rounds::RunRounds<Gate>(argc, argv, 100, 150); }
