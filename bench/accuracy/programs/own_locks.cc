// Two threads contend for a mutex. Both also take a lock of their own all the time, so that delay
// is imposed, and paid for, in small parts.
#include <mutex>

#include "bench/accuracy/workload.h"

namespace {

constexpr int kPartsInside = 30;
constexpr int kPartsOutside = 20;

}  // namespace

int main(int argc, char** argv) {
  workload::Program program(argc, argv);
  const uint64_t inside = program.Steps("inside", 10);
  const uint64_t outside = program.Steps("outside", 10);
  std::mutex mutex;
  uint64_t shared = 1;
  const auto loop = [&] {
    std::mutex own;
    uint64_t x = 1;
    while (program.Running()) {
      {
        const std::lock_guard<std::mutex> lock(mutex);
        for (int part = 0; part < kPartsInside; ++part) {
          const std::lock_guard<std::mutex> own_lock(own);
          WORK(shared, inside);  // LINE(inside)
        }
      }
      for (int part = 0; part < kPartsOutside; ++part) {
        const std::lock_guard<std::mutex> own_lock(own);
        WORK(x, outside);  // LINE(outside)
      }
      VISIT("items");
    }
    workload::Keep(x);
  };
  program.Start();
  workload::Thread first(0, loop);
  workload::Thread second(1, loop);
  first.join();
  second.join();
  return program.Finish();
}
