// One thread writes and waits until the data are on the disk, up to four times an item. Another one
// works on what it passes on.
#include <fcntl.h>
#include <semaphore.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <string>

#include "bench/accuracy/workload.h"

namespace {

// On a disk where the machine has one, because /tmp may be in memory.
int TemporaryFile() {
  const char* folder = getenv("TEST_TMPDIR");
  std::string path = std::string(folder != nullptr ? folder : "/var/tmp") + "/coz-accuracy-XXXXXX";
  const int fd = mkstemp(path.data());
  unlink(path.c_str());
  return fd;
}

}  // namespace

int main(int argc, char** argv) {
  workload::Program program(argc, argv);
  const uint64_t syncs = program.Times("sync", 4);
  const uint64_t produce = program.OtherSteps(300);
  const uint64_t consume = program.OtherSteps(900);
  const int fd = TemporaryFile();
  char page[4096] = "";
  if (fd < 0 || pwrite(fd, page, sizeof(page), 0) != sizeof(page)) return 2;
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
      page[0] = static_cast<char>(page[0] + 1);
      if (pwrite(fd, page, sizeof(page), 0) != sizeof(page)) return 2;
      if (fdatasync(fd) != 0) return 2;  // LINE(sync)
    }
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
