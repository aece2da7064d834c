// One thread writes and waits until the data are on the disk, twelve times an item. Another one
// works on what it passes on. A call that is left out costs its CPU time all the same, so only
// waiting gets shorter.
#include <fcntl.h>
#include <semaphore.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <string>

#include "bench/accuracy/workload.h"

namespace {

constexpr uint64_t kSyncs = 12;

// On a disk where the machine has one, because /tmp may be in memory.
int TemporaryFile() {
  const char* folder = getenv("TEST_TMPDIR");
  std::string path = std::string(folder != nullptr ? folder : "/var/tmp") + "/coz-accuracy-XXXXXX";
  const int fd = mkstemp(path.data());
  unlink(path.c_str());
  return fd;
}

uint64_t CpuNowNs() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

bool Write(int fd, char* page) {
  page[0] = static_cast<char>(page[0] + 1);
  return pwrite(fd, page, 4096, 0) == 4096;
}

// The CPU time of a write that is brought to the disk.
uint64_t CpuOfSyncNs(int fd, char* page) {
  constexpr int kTries = 200;
  const uint64_t start_ns = CpuNowNs();
  for (int i = 0; i < kTries; ++i) {
    if (!Write(fd, page) || fdatasync(fd) != 0) exit(2);
  }
  return (CpuNowNs() - start_ns) / kTries;
}

void SpendCpu(uint64_t cpu_ns) {
  const uint64_t start_ns = CpuNowNs();
  while (CpuNowNs() - start_ns < cpu_ns) {
  }
}

}  // namespace

int main(int argc, char** argv) {
  workload::Program program(argc, argv);
  const uint64_t syncs = program.Times("sync", kSyncs);
  const uint64_t produce = program.OtherSteps(300);
  const uint64_t consume = program.OtherSteps(300);
  const int fd = TemporaryFile();
  char page[4096] = "";
  if (fd < 0) return 2;
  const uint64_t cpu_ns = CpuOfSyncNs(fd, page);
  std::atomic<bool> stop{false};
  sem_t empty;
  sem_t full;
  sem_init(&empty, 0, 4);
  sem_init(&full, 0, 0);
  program.Start();
  workload::Thread consumer(1, [&] {
    uint64_t x = 1;
    while (sem_wait(&full), !stop) {
      WORK(x, consume);
      sem_post(&empty);
      VISIT("items");
    }
    workload::Keep(x);
  });
  workload::UseCpu(0);
  uint64_t x = 1;
  while (program.Running()) {
    for (uint64_t i = 0; i < syncs; ++i) {
      if (!Write(fd, page)) return 2;
      if (fdatasync(fd) != 0) return 2;  // LINE(sync)
    }
    for (uint64_t i = syncs; i < kSyncs; ++i) SpendCpu(cpu_ns);
    WORK(x, produce);
    sem_wait(&empty);
    sem_post(&full);
  }
  stop = true;
  sem_post(&full);
  consumer.join();
  workload::Keep(x);
  return program.Finish();
}
