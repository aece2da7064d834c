// Threads that call libapi.so as often as they are told, and wait otherwise.
//
//   api_resident
//
// Two threads. Lines of standard input, each answered by one of output:
//
//   call N  each thread calls ApiPlain and ApiCalls N times
//   end     ends the program; "right" if each call had the result that it has without a profiler
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <atomic>

#include "coz/testing/puppets/api_library.h"

namespace {

constexpr int kThreads = 2;

pthread_barrier_t g_begin;
pthread_barrier_t g_done;
std::atomic<long> g_rounds{0};  // negative: the threads end
std::atomic<bool> g_is_right{true};

uint64_t Callback(uint64_t x) { return x + 1; }

void* Work(void* unused) {
  const uint64_t plain = ApiPlain(1);
  for (;;) {
    pthread_barrier_wait(&g_begin);
    const long rounds = g_rounds;
    if (rounds < 0) return unused;
    for (long i = 0; i < rounds; ++i) {
      if (ApiPlain(1) != plain || ApiCalls(Callback, 1) != 7) g_is_right = false;
    }
    pthread_barrier_wait(&g_done);
  }
}

}  // namespace

int main() {
  pthread_barrier_init(&g_begin, nullptr, kThreads + 1);
  pthread_barrier_init(&g_done, nullptr, kThreads + 1);
  pthread_t threads[kThreads];
  for (pthread_t& thread : threads) {
    if (pthread_create(&thread, nullptr, Work, nullptr) != 0) return 1;
  }
  printf("ready\n");
  fflush(stdout);
  char line[256];
  while (fgets(line, sizeof(line), stdin) != nullptr && strncmp(line, "call ", 5) == 0) {
    g_rounds = atol(line + 5);
    pthread_barrier_wait(&g_begin);
    pthread_barrier_wait(&g_done);
    printf("done\n");
    fflush(stdout);
  }
  g_rounds = -1;
  pthread_barrier_wait(&g_begin);
  for (pthread_t& thread : threads) pthread_join(thread, nullptr);
  printf(g_is_right ? "right\n" : "wrong\n");
  return g_is_right ? 0 : 1;
}
