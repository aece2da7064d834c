/*
 * Programs of several processes, and whether each of them behaves as it would alone.
 *
 *   family relay SECONDS         parent and child work by turns over pipes; the child's work is
 *                                "childs_work" (30 %), the parent's "parents_work"
 *   family beside SECONDS        the same at the same time, without waiting for each other
 *   family workers N SECONDS     N forked workers, each visits "work"; the parent waits for them
 *                                and visits nothing
 *   family bomb N                N children, one after the other, each with another way of ending;
 *                                then as many at a time
 *   family closer SECONDS        a daemon that closes every descriptor and goes on working
 *   family killed SECONDS        its worker is killed while it may be pausing, and again
 *   family orphan SECONDS        the parent ends first
 *   family chain N SECONDS       becomes itself N times by exec, then works
 *   family spawn SECONDS         itself again by posix_spawn, once as it is and once by env -i
 *   family shared SECONDS        two processes take turns by process-shared mutex, condition
 *                                variable and semaphore
 *   family raw N                 N children by fork, clone and clone3 through syscall() and by
 *                                clone(), and one by a clone that shares descriptors
 *   family copy SECONDS          loads a preloaded libcoz.so once more, as a program in an emulator
 *                                does, and works
 *   family work SECONDS          works
 *   family threads SECONDS       works in a new thread each time
 *
 * Prints "ok" and ends with 0, or says what went wrong and ends with 1.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "clone_as_fork.h"
#include "coz.h"

extern char** environ;

#define CHECK(condition)                                                                 \
  do {                                                                                   \
    if (!(condition)) {                                                                  \
      fprintf(stderr, "line %d: %s is false (errno %d)\n", __LINE__, #condition, errno); \
      _exit(1);                                                                          \
    }                                                                                    \
  } while (0)

static double now_s(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

__attribute__((noinline)) static uint64_t spin(uint64_t x, int steps) {
  for (int i = 0; i < steps; ++i) x = x * 6364136223846793005u + (x >> 29);
  return x;
}
/* Two copies, so that each has a line of its own. */
__attribute__((noinline)) static uint64_t childs_work(uint64_t x, int steps) {
  for (int i = 0; i < steps; ++i) x = x * 6364136223846793005u + (x >> 28);
  return x;
}
__attribute__((noinline)) static uint64_t parents_work(uint64_t x, int steps) {
  for (int i = 0; i < steps; ++i) x = x * 6364136223846793005u + (x >> 27);
  return x;
}

static void work(double seconds) {
  const double end_s = now_s() + seconds;
  volatile uint64_t x = 1;
  do {
    x = spin(x, 100000);
    COZ_PROGRESS_NAMED("work");
  } while (now_s() < end_s);
}

static void* work_once(void* x) {
  *(uint64_t*)x = spin(*(uint64_t*)x, 100000);
  return NULL;
}

static void work_in_threads(double seconds) {
  const double end_s = now_s() + seconds;
  uint64_t x = 1;
  do {
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, work_once, &x) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    COZ_PROGRESS_NAMED("work");
  } while (now_s() < end_s);
}

/* On one CPU, a process that wakes another would often be preempted by it, and the shares would
 * depend on that. */
static void use_cpu(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  if (sysconf(_SC_NPROCESSORS_ONLN) > cpu) CHECK(sched_setaffinity(0, sizeof(set), &set) == 0);
}

static int wait_status(pid_t child) {
  int status = -1;
  CHECK(waitpid(child, &status, 0) == child);
  return status;
}
static int ended_with(pid_t child, int expected) {
  const int status = wait_status(child);
  return WIFEXITED(status) && WEXITSTATUS(status) == expected;
}

static void relay(double seconds) {
  int to_child[2], to_parent[2];
  CHECK(pipe(to_child) == 0 && pipe(to_parent) == 0);
  volatile uint64_t x = 1;
  char token = 0;
  const pid_t child = fork();
  if (child == 0) {
    use_cpu(1);
    close(to_child[1]);
    close(to_parent[0]);
    while (read(to_child[0], &token, 1) == 1) {
      x = childs_work(x, 1500000);
      CHECK(write(to_parent[1], &token, 1) == 1);
    }
    exit(0);
  }
  use_cpu(0);
  close(to_child[0]);
  const double end_s = now_s() + seconds;
  const double least_rounds = 100 * seconds; /* on a busy machine that takes longer */
  for (int rounds = 0; rounds < least_rounds || now_s() < end_s; ++rounds) {
    CHECK(write(to_child[1], &token, 1) == 1);
    CHECK(read(to_parent[0], &token, 1) == 1);
    x = parents_work(x, 3500000);
    COZ_PROGRESS_NAMED("rounds");
  }
  close(to_child[1]);
  CHECK(ended_with(child, 0));
}

