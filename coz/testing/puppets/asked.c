/*
 * Works until it is told to end, and does what it is asked for meanwhile.
 *
 *   asked
 *
 * A thread calls `turn` over and over; each call passes the probe asked:turned, in two places, if
 * somebody counts there. Each line of standard input is answered by one of output:
 *
 *   begin, finish  calls begin_request, finish_request
 *   wanted         says whether somebody counts at the probe
 *   end            says how often turn was called, and ends the program
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "coz.h"

/* As <sys/sdt.h> would have it: a nop, and a note that tells where it is. */
unsigned short asked_turned_semaphore __attribute__((section(".probes"), used));
#define PROBE_TURNED                                                          \
  __asm__ volatile(                                                           \
      "990: nop\n"                                                            \
      ".pushsection .note.stapsdt,\"?\",\"note\"\n"                           \
      ".balign 4\n"                                                           \
      ".4byte 992f-991f, 994f-993f, 3\n"                                      \
      "991: .asciz \"stapsdt\"\n"                                             \
      "992: .balign 4\n"                                                      \
      "993: .8byte 990b, _.stapsdt.base, asked_turned_semaphore\n"            \
      ".asciz \"asked\"\n"                                                    \
      ".asciz \"turned\"\n"                                                   \
      ".asciz \"\"\n"                                                         \
      "994: .balign 4\n"                                                      \
      ".popsection\n"                                                         \
      ".ifndef _.stapsdt.base\n"                                              \
      ".pushsection .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n" \
      ".weak _.stapsdt.base\n"                                                \
      ".hidden _.stapsdt.base\n"                                              \
      "_.stapsdt.base: .space 1\n"                                            \
      ".size _.stapsdt.base, 1\n"                                             \
      ".popsection\n"                                                         \
      ".endif\n")

static atomic_int is_over;
static volatile long turns;
static volatile unsigned short* const wanted = &asked_turned_semaphore;

__attribute__((noipa)) static long turn(long x) {
  if (x % 2 == 0) {
    if (*wanted != 0) PROBE_TURNED;
    return x + 3;
  }
  for (volatile int i = 0; i < 20; ++i) {
  }
  if (*wanted != 0) PROBE_TURNED;
  return x - 1;
}

__attribute__((noipa)) static int begin_request(int x) { return x + 1; }
__attribute__((noipa)) static int finish_request(int x) { return x * 2; }

static void* work(void* unused) {
  long x = 0;
  while (!atomic_load(&is_over)) {
    x = turn(x);
    ++turns;
    COZ_PROGRESS_NAMED("turns");
    for (volatile int i = 0; i < 2000; ++i) {
    }
  }
  return unused;
}

int main(void) {
  pthread_t worker;
  pthread_create(&worker, NULL, work, NULL);
  int requests = 0;
  char line[64];
  while (fgets(line, sizeof(line), stdin) != NULL && strcmp(line, "end\n") != 0) {
    if (strcmp(line, "begin\n") == 0) requests = begin_request(requests);
    if (strcmp(line, "finish\n") == 0) requests = finish_request(requests);
    printf("%d\n", strcmp(line, "wanted\n") == 0 ? *wanted : requests);
    fflush(stdout);
  }
  atomic_store(&is_over, 1);
  pthread_join(worker, NULL);
  printf("%ld\n", turns);
  return 0;
}
