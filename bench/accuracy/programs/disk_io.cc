// One thread reads and writes a file straight on the disk, and parses. Another computes beside it.
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
  const uint64_t parse = program.Steps("parse", 1500);
  const uint64_t compute = program.Steps("compute", 1000);
  const int fd = TemporaryFile();
  char page[4096] = "";
  if (fd < 0 || pwrite(fd, page, sizeof(page), 0) != sizeof(page)) return 2;
  std::atomic<bool> stop{false};
  sem_t empty;
  sem_t full;
  sem_init(&empty, 0, 4);
  sem_init(&full, 0, 0);
  program.Start();
  workload::Thread computer(1, [&] {
    uint64_t x = 1;
    while (sem_wait(&full), !stop) {
      WORK(x, compute);  // LINE(compute)
      sem_post(&empty);
      VISIT("items");
    }
    workload::Keep(x);
  });
  workload::UseCpu(0);
  uint64_t x = 1;
  while (program.Running()) {
    if (pread(fd, page, sizeof(page), 0) != sizeof(page)) return 2;
    WORK(x, parse);  // LINE(parse)
    page[0] = static_cast<char>(x);
    if (pwrite(fd, page, sizeof(page), 0) != sizeof(page) || fdatasync(fd) != 0) return 2;
    sem_wait(&empty);
    sem_post(&full);
  }
  stop = true;
  sem_post(&full);
  computer.join();
  return program.Finish();
}