static void beside(double seconds) {
  const double end_s = now_s() + seconds;
  volatile uint64_t x = 1;
  const pid_t child = fork();
  while (now_s() < end_s) {
    x = child == 0 ? childs_work(x, 300000) : parents_work(x, 300000);
    COZ_PROGRESS_NAMED("rounds");
  }
  if (child == 0) exit(0);
  CHECK(ended_with(child, 0));
}

static void workers(int count, double seconds) {
  pid_t pids[64];
  CHECK(count <= 64);
  for (int i = 0; i < count; ++i) {
    pids[i] = fork();
    if (pids[i] == 0) {
      work(seconds);
      exit(i);
    }
  }
  for (int i = 0; i < count; ++i) CHECK(ended_with(pids[i], i));
}

/* A child that ends in the way of this number. */
static void end_somehow(int way) {
  volatile uint64_t x = spin(1, 1000);
  (void)x;
  COZ_PROGRESS_NAMED("born");
  switch (way % 5) {
    case 0:
      _exit(3);
    case 1:
      exit(3);
    case 2:
      execlp("sh", "sh", "-c", "exit 3", (char*)NULL);
      _exit(1);
    case 3:
      quick_exit(3);
    default:
      if (fork() == 0) _exit(0); /* a grandchild that nobody waits for */
      _Exit(3);
  }
}

__attribute__((noinline)) static pid_t child_of_vfork(void) {
  const pid_t child = vfork();
  if (child == 0) {
    signal(SIGTRAP, SIG_DFL); /* its own disposition, though the memory is its parent's */
    _exit(3);
  }
  return child;
}

/* The kinds of `family raw`. */
enum { BY_FORK, BY_CLONE, BY_CLONE3, BY_LIBC, SHARING_FILES };

