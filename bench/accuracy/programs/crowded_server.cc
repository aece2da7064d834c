// A server with four threads, each with its own epoll descriptor. Another process loads it with
// four clients over TCP. These are eight threads on two CPUs.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <list>

#include "bench/accuracy/workload.h"

namespace {

constexpr int kThreads = 4;  // of the server; there are as many clients

// Makes a listening socket on the loopback device. Its address goes to `address`.
int Listen(sockaddr_in* address) {
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  *address = {};
  address->sin_family = AF_INET;
  address->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(*address);
  if (bind(listener, reinterpret_cast<sockaddr*>(address), length) != 0 ||
      listen(listener, kThreads) != 0 ||
      getsockname(listener, reinterpret_cast<sockaddr*>(address), &length) != 0) {
    return -1;
  }
  return listener;
}

void SendAtOnce(int fd) {
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

void Ask(const sockaddr_in& server, uint64_t steps) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (connect(fd, reinterpret_cast<const sockaddr*>(&server), sizeof(server)) != 0) return;
  SendAtOnce(fd);
  uint64_t x = 1;
  do {
    WORK(x, steps);  // LINE(ask)
  } while (send(fd, &x, sizeof(x), MSG_NOSIGNAL) == sizeof(x) && recv(fd, &x, sizeof(x), 0) > 0);
  workload::Keep(x);
  close(fd);
}

// The load generator. It ends when the server closes the connections.
[[noreturn]] void RunClients(const sockaddr_in& server, uint64_t steps) {
  std::list<workload::Thread> clients;
  for (int i = 0; i < kThreads; ++i) {
    clients.emplace_back(workload::kAnyCpu, [&] { Ask(server, steps); });
  }
  for (workload::Thread& client : clients) client.join();
  _exit(0);
}

}  // namespace

int main(int argc, char** argv) {
  workload::Program program(argc, argv);
  const uint64_t serve = program.Steps("serve", 600);
  const uint64_t ask = program.Steps("ask", 250);
  workload::ShareCpus(2);
  sockaddr_in address;
  const int listener = Listen(&address);
  if (listener < 0) return 2;
  const pid_t clients = fork();
  if (clients == 0) RunClients(address, ask);
  program.Start();
  std::list<workload::Thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    const int connection = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    SendAtOnce(connection);
    threads.emplace_back(workload::kAnyCpu, [&, connection] {
      const int epoll = epoll_create1(EPOLL_CLOEXEC);
      epoll_event event = {};
      event.events = EPOLLIN;
      epoll_ctl(epoll, EPOLL_CTL_ADD, connection, &event);
      uint64_t x = 1;
      while (program.Running() && epoll_wait(epoll, &event, 1, -1) == 1) {
        if (recv(connection, &x, sizeof(x), 0) != sizeof(x)) break;
        WORK(x, serve);  // LINE(serve)
        VISIT("requests");
        if (send(connection, &x, sizeof(x), MSG_NOSIGNAL) != sizeof(x)) break;
      }
      close(connection);
      close(epoll);
    });
  }
  for (workload::Thread& thread : threads) thread.join();
  close(listener);
  waitpid(clients, nullptr, 0);
  return program.Finish();
}
