// One thread asks a server of the outside over TCP and waits for its answer. Another one works on
// what it passes on.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <semaphore.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>

#include "bench/accuracy/programs/outside_peer.h"
#include "bench/accuracy/workload.h"

namespace {

// The two ends of a connection over the loopback device.
bool Connect(int ends[2]) {
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  if (bind(listener, any, length) != 0 || listen(listener, 1) != 0) return false;
  if (getsockname(listener, any, &length) != 0) return false;
  ends[0] = socket(AF_INET, SOCK_STREAM, 0);
  if (connect(ends[0], any, length) != 0) return false;
  ends[1] = accept(listener, nullptr, nullptr);
  const int at_once = 1;
  for (int i = 0; i < 2; ++i) {
    if (setsockopt(ends[i], IPPROTO_TCP, TCP_NODELAY, &at_once, sizeof(at_once)) != 0) return false;
  }
  close(listener);
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  workload::Program program(argc, argv);
  const uint64_t delay_us = program.Times("answer", 1200);
  const uint64_t produce = program.OtherSteps(300);
  const uint64_t consume = program.OtherSteps(900);
  int ends[2];
  if (!Connect(ends)) return 2;
  outside::StartPeer(delay_us, ends[1], ends[1], {ends[0], ends[0]});
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
    if (send(ends[0], &byte, 1, 0) != 1) return 2;
    if (recv(ends[0], &byte, 1, 0) != 1) return 2;  // LINE(answer)
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
