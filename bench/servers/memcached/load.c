// Asks memcached for random keys, in a closed loop on each of some connections, and prints requests
// per second. One thread serves all connections, so the load takes one CPU at most.
//
//   load PORT CONNECTIONS SECONDS KEYS       keys are key-00000000 to KEYS - 1
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { kMaxConnections = 256, kMaxAnswer = 4096, kEndSize = 5 };

static const char kEnd[] = "END\r\n";

struct connection {
  int fd;
  char tail[kEndSize]; /* the last bytes received */
};

static void fail(const char* what) {
  perror(what);
  exit(1);
}

static double now_s(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static uint64_t next_random(uint64_t* state) {
  *state ^= *state << 13;
  *state ^= *state >> 7;
  *state ^= *state << 17;
  return *state;
}

static int connect_to(int port) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  if (fd < 0) fail("load: socket");
  if (connect(fd, (struct sockaddr*)&address, sizeof(address)) != 0) fail("load: connect");
  const int on = 1;
  if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) != 0) fail("load: TCP_NODELAY");
  return fd;
}

static void ask(int fd, uint64_t key) {
  char text[64];
  const int length = snprintf(text, sizeof(text), "get key-%08llu\r\n", (unsigned long long)key);
  if (send(fd, text, (size_t)length, MSG_NOSIGNAL) != length) fail("load: send");
}

/* True once the answer is whole; it may come in several parts. */
static int take(struct connection* connection) {
  char answer[kEndSize + kMaxAnswer];
  memcpy(answer, connection->tail, kEndSize);
  const ssize_t got = recv(connection->fd, answer + kEndSize, kMaxAnswer, 0);
  if (got <= 0) fail("load: recv");
  memcpy(connection->tail, answer + got, kEndSize);
  return memcmp(connection->tail, kEnd, kEndSize) == 0;
}

static double requests_per_second(struct connection* all, int connections, double seconds,
                                  uint64_t keys) {
  uint64_t random = 0x9e3779b97f4a7c15u;
  const int waiting = epoll_create1(0);
  if (waiting < 0) fail("load: epoll_create1");
  for (int i = 0; i < connections; ++i) {
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = &all[i]};
    if (epoll_ctl(waiting, EPOLL_CTL_ADD, all[i].fd, &event) != 0) fail("load: epoll_ctl");
    ask(all[i].fd, next_random(&random) % keys);
  }
  uint64_t answered = 0;
  const double start_s = now_s();
  while (now_s() - start_s < seconds) {
    struct epoll_event events[kMaxConnections];
    const int ready = epoll_wait(waiting, events, connections, 100);
    for (int i = 0; i < ready; ++i) {
      struct connection* connection = events[i].data.ptr;
      if (!take(connection)) continue;
      ++answered;
      ask(connection->fd, next_random(&random) % keys);
    }
  }
  return (double)answered / (now_s() - start_s);
}

int main(int argc, char** argv) {
  static struct connection all[kMaxConnections];
  if (argc != 5) {
    fprintf(stderr, "usage: load PORT CONNECTIONS SECONDS KEYS\n");
    return 2;
  }
  const int connections = atoi(argv[2]);
  const uint64_t keys = strtoull(argv[4], NULL, 10);
  if (connections < 1 || connections > kMaxConnections || keys == 0) {
    fprintf(stderr, "load: from 1 to %d connections, and 1 key or more\n", kMaxConnections);
    return 2;
  }
  for (int i = 0; i < connections; ++i) all[i].fd = connect_to(atoi(argv[1]));
  printf("%.1f requests per second\n", requests_per_second(all, connections, atof(argv[3]), keys));
  return 0;
}
