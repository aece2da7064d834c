// Measures what a pause costs a thread beyond its length. The same work runs without pauses and
// with a pause after each part, in turn.
//
//   ./bazelw run //bench/sync:pause_cost -- [WORK_US=250] [PAUSE_US=187] [ROUNDS=7]
//
// Nothing samples the thread; the cost of sampling comes on top. Prints medians over the rounds,
// with the smallest and the largest figure.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "bench/median.h"
#include "coz/base/clock.h"
#include "coz/sync/interpose/pause.h"

namespace coz {
namespace {

constexpr uint64_t kNsPerUs = 1000;
constexpr int kParts = 800;

uint64_t Work(uint64_t x, uint64_t steps) {
  for (uint64_t i = 0; i < steps; ++i) {
    x = x * 6364136223846793005u + 1442695040888963407u;
    asm volatile("" : "+r"(x));
  }
  return x;
}

uint64_t StepsFor(uint64_t ns) {
  constexpr uint64_t kSteps = 1 << 20;
  uint64_t shortest_ns = ~uint64_t{0};
  for (int i = 0; i < 20; ++i) {
    const uint64_t start_ns = MonotonicNowNs();
    Work(1, kSteps);
    shortest_ns = std::min(shortest_ns, MonotonicNowNs() - start_ns);
  }
  return kSteps * ns / shortest_ns;
}

struct Times {
  double work_us = 0;       // per part: all time less the pauses, which PauseFor measures
  double overslept_us = 0;  // per pause
};

Times Run(uint64_t steps, uint64_t pause_ns) {
  uint64_t paused_ns = 0;
  const uint64_t start_ns = MonotonicNowNs();
  for (int i = 0; i < kParts; ++i) {
    Work(1, steps);
    if (pause_ns != 0) paused_ns += interpose::PauseFor(pause_ns);
  }
  const uint64_t worked_ns = MonotonicNowNs() - start_ns - paused_ns;
  return {static_cast<double>(worked_ns) / kParts / kNsPerUs,
          (static_cast<double>(paused_ns) / kParts - static_cast<double>(pause_ns)) / kNsPerUs};
}

void Print(const char* what, const std::vector<double>& us) {
  const auto [least, most] = std::minmax_element(us.begin(), us.end());
  std::printf("%-42s %8.1f us [%.1f, %.1f]\n", what, Median(us), *least, *most);
}

uint64_t Argument(int argc, char** argv, int index, uint64_t otherwise) {
  return argc > index ? std::strtoull(argv[index], nullptr, 10) : otherwise;
}

int Report(int argc, char** argv) {
  const uint64_t steps = StepsFor(Argument(argc, argv, 1, 250) * kNsPerUs);
  const uint64_t pause_ns = Argument(argc, argv, 2, 187) * kNsPerUs;
  const uint64_t rounds = std::max<uint64_t>(1, Argument(argc, argv, 3, 7));
  std::vector<double> alone;
  std::vector<double> paused;
  std::vector<double> beyond;
  std::vector<double> overslept;
  for (uint64_t i = 0; i < rounds; ++i) {
    // In turn, and each comes first equally often, because the machine's speed drifts.
    const Times first = Run(steps, i % 2 == 0 ? 0 : pause_ns);
    const Times second = Run(steps, i % 2 == 0 ? pause_ns : 0);
    const Times& without = i % 2 == 0 ? first : second;
    const Times& with = i % 2 == 0 ? second : first;
    alone.push_back(without.work_us);
    paused.push_back(with.work_us);
    beyond.push_back(with.work_us - without.work_us);
    overslept.push_back(with.overslept_us);
  }
  Print("a part of the work, no pauses", alone);
  Print("the same between pauses, less the pauses", paused);
  Print("a pause's cost beyond its length", beyond);
  Print("slept too long by a pause (is served)", overslept);
  return 0;
}

}  // namespace
}  // namespace coz

int main(int argc, char** argv) { return coz::Report(argc, argv); }
