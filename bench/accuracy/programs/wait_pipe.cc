// One thread asks a process of the outside and waits for its answer through a FIFO. Another one
// works on what it passes on.
#include <fcntl.h>
#include <semaphore.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <string>

#include "bench/accuracy/programs/outside_peer.h"
#include "bench/accuracy/workload.h"

namespace {

// Both ends of a FIFO in the file system, which has no name any more.
int OpenFifo() {
  const char* folder = getenv("TEST_TMPDIR");
  std::string path = std::string(folder != nullptr ? folder : "/tmp") + "/coz-fifo-XXXXXX";
  if (mkdtemp(path.data()) == nullptr) return -1;
  const std::string fifo = path + "/fifo";
  const int fd = mkfifo(fifo.c_str(), 0600) == 0 ? open(fifo.c_str(), O_RDWR) : -1;
  unlink(fifo.c_str());
  rmdir(path.c_str());
  return fd;
}

}  // namespace

int main(int argc, char** argv) {
  workload::Program program(argc, argv);
  const uint64_t delay_us = program.Times("answer", 1200);
  const uint64_t produce = program.OtherSteps(300);
  const uint64_t consume = program.OtherSteps(900);
  int requests[2];
  const int answers = OpenFifo();
  if (answers < 0 || pipe(requests) != 0) return 2;
  outside::StartPeer(delay_us, requests[0], dup(answers), {requests[1], answers});
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
    char byte = 1;
    if (write(requests[1], &byte, 1) != 1) return 2;
    if (read(answers, &byte, 1) != 1) return 2;  // LINE(answer)
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
