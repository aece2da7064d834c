/*
 * Does what programs may do with signals, processes and descriptors, and says whether it all came
 * out right.
 *
 *   citizen SELF-CHECK NAME...      one line "ok NAME" or "FAILED NAME: ..." each; status 1 if one
 *                                   failed
 *
 * All of it while a second thread keeps the profiler busy with samples.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "coz.h"

#ifndef SA_RESTORER
#define SA_RESTORER 0x04000000 /* the way to return, which libc adds */
#endif

extern char** environ;

static atomic_int stop;
static char problem[256];

static int fail(const char* what) {
  snprintf(problem, sizeof(problem), "%s (errno %d)", what, errno);
  return 0;
}

static void spin_for_ms(int ms) {
  struct timespec start, now;
  clock_gettime(CLOCK_MONOTONIC, &start);
  volatile uint64_t x = 1;
  do {
    for (int i = 0; i < 10000; ++i) x = x * 6364136223846793005u + 1;
    COZ_PROGRESS_NAMED("spin");
    clock_gettime(CLOCK_MONOTONIC, &now);
  } while ((now.tv_sec - start.tv_sec) * 1000 + (now.tv_nsec - start.tv_nsec) / 1000000 < ms);
}

static void* background(void* unused) {
  while (!atomic_load(&stop)) spin_for_ms(1);
  return unused;
}

static volatile int* volatile nowhere = (volatile int*)8;
static sigjmp_buf after_fault;
static void on_fault(int signal) { siglongjmp(after_fault, signal); }

static int own_segv_handler(void) {
  struct sigaction action = {.sa_handler = on_fault}, old;
  sigfillset(&action.sa_mask);
  sigaction(SIGSEGV, &action, &old);
  if (sigsetjmp(after_fault, 1) == 0) {
    *nowhere = 1;
    return fail("no fault");
  }
  spin_for_ms(20);
  sigaction(SIGSEGV, &old, NULL);
  return 1;
}

static int query_trap(void) {
  struct sigaction old = {.sa_flags = -1};
  if (sigaction(SIGTRAP, NULL, &old) != 0) return fail("sigaction");
  if (old.sa_handler != SIG_DFL || old.sa_flags != 0)
    return fail("the program sees a handler that is not its own");
  struct sigaction ignore = {.sa_handler = SIG_IGN, .sa_flags = SA_RESTART};
  sigaction(SIGTRAP, &ignore, NULL);
  sigaction(SIGTRAP, NULL, &old);
  if (old.sa_handler != SIG_IGN || (old.sa_flags & ~SA_RESTORER) != SA_RESTART)
    return fail("what was set does not read back");
  raise(SIGTRAP);
  spin_for_ms(20);
  signal(SIGTRAP, SIG_DFL);
  return 1;
}

static atomic_int trapped;
static void on_trap(int signal) { atomic_fetch_add(&trapped, signal); }

static int own_trap_handler(void) {
  struct sigaction action = {.sa_handler = on_trap};
  sigaction(SIGTRAP, &action, NULL);
  atomic_store(&trapped, 0);
  raise(SIGTRAP);
  __asm__ volatile("int3");
  spin_for_ms(50);
  if (atomic_load(&trapped) != 2 * SIGTRAP)
    return fail("the handler did not run exactly for the program's own two signals");
  signal(SIGTRAP, SIG_DFL);
  return 1;
}

static atomic_int usr2_came;
static atomic_int usr2_came_amid;
static void on_usr2(int signal) { atomic_fetch_add(&usr2_came, signal != 0); }
static void on_trap_raise_usr2(int signal) {
  raise(SIGUSR2);
  atomic_store(&usr2_came_amid, signal != 0 ? atomic_load(&usr2_came) : 0);
}
static void on_trap_again(int signal) {
  if (atomic_fetch_add(&trapped, 1) != 0) return;
  raise(signal);
  if (atomic_load(&trapped) != 2) atomic_store(&trapped, -1);
}

