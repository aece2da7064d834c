// Programs whose answers are known, for `coz selftest`. known_answers SHAPE SECONDS
//
//   alone      one thread: First takes 0.7 ms of an item, Second 0.3. Each is worth its share: if
//              it is 50 % faster, First saves 35 %, Second 15 %
//   pipeline   one thread decodes (0.6 ms) and checks (0.4) an item, another compresses it (0.7); a
//              short queue lies between them. 50 % faster: Decode saves 30 %, Check 20 %, Compress
//              nothing
//   rounds     two threads meet after each round, Long after 4 ms, Short after 2.5. 50 % faster:
//              Long saves 37.5 %, since Short is then the later one; Short nothing
#include <pthread.h>
#include <semaphore.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "coz/runtime/coz.h"
#include "examples/work.h"

namespace {

using Clock = std::chrono::steady_clock;

// Work of the same length, but different: GCC makes functions that do the same one function.
#define KNOWN_WORK(name, addend)                                        \
  __attribute__((noinline)) uint64_t name(uint64_t x, uint64_t steps) { \
    x += (addend);                                                      \
    EXAMPLE_WORK(x, steps);                                             \
    return x;                                                           \
  }
KNOWN_WORK(First, 1)
KNOWN_WORK(Second, 2)
KNOWN_WORK(Decode, 3)
KNOWN_WORK(Check, 4)
KNOWN_WORK(Compress, 5)
KNOWN_WORK(Long, 6)
KNOWN_WORK(Short, 7)

std::atomic<uint64_t> result{0};

void Alone(uint64_t ms, Clock::time_point end) {
  uint64_t x = 1;
  while (Clock::now() < end) {
    x = Second(First(x, ms * 7 / 10), ms * 3 / 10);
    COZ_PROGRESS_NAMED("items");
  }
  result = x;
}

void Pipeline(uint64_t ms, Clock::time_point end) {
  constexpr unsigned kPlaces = 8;
  sem_t free_places;
  sem_t items;
  sem_init(&free_places, 0, kPlaces);
  sem_init(&items, 0, 0);
  std::atomic<bool> done{false};
  std::thread compressor([&] {
    UseCpu(1);
    uint64_t x = 1;
    while (true) {
      sem_wait(&items);
      if (done) break;
      x = Compress(x, ms * 7 / 10);
      sem_post(&free_places);
      COZ_PROGRESS_NAMED("items");
    }
    result += x;
  });
  UseCpu(0);
  uint64_t x = 1;
  while (Clock::now() < end) {
    x = Check(Decode(x, ms * 6 / 10), ms * 4 / 10);
    sem_wait(&free_places);
    sem_post(&items);
  }
  done = true;
  sem_post(&items);
  compressor.join();
  result += x;
}

void Rounds(uint64_t ms, Clock::time_point end) {
  pthread_barrier_t meeting;
  pthread_barrier_init(&meeting, nullptr, 2);
  std::atomic<bool> done{false};
  std::thread other([&] {
    UseCpu(1);
    uint64_t x = 1;
    while (!done) {
      x = Short(x, ms * 5 / 2);
      pthread_barrier_wait(&meeting);
    }
    result += x;
  });
  UseCpu(0);
  uint64_t x = 1;
  while (!done) {
    x = Long(x, 4 * ms);
    // Before they meet, so that the other sees it.
    if (Clock::now() >= end) done = true;
    pthread_barrier_wait(&meeting);
    COZ_PROGRESS_NAMED("items");
  }
  other.join();
  result += x;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: known_answers alone|pipeline|rounds SECONDS\n");
    return 2;
  }
  const uint64_t ms = StepsPerMs();
  const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                      std::chrono::duration<double>(atof(argv[2])));
  if (strcmp(argv[1], "alone") == 0) Alone(ms, end);
  if (strcmp(argv[1], "pipeline") == 0) Pipeline(ms, end);
  if (strcmp(argv[1], "rounds") == 0) Rounds(ms, end);
  return 0;
}
