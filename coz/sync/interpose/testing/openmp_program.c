/* Two threads that wait for each other in every way that the wrapped calls of libgomp know. Each
 * step imposes a delay while one of them waits: the other pays it, the waiter is credited. */
#include <omp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "coz/sync/interpose/testing/openmp_preload.h"

enum { kWorker = 1 };
static const uint64_t kDelayNs = 5 * 1000 * 1000;
/* Less than any wait takes. */
static const uint64_t kSmallExcessNs = 50;

static void* g_ledgers[2];
static uint64_t g_credited_before_ns[2];
static uint64_t g_paused_before_ns[2];
static int g_failures;

static void Expect(int condition, const char* step, const char* what) {
  if (condition) return;
  fprintf(stderr, "%s: %s\n", step, what);
  ++g_failures;
}

/* By a thread that is about to wait: until then it may still wait for the region to begin. */
static volatile int g_arrived;

static void AwaitBlocked(int thread) {
  while (!g_arrived || !coz_test_is_blocked(g_ledgers[thread])) sched_yield();
  g_arrived = 0;
}

static void Note(void) {
  for (int i = 0; i < 2; ++i) {
    g_credited_before_ns[i] = coz_test_credited_ns(g_ledgers[i]);
    g_paused_before_ns[i] = coz_test_paused_ns(g_ledgers[i]);
  }
}

/* Once `waiter` is blocked, which may owe more than the waker, and pay the difference; the
 * caller pays at its next call. */
static void ImposeWhileWaiting(int waiter) {
  AwaitBlocked(waiter);
  Note();
  coz_test_impose(kDelayNs);
}

static void Judge(const char* step, int waiter) {
  const void* ledger = g_ledgers[waiter];
  Expect(coz_test_credited_ns(ledger) - g_credited_before_ns[waiter] >= kDelayNs, step,
         "the waiter is not credited");
  Expect(coz_test_paused_ns(g_ledgers[1 - waiter]) - g_paused_before_ns[1 - waiter] >= kDelayNs,
         step, "the waker did not pay");
}

static void LearnLedgers(void) {
#pragma omp parallel num_threads(2)
  g_ledgers[omp_get_thread_num()] = coz_test_ledger();
  Expect(g_ledgers[0] != NULL && g_ledgers[1] != NULL, "start", "a thread is not profiled");
}

static void WaitBetweenRegions(void) {
  g_arrived = 1; /* the region before is over */
  ImposeWhileWaiting(kWorker);
#pragma omp parallel num_threads(2)
  if (omp_get_thread_num() == kWorker) Judge("between regions", kWorker);
}

static void WaitAtEndOfRegion(void) {
#pragma omp parallel num_threads(2)
  if (omp_get_thread_num() == kWorker) {
    ImposeWhileWaiting(0);
  } else {
    g_arrived = 1;
  }
  Judge("end of region", 0);
}

static void WaitAtBarrier(void) {
#pragma omp parallel num_threads(2)
  {
    if (omp_get_thread_num() == 0) {
      ImposeWhileWaiting(kWorker);
    } else {
      g_arrived = 1;
    }
#pragma omp barrier
    if (omp_get_thread_num() == kWorker) Judge("barrier", kWorker);
  }
}

static void WaitAtEndOfLoop(void) {
#pragma omp parallel num_threads(2)
  {
#pragma omp for schedule(static, 1)
    for (int i = 0; i < 2; ++i) {
      if (i == 0) {
        ImposeWhileWaiting(kWorker);
      } else {
        g_arrived = 1;
      }
    }
    if (omp_get_thread_num() == kWorker) Judge("end of loop", kWorker);
  }
}

static void WaitForCriticalSection(void) {
  volatile int inside = 0;
#pragma omp parallel num_threads(2)
  {
    if (omp_get_thread_num() == 0) {
#pragma omp critical(section)
      {
        inside = 1;
        ImposeWhileWaiting(kWorker);
      }
    } else {
      while (!inside) sched_yield();
      g_arrived = 1;
#pragma omp critical(section)
      Judge("critical section", kWorker);
    }
  }
}

static void WaitForLock(void) {
  omp_lock_t lock;
  omp_init_lock(&lock);
  omp_set_lock(&lock);
#pragma omp parallel num_threads(2)
  {
    if (omp_get_thread_num() == 0) {
      ImposeWhileWaiting(kWorker);
      omp_unset_lock(&lock);
    } else {
      g_arrived = 1;
      omp_set_lock(&lock);
      Judge("lock", kWorker);
      omp_unset_lock(&lock);
    }
  }
}

