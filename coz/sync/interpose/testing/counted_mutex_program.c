// With the wrapped calls preloaded, each lock reaches the library behind them.
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

long CountedTries(void);

static void* Sleep(void* nothing) {
  pause();
  return nothing;
}

int main(void) {
  // Locks are not tried where a process has only one thread.
  pthread_t second;
  if (pthread_create(&second, NULL, Sleep, NULL) != 0) return 1;
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  const long before = CountedTries();
  for (int i = 0; i < 10; ++i) {
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
  }
  const long tries = CountedTries() - before;
  if (tries == 10) return 0;
  fprintf(stderr, "%ld of 10 locks reached the library\n", tries);
  return 1;
}
