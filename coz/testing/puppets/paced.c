/*
 * Threads that call functions as often as they are told, and wait otherwise.
 *
 *   paced [blocking|waiting]
 *
 * Four threads; with an argument a fifth one, which blocks all signals and does nothing, or waits
 * for them. Lines of
 * standard input, each answered by one of output:
 *
 *   run N   each thread calls turn, looped and served N times, and begin_turn and end_turn around
 *           them
 *   start   they do so until `stop`
 *   bytes   the first bytes of these functions, in hexadecimal
 *   state   the disposition of SIGTRAP, the mask of SIGUSR1's handler and descriptors
 *   end     says how often turn was called, and ends the program
 *
 * A wrong result of a function is told on standard error and ends the program with status 1.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { kThreads = 4 };

static pthread_barrier_t blocked;
static pthread_barrier_t begin;
static pthread_barrier_t done;
static volatile long rounds;
static atomic_int is_stopped;
static atomic_long turns;

__attribute__((noipa)) static long turn(long x) { return x * 3 + 1; }
__attribute__((noipa)) static long begin_turn(long x) { return x + 1; }
__attribute__((noipa)) static long end_turn(long x) { return x - 1; }

__attribute__((noipa)) static long served(long x) {
  volatile long sum = 0;
  for (int i = 0; i < 10; ++i) sum += x;
  return sum;
}

/* Before the loop are two instructions of a byte each, where no jump has room, so that only an int3
 * can count it. */
long looped(long x);
__asm__(
    ".text\n"
    ".globl looped\n"
    ".type looped, @function\n"
    "looped:\n"
    "  push %rbx\n"
    "  push %rbx\n"
    "1:\n"
    "  dec %edi\n"
    "  jnz 1b\n"
    "  pop %rbx\n"
    "  pop %rbx\n"
    "  mov %edi, %eax\n"
    "  ret\n"
    ".size looped, .-looped\n");

static void check(const char* function, long i, long result, long expected) {
  if (result == expected) return;
  fprintf(stderr, "paced: %s in round %ld returned %ld for %ld\n", function, i, result, expected);
  _exit(1);
}

static void* work(void* unused) {
  while (1) {
    pthread_barrier_wait(&begin);
    if (rounds < 0) return unused;
    long i = 0;
    for (; i < rounds && !atomic_load(&is_stopped); ++i) {
      const long x = begin_turn(i);
      check("begin_turn", i, x, i + 1);
      check("turn", i, turn(i), i * 3 + 1);
      check("looped", i, looped(2), 0);
      check("served", i, served(i), 10 * i);
      check("end_turn", i, end_turn(x), i);
    }
    atomic_fetch_add(&turns, i);
    pthread_barrier_wait(&done);
  }
}

static void run(long n) {
  rounds = n;
  atomic_store(&is_stopped, 0);
  pthread_barrier_wait(&begin);
}

static void print_bytes(const void* function) {
  const unsigned char* byte = function;
  for (int i = 0; i < 16; ++i) printf("%02x", byte[i]);
}

static void on_signal(int number) { (void)number; }

static void print_state(void) {
  struct sigaction action;
  sigaction(SIGTRAP, NULL, &action);
  printf("SIGTRAP %p %x, ", (void*)action.sa_handler, action.sa_flags);
  sigaction(SIGUSR1, NULL, &action);
  printf("SIGUSR1 %d, descriptors", sigismember(&action.sa_mask, SIGTRAP));
  DIR* const folder = opendir("/proc/self/fd");
  for (struct dirent* entry; (entry = readdir(folder)) != NULL;) printf(" %s", entry->d_name);
  closedir(folder);
  printf("\n");
}

static int waits_for_signals;

static void* block(void* unused) {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, NULL);
  pthread_barrier_wait(&blocked);
  int signal = 0;
  while (waits_for_signals && sigwait(&all, &signal) == 0) {
  }
  while (1) pause();
  return unused;
}

int main(int argc, char** argv) {
  (void)argv;
  struct sigaction action;
  memset(&action, 0, sizeof(action));
  action.sa_handler = on_signal;
  sigfillset(&action.sa_mask);
  sigaction(SIGUSR1, &action, NULL);
  pthread_t blocking;
  pthread_barrier_init(&blocked, NULL, 2);
  if (argc > 1) {
    waits_for_signals = strcmp(argv[1], "waiting") == 0;
    pthread_create(&blocking, NULL, block, NULL);
    pthread_barrier_wait(&blocked);
  }
  pthread_barrier_init(&begin, NULL, kThreads + 1);
  pthread_barrier_init(&done, NULL, kThreads + 1);
  pthread_t threads[kThreads];
  for (int i = 0; i < kThreads; ++i) pthread_create(&threads[i], NULL, work, NULL);
  printf("ready\n");
  fflush(stdout);
  char line[64];
  while (1) {
    if (fgets(line, sizeof(line), stdin) == NULL) {
      if (ferror(stdin)) fprintf(stderr, "paced: no line read: %s\n", strerror(errno));
      return 1;
    }
    if (strcmp(line, "end\n") == 0) break;
    if (strncmp(line, "run ", 4) == 0) {
      run(atol(line + 4));
      pthread_barrier_wait(&done);
      printf("%ld\n", atomic_load(&turns));
    } else if (strcmp(line, "start\n") == 0) {
      run(LONG_MAX);
      printf("started\n");
    } else if (strcmp(line, "stop\n") == 0) {
      atomic_store(&is_stopped, 1);
      pthread_barrier_wait(&done);
      printf("%ld\n", atomic_load(&turns));
    } else if (strcmp(line, "bytes\n") == 0) {
      print_bytes((const void*)turn);
      print_bytes((const void*)looped);
      print_bytes((const void*)served);
      print_bytes((const void*)begin_turn);
      print_bytes((const void*)end_turn);
      printf("\n");
    } else {
      print_state();
    }
    fflush(stdout);
  }
  run(-1);
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
  printf("%ld\n", atomic_load(&turns));
  return 0;
}