/* Whoever waited takes over the last one's time: what it had paused too long is made up for by
 * the wait, and what the last one has is its own too. */
static void Level(const char* step) {
  Expect(coz_test_local_delay_ns(g_ledgers[0]) == coz_test_local_delay_ns(g_ledgers[kWorker]), step,
         "the threads are not level");
}

static void AbsorbExcessAtBarrier(void) {
#pragma omp parallel num_threads(2)
  {
    if (omp_get_thread_num() == kWorker) {
      coz_test_give_excess(g_ledgers[kWorker], kDelayNs);
      g_arrived = 1;
    } else {
      AwaitBlocked(kWorker);
    }
#pragma omp barrier
    if (omp_get_thread_num() == kWorker) Level("excess at barrier");
#pragma omp barrier
    if (omp_get_thread_num() == kWorker) {
      AwaitBlocked(0);
      coz_test_give_excess(g_ledgers[kWorker], kSmallExcessNs);
    } else {
      g_arrived = 1;
    }
#pragma omp barrier
    if (omp_get_thread_num() == 0) Level("excess of the last at barrier");
  }
}

static void AbsorbExcessAtEndOfRegion(void) {
#pragma omp parallel num_threads(2)
  if (omp_get_thread_num() == kWorker) {
    AwaitBlocked(0);
  } else {
    coz_test_give_excess(g_ledgers[0], kDelayNs);
    g_arrived = 1;
  }
  Level("excess at end of region");
}

static void AbsorbExcessBetweenRegions(void) {
#pragma omp parallel num_threads(2)
  if (omp_get_thread_num() == kWorker) {
    AwaitBlocked(0);
    coz_test_give_excess(g_ledgers[kWorker], kSmallExcessNs);
  } else {
    g_arrived = 1;
  }
  Level("excess of the last at end of region");
#pragma omp parallel num_threads(2)
  if (omp_get_thread_num() == kWorker) {
    coz_test_give_excess(g_ledgers[kWorker], kDelayNs);
    g_arrived = 1;
  } else {
    AwaitBlocked(kWorker);
  }
#pragma omp parallel num_threads(2)
  if (omp_get_thread_num() == kWorker) Level("excess between regions");
}

/* A task that a waiting thread runs is work: it is not blocked meanwhile, and its arguments
 * arrive. */
static void RunTaskInWait(void) {
  volatile int started = 0;
  int blocked = 1;
  const int argument = 42;
  int got = 0;
#pragma omp parallel num_threads(2)
#pragma omp single
  {
    g_arrived = 1; /* or has not begun: it will be given the task all the same */
    const int creator = omp_get_thread_num();
    AwaitBlocked(1 - creator);
#pragma omp task firstprivate(argument) shared(got, blocked, started)
    {
      blocked = coz_test_is_blocked(coz_test_ledger());
      got = argument;
      started = 1;
    }
    while (!started) sched_yield(); /* the other thread takes it */
  }
  Expect(!blocked, "task", "a thread that runs a task counts as waiting");
  Expect(got == argument, "task", "its argument is lost");
}

static long Fibonacci(int n) {
  if (n < 2) return n;
  long a, b;
#pragma omp task shared(a)
  a = Fibonacci(n - 1);
#pragma omp task shared(b)
  b = Fibonacci(n - 2);
#pragma omp taskwait
  return a + b;
}

static void ComputeRightly(void) {
  long sum = 0;
#pragma omp parallel for schedule(guided) reduction(+ : sum) num_threads(2)
  for (int i = 1; i <= 1000; ++i) sum += i;
  Expect(sum == 500500, "reduction", "wrong sum");
  long fibonacci = 0;
#pragma omp parallel num_threads(2)
#pragma omp single
  fibonacci = Fibonacci(15);
  Expect(fibonacci == 610, "tasks", "wrong number");
  sum = 0;
#pragma omp parallel num_threads(2)
#pragma omp single
#pragma omp taskloop reduction(+ : sum)
  for (int i = 1; i <= 100; ++i) sum += i;
  Expect(sum == 5050, "task loop", "wrong sum");
}

int main(void) {
  LearnLedgers();
  WaitBetweenRegions();
  WaitAtEndOfRegion();
  WaitAtBarrier();
  WaitAtEndOfLoop();
  WaitForCriticalSection();
  WaitForLock();
  AbsorbExcessAtBarrier();
  AbsorbExcessAtEndOfRegion();
  AbsorbExcessBetweenRegions();
  RunTaskInWait();
  ComputeRightly();
  return g_failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