/* A handler's mask holds while it runs, and SA_NODEFER lets it be interrupted by its own signal. */
static int trap_handlers_mask(void) {
  struct sigaction action = {.sa_handler = on_usr2};
  sigaction(SIGUSR2, &action, NULL);
  action.sa_handler = on_trap_raise_usr2;
  sigaddset(&action.sa_mask, SIGUSR2);
  sigaction(SIGTRAP, &action, NULL);
  raise(SIGTRAP);
  if (atomic_load(&usr2_came_amid) != 0 || atomic_load(&usr2_came) != 1)
    return fail("a signal came amid a handler that blocks it, or not at all");
  struct sigaction again = {.sa_handler = on_trap_again, .sa_flags = SA_NODEFER};
  sigaction(SIGTRAP, &again, NULL);
  atomic_store(&trapped, 0);
  raise(SIGTRAP);
  signal(SIGUSR2, SIG_DFL);
  signal(SIGTRAP, SIG_DFL);
  return atomic_load(&trapped) == 2 ? 1 : fail("SA_NODEFER does not let the signal in");
}

static int blocked_trap_waits(void) {
  sigset_t only, pending;
  sigemptyset(&only);
  sigaddset(&only, SIGTRAP);
  struct sigaction action = {.sa_handler = on_trap};
  sigaction(SIGTRAP, &action, NULL);
  atomic_store(&trapped, 0);
  pthread_sigmask(SIG_BLOCK, &only, NULL);
  raise(SIGTRAP);
  spin_for_ms(20);
  sigpending(&pending);
  if (atomic_load(&trapped) != 0 || !sigismember(&pending, SIGTRAP))
    return fail("a blocked SIGTRAP did not wait");
  pthread_sigmask(SIG_UNBLOCK, &only, NULL);
  if (atomic_load(&trapped) != SIGTRAP) return fail("a SIGTRAP that had waited did not come once");
  signal(SIGTRAP, SIG_DFL);
  return 1;
}

/* System V's and BSD's calls, which libc makes of its own sigaction and sigprocmask. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
static int old_signal_calls(void) {
  atomic_store(&trapped, 0);
  if (sigset(SIGTRAP, on_trap) != SIG_DFL) return fail("sigset sees a handler that is not its own");
  spin_for_ms(50);
  raise(SIGTRAP);
  if (atomic_load(&trapped) != SIGTRAP) return fail("sigset's handler did not run exactly once");
  sighold(SIGTRAP);
  spin_for_ms(50);
  const int first_held = sigset(SIGTRAP, SIG_DFL) == SIG_HOLD;
  int (*get_mask)(void); /* by name, for the linker warns of it */
  *(void**)&get_mask = dlsym(RTLD_DEFAULT, "siggetmask");
  const int mask = get_mask() | sigblock(1 << (SIGTRAP - 1)) | sigsetmask(0);
  if (!first_held || mask != 1 << (SIGTRAP - 1)) return fail("a held SIGTRAP does not read back");
  sigignore(SIGTRAP);
  spin_for_ms(50);
  return sigset(SIGTRAP, SIG_DFL) == SIG_IGN ? 1 : fail("an ignored SIGTRAP does not read back");
}

static atomic_int alarms;
static void on_alarm(int signal) { atomic_fetch_add(&alarms, signal != 0); }

static int sigpause_waits_for_a_handler(void) {
  sigset(SIGALRM, on_alarm);
  for (int i = 1; i <= 20; ++i) {
    sighold(SIGALRM);
    ualarm(2000, 0);
    spin_for_ms(1); /* into the next sample or so */
    if (sigpause(SIGALRM) != -1 || errno != EINTR) return fail("sigpause");
    if (atomic_load(&alarms) != i) return fail("sigpause ended without a handler");
    sigrelse(SIGALRM);
  }
  sigset(SIGALRM, SIG_DFL);
  return 1;
}
#pragma GCC diagnostic pop

