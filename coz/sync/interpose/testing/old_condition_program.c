/* Uses conditions as a program did that was built for glibc 2.2.5: its pthread_cond_init sets a
 * pointer, and leaves the rest of the object as it was. Ends with 0 where a waiter is woken,
 * credited if the wrapped calls are preloaded, and a time-out comes. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "coz/sync/interpose/testing/openmp_preload.h"

#define OLD(name) __asm__(".symver " #name ", " #name "@GLIBC_2.2.5")
OLD(pthread_cond_init);
OLD(pthread_cond_wait);
OLD(pthread_cond_timedwait);
OLD(pthread_cond_signal);
OLD(pthread_cond_broadcast);

static const uint64_t kDelayNs = 5 * 1000 * 1000;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ready, woken;
static int is_ready, wakes;
static uint64_t credited_ns;

static void* Wait(void* unused) {
  (void)unused;
  pthread_mutex_lock(&mutex);
  is_ready = 1;
  pthread_cond_broadcast(&ready);
  while (wakes == 0) pthread_cond_wait(&woken, &mutex);
  if (coz_test_ledger) credited_ns = coz_test_credited_ns(coz_test_ledger());
  pthread_mutex_unlock(&mutex);
  return NULL;
}

int main(void) {
  memset(&ready, 0xa5, sizeof(ready));
  memset(&woken, 0xa5, sizeof(woken));
  pthread_cond_init(&ready, NULL);
  pthread_cond_init(&woken, NULL);
  pthread_t thread;
  if (pthread_create(&thread, NULL, Wait, NULL) != 0) return 2;
  pthread_mutex_lock(&mutex);
  while (!is_ready) pthread_cond_wait(&ready, &mutex);
  /* The other gave up the mutex in its wait. */
  if (coz_test_impose) coz_test_impose(kDelayNs);
  wakes = 1;
  pthread_cond_signal(&woken);
  pthread_mutex_unlock(&mutex);
  pthread_join(thread, NULL);
  if (coz_test_ledger && credited_ns < kDelayNs) {
    fprintf(stderr, "the waiter was credited %lu ns of %lu\n", credited_ns, kDelayNs);
    return 1;
  }
  const struct timespec past = {1, 0};
  pthread_mutex_lock(&mutex);
  const int result = pthread_cond_timedwait(&woken, &mutex, &past);
  pthread_mutex_unlock(&mutex);
  if (result != ETIMEDOUT) {
    fprintf(stderr, "pthread_cond_timedwait: %s\n", strerror(result));
    return 1;
  }
  return 0;
}
