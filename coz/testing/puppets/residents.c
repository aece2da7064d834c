/*
 * A program of several processes that runs until it is told to end, for tests that attach to it.
 *   residents [CHILDREN [PAUSE_US]]
 *
 * Each process has two threads: one works for some 100 us of CPU time again and again, and hands a
 * number over to the other; every hand-over is a visit to "handed". With PAUSE_US it sleeps as long
 * after each, to leave CPU time to the test. The program begins with "ready", and the numbers of
 * its children, when all work. Lines of standard input:
 *   child   makes one more child, and prints its number when its threads work
 *   short N makes N children one after the other, each of which calls once(), visits "short" 10
 *           times, and ends; prints how many ended well
 *   true N  the same with children that become /bin/true
 *   told N  the same with children that set a variable and become a shell that looks at it
 *   become F  becomes program F itself; its children go on
 *   exec F  makes one that becomes program F for a minute, and prints its number
 *   state   prints what a profiler might have changed in the first process and in its children: the
 *           disposition of SIGTRAP, and the number of descriptors
 *   end     all end; prints "right" if in each process every number has arrived once, in order.
 *           A child that was killed counts for nothing
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "coz.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int full;
static int ended;
static uint64_t handed;
static uint64_t taken;
static int wrong;
static volatile int stop;
static useconds_t pause_us;

/* Children find its end where the first process closes it. */
static int alive[2];
static int answers[2];
static pid_t children[64];
static int used;
static pthread_t threads[2];

__attribute__((noinline)) static uint64_t work(uint64_t x) {
  for (int i = 0; i < 100000; ++i) x = x * 6364136223846793005u + (x >> 29);
  return x;
}

static void* maker(void* none) {
  volatile uint64_t x = 1;
  for (uint64_t number = 0; !stop; ++number) {
    x = work(x);
    pthread_mutex_lock(&mutex);
    while (full) pthread_cond_wait(&changed, &mutex);
    handed = number;
    full = 1;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&mutex);
    if (pause_us != 0) usleep(pause_us);
  }
  pthread_mutex_lock(&mutex);
  ended = 1;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&mutex);
  return none;
}

static void* taker(void* none) {
  pthread_mutex_lock(&mutex);
  while (1) {
    while (!full && !ended) pthread_cond_wait(&changed, &mutex);
    if (!full) break;
    if (handed != taken) wrong = 1;
    ++taken;
    full = 0;
    pthread_cond_broadcast(&changed);
    COZ_PROGRESS_NAMED("handed");
  }
  pthread_mutex_unlock(&mutex);
  return none;
}

static void begin(void) {
  pthread_create(&threads[0], NULL, maker, NULL);
  pthread_create(&threads[1], NULL, taker, NULL);
}

static int end(void) {
  stop = 1;
  pthread_join(threads[0], NULL);
  pthread_join(threads[1], NULL);
  return wrong || taken == 0;
}

static int descriptors(void) {
  DIR* folder = opendir("/proc/self/fd");
  int count = 0;
  while (readdir(folder) != NULL) ++count;
  closedir(folder);
  return count;
}

static void describe(char* text, size_t bytes) {
  struct {
    void* handler;
    unsigned long flags;
    void* restorer;
    unsigned long mask;
  } action = {0};
  syscall(SYS_rt_sigaction, SIGTRAP, NULL, &action, sizeof(action.mask));
  snprintf(text, bytes, " %p %d", action.handler, descriptors());
}

static int live_as_child(int begun) {
  char asked;
  char text[64];
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  close(alive[1]);
  stop = full = ended = wrong = 0;
  taken = 0;
  pthread_mutex_init(&mutex, NULL);
  pthread_cond_init(&changed, NULL);
  begin();
  close(begun);
  while (read(alive[0], &asked, 1) == 1) {
    describe(text, sizeof(text));
    if (write(answers[1], text, sizeof(text)) != sizeof(text)) wrong = 1;
  }
  return end();
}

