// One thread waits for a device with a fixed latency (a sleep) and decodes. Another thread encodes
// beside it.
#include <semaphore.h>

#include <atomic>

#include "bench/accuracy/workload.h"

int main(int argc, char** argv) {
  workload::Program program(argc, argv);
  const uint64_t decode = program.Steps("decode", 600);
  const uint64_t encode = program.Steps("encode", 700);
  std::atomic<bool> stop{false};
  sem_t empty;
  sem_t full;
  sem_init(&empty, 0, 4);
  sem_init(&full, 0, 0);
  program.Start();
  workload::Thread encoder(1, [&] {
    uint64_t x = 1;
    while (sem_wait(&full), !stop) {
      WORK(x, encode);  // LINE(encode)
      sem_post(&empty);
      VISIT("items");
    }
    workload::Keep(x);
  });
  workload::UseCpu(0);
  uint64_t x = 1;
  while (program.Running()) {
    workload::SleepUs(500);
    WORK(x, decode);  // LINE(decode)
    sem_wait(&empty);
    sem_post(&full);
  }
  stop = true;
  sem_post(&full);
  encoder.join();
  workload::Keep(x);
  return program.Finish();
}
