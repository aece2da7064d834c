#include "bench/accuracy/contention.h"

#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <vector>

#include "bench/accuracy/workload.h"
#include "bench/median.h"

namespace coz::accuracy {
namespace {

enum class Neighbour { kIdle, kBusy, kGone };

void BeNeighbour(const std::atomic<Neighbour>& wanted) {
  uint64_t x = 1;
  while (true) {
    switch (wanted.load(std::memory_order_relaxed)) {
      case Neighbour::kIdle:
        workload::SleepUs(200);
        break;
      case Neighbour::kBusy:
        WORK(x, 10000);
        workload::Keep(x);
        break;
      case Neighbour::kGone:
        return;
    }
  }
}

double TimeOfWorkNs(uint64_t steps) {
  uint64_t x = 1;
  const uint64_t start_ns = workload::NowNs();
  WORK(x, steps);
  workload::Keep(x);
  return static_cast<double>(workload::NowNs() - start_ns);
}

}  // namespace

double SlowdownBesideWork(double steps_per_us) {
  constexpr int kTries = 25;
  constexpr uint64_t kSettleUs = 1000;
  if (sysconf(_SC_NPROCESSORS_ONLN) < 2) return 1;
  const auto steps = static_cast<uint64_t>(3000 * steps_per_us);
  std::atomic<Neighbour> wanted{Neighbour::kIdle};
  std::vector<double> ratios;
  workload::Thread neighbour(1, [&] { BeNeighbour(wanted); });
  workload::Thread worker(0, [&] {
    for (int i = 0; i < kTries; ++i) {
      wanted = Neighbour::kBusy;
      workload::SleepUs(kSettleUs);
      const double beside_ns = TimeOfWorkNs(steps);
      wanted = Neighbour::kIdle;
      workload::SleepUs(kSettleUs);
      ratios.push_back(beside_ns / TimeOfWorkNs(steps));
    }
  });
  worker.join();
  wanted = Neighbour::kGone;
  neighbour.join();
  return Median(ratios);
}

}  // namespace coz::accuracy
