// A line that helps until it overruns what comes after it. overload [SECONDS [PERCENT]]
//
// A receiver needs 4 ms for a frame and puts it into a ring of four; a frame that finds the ring
// full is dropped at no cost. A server takes all that the ring holds, looks at each frame for 0.4
// ms, answers the newest for 1.6 ms and forgets the others. So it is busy half of the time, and as
// frames come faster it first answers more of them, and then spends ever more of its time on
// looking at frames that it will not answer (receive livelock):
//
//   Receive faster      as much faster up to 50 %; then less, down to 20 % faster from 80 % on
//   Look, Answer faster nothing: the server waits for frames
//
// PERCENT makes Receive really so much faster, to see for yourself.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <utility>

#include "coz/runtime/coz.h"
#include "examples/work.h"

namespace {

constexpr int kRingFrames = 4;

std::mutex ring_lock;
std::condition_variable frames_came;
int frames = 0;  // in the ring
std::atomic<bool> done{false};

uint64_t Receive(uint64_t x, uint64_t steps) {
  EXAMPLE_WORK(x, steps);
  return x;
}

uint64_t Look(uint64_t x, uint64_t steps) {
  EXAMPLE_WORK(x, steps);
  return x;
}

uint64_t Answer(uint64_t x, uint64_t steps) {
  EXAMPLE_WORK(x, steps);
  return x;
}

void ReceiveFrames(uint64_t steps) {
  UseCpu(1);
  uint64_t x = 1;
  while (!done) {
    x = Receive(x, steps);
    const std::lock_guard<std::mutex> lock(ring_lock);
    frames = std::min(frames + 1, kRingFrames);
    frames_came.notify_one();
  }
  volatile uint64_t sink = x;
  (void)sink;
}

int TakeFrames() {
  std::unique_lock<std::mutex> lock(ring_lock);
  frames_came.wait(lock, [] { return frames > 0; });
  return std::exchange(frames, 0);
}

}  // namespace

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? atof(argv[1]) : 20;
  const double faster = argc > 2 ? std::clamp(atof(argv[2]) / 100, 0.0, 1.0) : 0;
  const uint64_t ms = StepsPerMs();
  std::thread receiver(ReceiveFrames,
                       static_cast<uint64_t>(4 * static_cast<double>(ms) * (1 - faster)));
  UseCpu(0);
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  uint64_t x = 1;
  uint64_t answered = 0;
  while (std::chrono::steady_clock::now() < end) {
    for (int taken = TakeFrames(); taken > 0; --taken) x = Look(x, ms * 4 / 10);
    x = Answer(x, ms * 16 / 10);
    ++answered;
    COZ_PROGRESS_NAMED("answers");
  }
  done = true;
  receiver.join();
  volatile uint64_t sink = x;
  (void)sink;
  printf("%llu answers, %.1f a second\n", static_cast<unsigned long long>(answered),
         static_cast<double>(answered) / seconds);
  return 0;
}
