/*
 * A program whose loader has the name of another C library's, as those of Alpine Linux. It is
 * sought in the working folder, where a test puts a link to glibc's.
 *   other_loader
 *
 * It prints "hello" and, where there are any, the libraries that are preloaded. Its exit status is
 * 7.
 */
#include <stdio.h>
#include <stdlib.h>

int main(void) {
  const char* const preloaded = getenv("LD_PRELOAD");
  puts("hello");
  if (preloaded != NULL) puts(preloaded);
  return 7;
}