static pid_t raw_child(int kind) {
  struct clone_args arguments = {.exit_signal = SIGCHLD};
  switch (kind) {
    case BY_FORK:
      return (pid_t)syscall(SYS_fork);
    case BY_CLONE:
      return (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
    case BY_CLONE3:
      return (pid_t)syscall(SYS_clone3, &arguments, sizeof(arguments));
    case BY_LIBC:
      return clone_as_fork();
    default:
      return (pid_t)syscall(SYS_clone, SIGCHLD | CLONE_FILES, NULL, NULL, NULL, NULL);
  }
}

static _Alignas(16) char clone_stack[65536];
static int return_argument(void* argument) { return (int)(intptr_t)argument; }

static void raw(int count) {
  volatile uint64_t x = 1;
  for (int i = 0; i < count; ++i) {
    errno = E2BIG;
    const pid_t child = raw_child(i % SHARING_FILES);
    CHECK(child >= 0 && errno == E2BIG);
    if (child == 0) {
      for (int visits = 0; visits < 100; ++visits) {
        x = spin(x, 100000);
        COZ_PROGRESS_NAMED("born");
      }
      _exit(3);
    }
    CHECK(ended_with(child, 3));
  }
  const pid_t sharing = raw_child(SHARING_FILES);
  if (sharing == 0) _exit(3);
  CHECK(ended_with(sharing, 3));
  const pid_t returning =
      clone(return_argument, clone_stack + sizeof(clone_stack), SIGCHLD, (void*)(intptr_t)4);
  CHECK(returning > 0);
  CHECK(ended_with(returning, 4));
  CHECK(clone(return_argument, NULL, SIGCHLD, NULL) == -1 && errno == EINVAL);
  CHECK(syscall(SYS_clone3, (void*)8, sizeof(struct clone_args)) == -1 && errno == EFAULT);
  const double end_s = now_s() + 0.3;
  while (now_s() < end_s) x = parents_work(x, 100000);
}

static void bomb(int count) {
  for (int i = 0; i < count; ++i) {
    pid_t child;
    if (i % 10 == 9) {
      child = child_of_vfork();
    } else {
      child = fork();
      if (child == 0) end_somehow(i);
    }
    CHECK(ended_with(child, 3));
  }
  pid_t* children = malloc((size_t)count * sizeof(pid_t));
  for (int i = 0; i < count; ++i) {
    children[i] = fork();
    CHECK(children[i] >= 0);
    if (children[i] == 0) end_somehow(i);
  }
  for (int i = 0; i < count; ++i) CHECK(ended_with(children[i], 3));
  free(children);
}

/* A program may dup2 onto a number that it has not opened, whatever is there. */
static void take_numbers_in_use(int fd) {
  const int limit = (int)sysconf(_SC_OPEN_MAX);
  int taken = 0;
  for (int to = fd + 1; to < limit && taken < 2; ++to) {
    if (fcntl(to, F_GETFD) == -1) continue;
    CHECK((taken++ == 0 ? dup3(fd, to, O_CLOEXEC) : dup2(fd, to)) == to);
  }
}

/* As crash handlers and launchers do, which report each number that cannot be closed. */
static void close_all_listed(void) {
  DIR* const directory = opendir("/proc/self/fd");
  CHECK(directory != NULL);
  for (const struct dirent* entry; (entry = readdir(directory)) != NULL;) {
    const int fd = atoi(entry->d_name);
    if (fd > 2 && fd != dirfd(directory)) CHECK(close(fd) == 0);
  }
  closedir(directory);
}

static void closer(double seconds) {
  const pid_t child = fork();
  if (child == 0) {
    CHECK(setsid() > 0);
    close_all_listed();
    CHECK(close_range(3, ~0U, 0) == 0);
    for (int fd = 3; fd < 4096; ++fd) close(fd);
    /* As daemons do: the lowest numbers are to be had again, and are all that is open. */
    CHECK(open("/dev/null", O_RDWR) == 3);
    CHECK(dup2(3, 1000) == 1000);
    CHECK(dup2(3, 1001) == 1001);
    CHECK(fcntl(1000, F_GETFD) == 0);
    CHECK(close(1000) == 0 && close(1000) == -1 && errno == EBADF);
    CHECK(dup3(3, 1000, O_CLOEXEC) == 1000 && fcntl(1000, F_GETFD) == FD_CLOEXEC);
    CHECK(dup3(3, 3, 0) == -1 && errno == EINVAL);
    CHECK(close(1000) == 0 && close(1001) == 0);
    take_numbers_in_use(3);
    closefrom(3);
    CHECK(fcntl(3, F_GETFD) == -1 && errno == EBADF);
    CHECK(open("/dev/null", O_RDWR) == 3);
    work(seconds);
    if (fork() == 0) exit(0);
    CHECK(wait(NULL) > 0);
    exit(0);
  }
  CHECK(ended_with(child, 0));
}

static void killed(double seconds) {
  const double end_s = now_s() + seconds;
  while (now_s() < end_s) {
    const pid_t child = fork();
    if (child == 0) {
      work(1000);
      _exit(1);
    }
    work(0.15); /* meanwhile each imposes delays on the other */
    CHECK(kill(child, SIGKILL) == 0);
    const int status = wait_status(child);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  }
}

static void orphan(double seconds) {
  int begun[2];
  char token = 0;
  CHECK(pipe(begun) == 0);
  if (fork() == 0) {
    CHECK(write(begun[1], &token, 1) == 1);
    work(seconds);
    exit(0);
  }
  CHECK(read(begun[0], &token, 1) == 1);
}

static void chain(int count, const char* seconds) {
  if (count == 0) {
    work(atof(seconds));
    return;
  }
  char rest[16];
  snprintf(rest, sizeof(rest), "%d", count - 1);
  volatile uint64_t x = spin(1, 20000000);
  (void)x;
  char* arguments[] = {"family", "chain", rest, (char*)seconds, NULL};
  switch (count % 4) {
    case 0:
      execl("/proc/self/exe", "family", "chain", rest, seconds, (char*)NULL);
      break;
    case 1:
      execvpe("/proc/self/exe", arguments, environ);
      break;
    case 2:
      fexecve(open("/proc/self/exe", O_RDONLY | O_CLOEXEC), arguments, environ);
      break;
    default:
      execveat(AT_FDCWD, "/proc/self/exe", arguments, environ, 0);
  }
  CHECK(0);
}

static void spawn(const char* seconds) {
  char self[4096];
  const ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
  CHECK(length > 0);
  self[length] = '\0';
  pid_t child;
  char* plain[] = {self, "work", (char*)seconds, NULL};
  CHECK(posix_spawn(&child, self, NULL, NULL, plain, environ) == 0);
  CHECK(ended_with(child, 0));
  char* bare[] = {"env", "-i", self, "work", "0.1", NULL};
  CHECK(posix_spawnp(&child, "env", NULL, NULL, bare, environ) == 0);
  CHECK(ended_with(child, 0));
  char* missing[] = {"/nonexistent/program", NULL};
  CHECK(posix_spawn(&child, missing[0], NULL, NULL, missing, environ) == ENOENT);
}

struct shared_state {
  pthread_mutex_t mutex;
  pthread_cond_t turned;
  sem_t tokens;
  int turn;
  int stop;
};

static void shared(double seconds) {
  struct shared_state* state =
      mmap(NULL, sizeof(*state), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  CHECK(state != MAP_FAILED);
  pthread_mutexattr_t mutex_attributes;
  pthread_condattr_t condition_attributes;
  pthread_mutexattr_init(&mutex_attributes);
  pthread_mutexattr_setpshared(&mutex_attributes, PTHREAD_PROCESS_SHARED);
  pthread_condattr_init(&condition_attributes);
  pthread_condattr_setpshared(&condition_attributes, PTHREAD_PROCESS_SHARED);
  CHECK(pthread_mutex_init(&state->mutex, &mutex_attributes) == 0);
  CHECK(pthread_cond_init(&state->turned, &condition_attributes) == 0);
  CHECK(sem_init(&state->tokens, 1, 0) == 0);
  volatile uint64_t x = 1;
  const pid_t child = fork();
  if (child == 0) {
    use_cpu(1);
    for (;;) {
      pthread_mutex_lock(&state->mutex);
      while (state->turn != 1 && !state->stop) pthread_cond_wait(&state->turned, &state->mutex);
      const int stop = state->stop;
      state->turn = 0;
      pthread_mutex_unlock(&state->mutex);
      if (stop) exit(0);
      x = childs_work(x, 1500000);
      sem_post(&state->tokens);
    }
  }
  use_cpu(0);
  const double end_s = now_s() + seconds;
  while (now_s() < end_s) {
    pthread_mutex_lock(&state->mutex);
    state->turn = 1;
    pthread_cond_signal(&state->turned);
    pthread_mutex_unlock(&state->mutex);
    CHECK(sem_wait(&state->tokens) == 0);
    x = parents_work(x, 3500000);
    COZ_PROGRESS_NAMED("rounds");
  }
  pthread_mutex_lock(&state->mutex);
  state->stop = 1;
  pthread_cond_signal(&state->turned);
  pthread_mutex_unlock(&state->mutex);
  CHECK(ended_with(child, 0));
}

static void copy(double seconds) {
  const char* preloaded = getenv("LD_PRELOAD");
  CHECK(preloaded == NULL || dlmopen(LM_ID_NEWLM, preloaded, RTLD_NOW) != NULL);
  work(seconds);
}

int main(int argc, char** argv) {
  const char* what = argc > 2 ? argv[1] : "";
  const char* last = argc > 2 ? argv[argc - 1] : "0";
  const double seconds = atof(last);
  if (strcmp(what, "relay") == 0)
    relay(seconds);
  else if (strcmp(what, "beside") == 0)
    beside(seconds);
  else if (strcmp(what, "workers") == 0)
    workers(atoi(argv[2]), seconds);
  else if (strcmp(what, "bomb") == 0)
    bomb(atoi(last));
  else if (strcmp(what, "closer") == 0)
    closer(seconds);
  else if (strcmp(what, "killed") == 0)
    killed(seconds);
  else if (strcmp(what, "orphan") == 0)
    orphan(seconds);
  else if (strcmp(what, "chain") == 0)
    chain(atoi(argv[2]), last);
  else if (strcmp(what, "spawn") == 0)
    spawn(last);
  else if (strcmp(what, "shared") == 0)
    shared(seconds);
  else if (strcmp(what, "raw") == 0)
    raw(atoi(last));
  else if (strcmp(what, "copy") == 0)
    copy(seconds);
  else if (strcmp(what, "work") == 0)
    work(seconds);
  else if (strcmp(what, "threads") == 0)
    work_in_threads(seconds);
  else
    return 2;
  puts("ok");
  return 0;
}
