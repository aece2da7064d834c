// Five worker processes on two CPUs get tasks over sockets from the process that makes the tasks.
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>

#include "bench/accuracy/workload.h"

namespace {

constexpr int kWorkers = 5;

[[noreturn]] void Work(int socket, uint64_t steps) {
  uint64_t x = 1;
  while (recv(socket, &x, sizeof(x), 0) == sizeof(x)) {
    WORK(x, steps);  // LINE(work)
    if (send(socket, &x, sizeof(x), MSG_NOSIGNAL) != sizeof(x)) break;
  }
  workload::Keep(x);
  _exit(0);
}

}  // namespace

int main(int argc, char** argv) {
  workload::Program program(argc, argv);
  const uint64_t make = program.Steps("make", 300);
  const uint64_t work = program.Steps("work", 800);
  workload::ShareCpus(2);
  std::array<pollfd, kWorkers> workers;
  for (int i = 0; i < kWorkers; ++i) {
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0) return 2;
    if (fork() == 0) {
      close(pair[0]);
      for (int before = 0; before < i; ++before) close(workers[before].fd);
      Work(pair[1], work);
    }
    close(pair[1]);
    workers[i] = {pair[0], POLLIN, 0};
  }
  program.Start();
  uint64_t x = 1;
  for (const pollfd& worker : workers) {
    if (send(worker.fd, &x, sizeof(x), MSG_NOSIGNAL) != sizeof(x)) return 2;
  }
  while (program.Running()) {
    WORK(x, make);  // LINE(make)
    if (poll(workers.data(), workers.size(), -1) < 1) return 2;
    for (pollfd& worker : workers) {
      if ((worker.revents & POLLIN) == 0) continue;
      // One task per turn. Other workers that are ready are still ready at the next poll.
      uint64_t done = 0;
      if (recv(worker.fd, &done, sizeof(done), 0) != sizeof(done)) return 2;
      VISIT("tasks");
      if (send(worker.fd, &x, sizeof(x), MSG_NOSIGNAL) != sizeof(x)) return 2;
      break;
    }
  }
  for (const pollfd& worker : workers) close(worker.fd);
  while (wait(nullptr) > 0) {
  }
  workload::Keep(x);
  return program.Finish();
}
