// A server of half the threads, each with its own epoll descriptor and one connection. Another
// process loads it with the other half as clients over TCP.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <list>

#include "bench/accuracy/workload.h"

namespace {

// Makes a listening socket on the loopback device. Its address goes to `address`.
int Listen(int clients, sockaddr_in* address) {
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  *address = {};
  address->sin_family = AF_INET;
  address->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(*address);
  if (bind(listener, reinterpret_cast<sockaddr*>(address), length) != 0 ||
      listen(listener, clients) != 0 ||
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

// The load generator, on the CPUs after the server's. It ends when the server closes the
// connections.
[[noreturn]] void RunClients(int threads, const sockaddr_in& server, uint64_t steps) {
  std::list<workload::Thread> clients;
  for (int i = 0; i < threads; ++i) {
    clients.emplace_back(threads + i, [&] { Ask(server, steps); });
  }
  for (workload::Thread& client : clients) client.join();
  _exit(0);
}

}  // namespace

int main(int argc, char** argv) {
  workload::Program program(argc, argv);
  const uint64_t serve = program.Steps("serve", 60);
  const uint64_t ask = program.Steps("ask", 20);
  const int workers = std::max(1, program.Threads() / 2);
  sockaddr_in address;
  const int listener = Listen(workers, &address);
  if (listener < 0) return 2;
  const pid_t clients = fork();
  if (clients == 0) RunClients(workers, address, ask);
  program.Start();
  std::list<workload::Thread> threads;
  for (int i = 0; i < workers; ++i) {
    const int connection = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    SendAtOnce(connection);
    threads.emplace_back(i, [&, connection] {
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
