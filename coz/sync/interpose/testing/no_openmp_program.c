/* Not linked with libgomp: it must not see one because the wrapped calls of it are preloaded. */
#include <dlfcn.h>
#include <stdio.h>

extern void GOMP_parallel(void) __attribute__((weak));
extern void omp_set_lock(void*) __attribute__((weak));
/* The library really is preloaded. */
extern void* coz_test_ledger(void) __attribute__((weak));

int main(void) {
  if (coz_test_ledger == NULL) return puts("required the preloaded library, actual none"), 2;
  if (GOMP_parallel != NULL || omp_set_lock != NULL) return puts("a weak reference is bound"), 1;
  if (dlsym(RTLD_DEFAULT, "GOMP_parallel") != NULL) return puts("dlsym finds it"), 1;
  return 0;
}
