// Asks memcached for random keys, in a closed loop on each of some connections, and prints requests
// per second. A thread serves its part of the connections, so the load takes no more CPUs than
// that.
//
//   load PORT CONNECTIONS SECONDS KEYS [THREADS]       keys are key-00000000 to KEYS - 1
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
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

struct share {
  pthread_t thread;
  struct connection* connections;
  int count;
  double seconds;
  uint64_t keys;
  uint64_t random;
  double per_second; /* what was reached */
};

static void* drive(void* opaque) {
  struct share* const share = opaque;
  const int waiting = epoll_create1(0);
  if (waiting < 0) fail("load: epoll_create1");
  for (int i = 0; i < share->count; ++i) {
    struct connection* const connection = &share->connections[i];
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = connection};
    if (epoll_ctl(waiting, EPOLL_CTL_ADD, connection->fd, &event) != 0) fail("load: epoll_ctl");
    ask(connection->fd, next_random(&share->random) % share->keys);
  }
  uint64_t answered = 0;
  const double start_s = now_s();
  while (now_s() - start_s < share->seconds) {
    struct epoll_event events[kMaxConnections];
    const int ready = epoll_wait(waiting, events, share->count, 100);
    for (int i = 0; i < ready; ++i) {
      struct connection* connection = events[i].data.ptr;
      if (!take(connection)) continue;
      ++answered;
      ask(connection->fd, next_random(&share->random) % share->keys);
    }
  }
  share->per_second = (double)answered / (now_s() - start_s);
  return NULL;
}

int main(int argc, char** argv) {
  static struct connection all[kMaxConnections];
  static struct share shares[kMaxConnections];
  if (argc != 5 && argc != 6) {
    fprintf(stderr, "usage: load PORT CONNECTIONS SECONDS KEYS [THREADS]\n");
    return 2;
  }
  const int connections = atoi(argv[2]);
  const uint64_t keys = strtoull(argv[4], NULL, 10);
  const int threads = argc == 6 ? atoi(argv[5]) : 1;
  if (connections < 1 || connections > kMaxConnections || keys == 0 || threads < 1 ||
      threads > connections) {
    fprintf(stderr,
            "load: from 1 to %d connections, 1 key or more, and no more threads than connections\n",
            kMaxConnections);
    return 2;
  }
  for (int i = 0; i < connections; ++i) all[i].fd = connect_to(atoi(argv[1]));
  for (int i = 0; i < threads; ++i) {
    const int first = connections * i / threads;
    shares[i] = (struct share){.connections = &all[first],
                               .count = connections * (i + 1) / threads - first,
                               .seconds = atof(argv[3]),
                               .keys = keys,
                               .random = 0x9e3779b97f4a7c15u + (uint64_t)i};
    /* A single thread is the first itself. */
    if (i > 0 && pthread_create(&shares[i].thread, NULL, drive, &shares[i]) != 0) {
      fail("load: pthread_create");
    }
  }
  drive(&shares[0]);
  double per_second = shares[0].per_second;
  for (int i = 1; i < threads; ++i) {
    pthread_join(shares[i].thread, NULL);
    per_second += shares[i].per_second;
  }
  printf("%.1f requests per second\n", per_second);
  return 0;
}