/* It has its threads when this returns, and what libc sets up with the first one. */
static pid_t make_working_child(void) {
  int begun[2];
  char nothing;
  if (pipe(begun) != 0) return -1;
  const pid_t pid = fork();
  if (pid == 0) {
    close(begun[0]);
    _exit(live_as_child(begun[1]));
  }
  close(begun[1]);
  if (read(begun[0], &nothing, 1) != 0) wrong = 1;
  close(begun[0]);
  children[used++] = pid;
  return pid;
}

static pid_t make_other_program(const char* program) {
  const pid_t pid = fork();
  if (pid == 0) {
    // What is said to this program is not for that one, and the other way round.
    const int nothing = open("/dev/null", O_RDWR);
    dup2(nothing, STDIN_FILENO);
    dup2(nothing, STDOUT_FILENO);
    execl(program, program, "60", (char*)NULL);
    _exit(127);
  }
  children[used++] = pid;
  return pid;
}

__attribute__((noipa)) static uint64_t once(uint64_t x) { return work(x) + work(x + 1); }

static int make_short_children(int count, const char* program) {
  int right = 0;
  for (int i = 0; i < count; ++i) {
    const pid_t pid = fork();
    if (pid == 0 && program != NULL) {
      setenv("TOLD", program, 1);
      execl(program, program, "-c", "test \"$TOLD\" = /bin/sh", (char*)NULL);
      _exit(127);
    }
    if (pid == 0) {
      volatile uint64_t x = once(1);
      (void)x;
      for (int visit = 0; visit < 10; ++visit) COZ_PROGRESS_NAMED("short");
      _exit(0);
    }
    int status = -1;
    waitpid(pid, &status, 0);
    right += status == 0;
  }
  return right;
}

/* Any of the children answers, and so each is asked until all have the same to tell. */
static void print_state(void) {
  char text[64];
  describe(text, sizeof(text));
  printf("state%s", text);
  if (write(alive[1], "?", 1) == 1 && read(answers[0], text, sizeof(text)) == sizeof(text)) {
    printf(", a child%s", text);
  }
  printf("\n");
}

int main(int argc, char** argv) {
  char line[4096];
  if (pipe(alive) != 0 || pipe(answers) != 0) return 2;
  /* It names libc's variable, and so has a copy of it. */
  if (environ == NULL) return 2;
  const int wanted = argc > 1 ? argv[1][0] - '0' : 0;
  if (argc > 2) pause_us = (useconds_t)atoi(argv[2]);
  for (int i = 0; i < wanted; ++i) make_working_child();
  begin();
  printf("ready");
  for (int i = 0; i < used; ++i) printf(" %d", children[i]);
  printf("\n");
  fflush(stdout);
  while (fgets(line, sizeof(line), stdin) != NULL && strcmp(line, "end\n") != 0) {
    line[strcspn(line, "\n")] = '\0';
    if (strcmp(line, "state") == 0) print_state();
    if (strcmp(line, "child") == 0) printf("%d\n", make_working_child());
    if (strncmp(line, "short ", 6) == 0) printf("%d\n", make_short_children(atoi(line + 6), NULL));
    if (strncmp(line, "true ", 5) == 0) {
      printf("%d\n", make_short_children(atoi(line + 5), "/bin/true"));
    }
    if (strncmp(line, "told ", 5) == 0) {
      printf("%d\n", make_short_children(atoi(line + 5), "/bin/sh"));
    }
    if (strncmp(line, "become ", 7) == 0) execl(line + 7, line + 7, (char*)NULL);
    if (strncmp(line, "exec ", 5) == 0) printf("%d\n", make_other_program(line + 5));
    fflush(stdout);
  }
  int is_wrong = end();
  close(alive[1]);
  for (int i = 0; i < used; ++i) {
    int status = 0;
    waitpid(children[i], &status, 0);
    is_wrong |= !WIFSIGNALED(status) && WEXITSTATUS(status) != 0;
  }
  printf(is_wrong ? "wrong\n" : "right\n");
  return is_wrong;
}