static int mask_reads_back(void) {
  sigset_t all, seen;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, NULL);
  pthread_sigmask(SIG_SETMASK, NULL, &seen);
  const int ok = sigismember(&seen, SIGTRAP) && sigismember(&seen, SIGTERM);
  spin_for_ms(20);
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, SIGTRAP);
  sigprocmask(SIG_UNBLOCK, &only, &seen);
  const int was = sigismember(&seen, SIGTRAP);
  pthread_sigmask(SIG_SETMASK, NULL, &seen);
  const int is = sigismember(&seen, SIGTRAP);
  sigemptyset(&all);
  pthread_sigmask(SIG_SETMASK, &all, NULL);
  return ok && was && !is ? 1 : fail("a mask with SIGTRAP does not read back");
}

static int handler_mask_reads_back(void) {
  struct sigaction action = {.sa_handler = on_trap}, seen;
  sigfillset(&action.sa_mask);
  sigaction(SIGUSR1, &action, NULL);
  sigaction(SIGUSR1, NULL, &seen);
  if (!sigismember(&seen.sa_mask, SIGTRAP)) return fail("a handler's mask lost SIGTRAP");
  sigemptyset(&action.sa_mask);
  sigaction(SIGUSR1, &action, NULL);
  sigaction(SIGUSR1, NULL, &seen);
  if (sigismember(&seen.sa_mask, SIGTRAP)) return fail("a handler's mask gained SIGTRAP");
  signal(SIGUSR1, SIG_DFL);
  return 1;
}

static void* look_at_mask(void* seen) {
  pthread_sigmask(SIG_BLOCK, NULL, seen);
  return NULL;
}

/* A thread whose attributes have a mask has that one, whatever its creator's is. */
static int mask_of_attributes(void) {
  sigset_t creators, asked[2], seen[2];
  for (int with = 0; with < 2; ++with) {
    sigemptyset(&asked[with]);
    sigaddset(&asked[with], SIGUSR1);
    if (with) sigaddset(&asked[with], SIGTRAP);
    sigemptyset(&creators);
    sigaddset(&creators, SIGTRAP);
    pthread_sigmask(with ? SIG_UNBLOCK : SIG_BLOCK, &creators, NULL);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setsigmask_np(&attributes, &asked[with]);
    pthread_t thread;
    if (pthread_create(&thread, &attributes, look_at_mask, &seen[with]) != 0) return fail("create");
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attributes);
  }
  for (int signal = 1; signal <= SIGSYS; ++signal) {
    for (int with = 0; with < 2; ++with) {
      if (sigismember(&seen[with], signal) != sigismember(&asked[with], signal))
        return fail("a thread has not the mask of its attributes");
    }
  }
  return 1;
}

static void* wait_for_term(void* set) {
  int got = 0;
  sigwait(set, &got);
  return (void*)(uintptr_t)got;
}

static int sigwait_in_thread(void) {
  sigset_t set;
  sigfillset(&set);
  pthread_sigmask(SIG_BLOCK, &set, NULL);
  pthread_t waiter;
  pthread_create(&waiter, NULL, wait_for_term, &set);
  spin_for_ms(50);
  kill(getpid(), SIGTERM);
  void* got = NULL;
  pthread_join(waiter, &got);
  pthread_sigmask(SIG_UNBLOCK, &set, NULL);
  return (uintptr_t)got == SIGTERM ? 1 : fail("sigwait returned something else than SIGTERM");
}

