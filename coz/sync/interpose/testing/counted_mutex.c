// A library that wraps a call of libc's, as a sanitizer does.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>

static long tries;

int pthread_mutex_trylock(pthread_mutex_t* mutex) {
  int (*real)(pthread_mutex_t*) =
      (int (*)(pthread_mutex_t*))dlsym(RTLD_NEXT, "pthread_mutex_trylock");
  ++tries;
  return real(mutex);
}

long CountedTries(void) { return tries; }
