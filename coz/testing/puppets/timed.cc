// Calls that end in every way: by one return or several, by an exception, by longjmp, in a child of
// fork, within themselves.
//
//   timed ROUNDS
//
// Two threads, "alpha" and "beta", call each function once in each round; every tenth call of
// `Throws` and of `Jumps` is left by an exception and by longjmp. The main thread calls `Forks`
// once.
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <stdexcept>

#include "coz.h"

#define NOINLINE extern "C" __attribute__((noinline, noclone, noipa))

namespace {
thread_local jmp_buf t_back;
}  // namespace

NOINLINE uint64_t Leaf(uint64_t x) {
  for (int i = 0; i < 3000; ++i) x = x * 6364136223846793005u + (x >> 29);
  return x;
}

NOINLINE uint64_t Early(uint64_t x) {
  if (x % 3 == 0) return 1;
  if (x % 3 == 1) return Leaf(x) + 2;
  const uint64_t a = Leaf(x);
  return a ^ Leaf(a);
}

// By a pointer, as the compiler would make a loop of it.
NOINLINE uint64_t Recurses(uint64_t depth);
static uint64_t (*volatile g_recurses)(uint64_t) = Recurses;
uint64_t Recurses(uint64_t depth) {
  return depth == 0 ? Leaf(depth) : g_recurses(depth - 1) + depth;
}

NOINLINE uint64_t Fails(uint64_t x) {
  if (x % 10 == 0) throw std::runtime_error("tenth");
  return Leaf(x);
}

NOINLINE uint64_t Throws(uint64_t x) { return Fails(x) + 1; }

NOINLINE uint64_t Jumps(uint64_t x) {
  if (x % 10 == 0) longjmp(t_back, 1);
  return Leaf(x) + 1;
}

// Contains the calls of the others.
NOINLINE uint64_t Round(uint64_t x) {
  uint64_t sum = Leaf(x) + Early(x) + Recurses(5);
  try {
    sum += Throws(x);
  } catch (const std::exception&) {
    sum += 1;
  }
  if (setjmp(t_back) == 0) sum += Jumps(x);
  return sum + 1;
}

// The call begins in one process and ends in two.
NOINLINE int Forks(uint64_t x) {
  const pid_t child = fork();
  if (child < 0) return -1;
  volatile uint64_t sum = Leaf(x);
  sum = sum + 1;
  return child == 0 ? 0 : 1;
}

namespace {

void* Work(void* opaque) {
  const long rounds = *static_cast<long*>(opaque);
  volatile uint64_t sum = 0;
  for (long i = 0; i < rounds; ++i) {
    sum = sum + Round(static_cast<uint64_t>(i));
    COZ_PROGRESS_NAMED("rounds");
  }
  return nullptr;
}

}  // namespace

int main(int argc, char** argv) {
  long rounds = argc > 1 ? atol(argv[1]) : 1000;
  const int is_parent = Forks(1);
  if (is_parent == 0) return 0;
  if (is_parent < 0 || wait(nullptr) < 0) return 1;
  pthread_t threads[2];
  const char* const names[] = {"alpha", "beta"};
  for (int i = 0; i < 2; ++i) {
    if (pthread_create(&threads[i], nullptr, Work, &rounds) != 0) return 1;
    pthread_setname_np(threads[i], names[i]);
  }
  for (pthread_t& thread : threads) pthread_join(thread, nullptr);
  return 0;
}