static int child_of_fork(void) {
  const pid_t child = fork();
  if (child == 0) {
    spin_for_ms(30);
    struct sigaction seen;
    sigaction(SIGTRAP, NULL, &seen);
    _exit(seen.sa_handler == SIG_DFL ? 42 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 42
             ? 1
             : fail("the child of fork did not end as it should");
}

static int runs_a_program(void) {
  FILE* out = popen("echo from the shell; exec sleep 0", "r");
  char line[64] = "";
  if (out == NULL || fgets(line, sizeof(line), out) == NULL) return fail("popen");
  if (pclose(out) != 0) return fail("the shell's status");
  return strcmp(line, "from the shell\n") == 0 ? 1 : fail(line);
}

static int failed_exec(void) {
  char* arguments[] = {"program", NULL};
  const int no_program = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (execl("/nonexistent/program", "program", (char*)NULL) != -1 || errno != ENOENT)
    return fail("execl");
  if (execvpe("no-such-program", arguments, environ) != -1 || errno != ENOENT)
    return fail("execvpe");
  if (execvpe("/dev/null", arguments, environ) != -1 || errno != EACCES)
    return fail("execvpe of a file that is no program");
  if (fexecve(no_program, arguments, environ) != -1 || errno != EACCES) return fail("fexecve");
  if (fexecve(-1, arguments, environ) != -1 || errno != EINVAL) return fail("fexecve of nothing");
  if (execveat(AT_FDCWD, "/nonexistent/program", arguments, environ, 0) != -1 || errno != ENOENT)
    return fail("execveat");
  if (execveat(no_program, "", arguments, environ, 0) != -1 || errno != ENOENT)
    return fail("execveat without AT_EMPTY_PATH");
  close(no_program);
  spin_for_ms(20);
  return 1;
}

static int sleeps_are_whole(void) {
  for (int i = 0; i < 20; ++i) {
    struct timespec request = {0, 5000000};
    if (nanosleep(&request, NULL) != 0) return fail("nanosleep was interrupted");
    if (poll(NULL, 0, 2) != 0) return fail("poll was interrupted");
  }
  return 1;
}

static int closes_every_descriptor(void) {
  const pid_t child = fork();
  if (child == 0) {
    for (int fd = 3; fd < 256; ++fd) close(fd);
    _exit(0);
  }
  int status = 1;
  waitpid(child, &status, 0);
  for (int fd = 3; fd < 256; ++fd) {
    if (fcntl(fd, F_GETFD) >= 0) close(fd);
  }
  spin_for_ms(30);
  return status == 0 ? 1 : fail("child");
}

static const struct {
  const char* name;
  int (*run)(void);
} kChecks[] = {
    {"own_segv_handler", own_segv_handler},
    {"query_trap", query_trap},
    {"own_trap_handler", own_trap_handler},
    {"trap_handlers_mask", trap_handlers_mask},
    {"blocked_trap_waits", blocked_trap_waits},
    {"old_signal_calls", old_signal_calls},
    {"sigpause_waits_for_a_handler", sigpause_waits_for_a_handler},
    {"mask_reads_back", mask_reads_back},
    {"mask_of_attributes", mask_of_attributes},
    {"handler_mask_reads_back", handler_mask_reads_back},
    {"sigwait_in_thread", sigwait_in_thread},
    {"child_of_fork", child_of_fork},
    {"runs_a_program", runs_a_program},
    {"failed_exec", failed_exec},
    {"sleeps_are_whole", sleeps_are_whole},
    {"closes_every_descriptor", closes_every_descriptor},
};

int main(int argc, char** argv) {
  int failures = 0;
  pthread_t other;
  /* Signals for the process are not for this thread. */
  sigset_t all, old;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &old);
  pthread_create(&other, NULL, background, NULL);
  pthread_sigmask(SIG_SETMASK, &old, NULL);
  for (size_t i = 0; i < sizeof(kChecks) / sizeof(kChecks[0]); ++i) {
    if (argc > 1 && strcmp(argv[1], kChecks[i].name) != 0) continue;
    if (kChecks[i].run()) {
      printf("ok %s\n", kChecks[i].name);
    } else {
      printf("FAILED %s: %s\n", kChecks[i].name, problem);
      ++failures;
    }
    fflush(stdout);
  }
  atomic_store(&stop, 1);
  pthread_join(other, NULL);
  return failures != 0;
}
