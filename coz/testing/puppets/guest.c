/*
 * Lives under conditions in which a profiler gets in the way, and prints what it found, so that two
 * runs can be compared.
 *
 *   guest descriptors         the numbers that it gets until there are no more
 *   guest hidden-library HOW  hides a libcoz.so that it has loaded in a namespace of its own, and
 *                             runs another program: by exec, execve, execvpe, fexecve, execveat,
 *                             spawn, system or popen
 *   guest strict|kill|errno   works, and works on under a seccomp filter that allows next to
 *                             nothing
 *   guest cloned              the same as kill, in a child by clone(), as sandboxes have it
 *   guest diverted            works, and works on while it gets SIGSYS for each system call that is
 *                             not libc's
 *   guest traced [before-exec]
 *                             traces a child, and counts the signals that it would have got while
 *                             it worked, as another program or before, too
 *   guest filtered-exec       runs another program under a filter that kills on perf_event_open
 *   guest limited             limits its address space, as servers do when they serve, and tries
 *                             how much of it there is, in a child, too
 *   guest signalled-reads     ends many reads by a signal, and counts those that went on
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clone_as_fork.h"
#include "coz.h"

extern char** environ;

/* Gets some hundred samples, and pauses while another thread or process is sped up. */
static void work(void) {
  volatile uint64_t x = 1;
  for (int round = 0; round < 100; ++round) {
    for (int i = 0; i < 1000000; ++i) x = x * 6364136223846793005u + (x >> 29);
    COZ_PROGRESS_NAMED("work");
  }
}

static int descriptors(void) {
  int fd, last = -1, count = 0;
  while ((fd = open("/dev/null", O_RDONLY)) >= 0) {
    if (count != 0 && fd != last + 1) dprintf(2, "%d is missing\n", last + 1);
    last = fd;
    ++count;
  }
  dprintf(1, "%d descriptors, then error %d\n", count, errno);
  return 0;
}

static void* nothing(void* unused) { return unused; }

static const char* can_map(size_t mega) {
  void* memory = mmap(NULL, mega << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return "no";
  munmap(memory, mega << 20);
  return "yes";
}

static int limited(void) {
  const struct rlimit wanted = {(rlim_t)400 << 20, (rlim_t)800 << 20};
  struct rlimit told;
  pthread_t thread;
  work();
  const int set = setrlimit(RLIMIT_AS, &wanted);
  const pid_t child = fork();
  getrlimit(RLIMIT_AS, &told);
  const int created = pthread_create(&thread, NULL, nothing, NULL);
  if (created == 0) pthread_join(thread, NULL);
  const char* much = can_map(200);
  work();
  dprintf(1, "%s: set %d, %d MB of %d, thread %d, 200 MB: %s, 500 MB: %s\n",
          child == 0 ? "child" : "parent", set, (int)(told.rlim_cur >> 20),
          (int)(told.rlim_max >> 20), created, much, can_map(500));
  if (child == 0) _exit(0);
  waitpid(child, NULL, 0);
  return 0;
}

static int run_another(const char* how) {
  char* arguments[] = {"echo", "hello", NULL};
  char answer[16] = "";
  pid_t child;
  int status = 1;
  if (strcmp(how, "spawn") == 0) {
    if (posix_spawnp(&child, "echo", NULL, NULL, arguments, environ) != 0) return 1;
    waitpid(child, &status, 0);
    return status;
  }
  if (strcmp(how, "system") == 0) return system("echo hello");
  if (strcmp(how, "popen") == 0) {
    FILE* echo = popen("echo hello", "r");
    if (echo != NULL && fgets(answer, sizeof(answer), echo) != NULL) fputs(answer, stdout);
    return echo == NULL ? 1 : pclose(echo);
  }
  if (strcmp(how, "execve") == 0) return execve("/bin/echo", arguments, environ);
  if (strcmp(how, "execvpe") == 0) return execvpe("echo", arguments, environ);
  const int program = open("/bin/echo", O_RDONLY | O_CLOEXEC);
  if (strcmp(how, "fexecve") == 0) return fexecve(program, arguments, environ);
  if (strcmp(how, "execveat") == 0) {
    return execveat(program, "", arguments, environ, AT_EMPTY_PATH);
  }
  execvp("echo", arguments);
  return 1;
}

static int hidden_library(const char* how) {
  char line[4096];
  FILE* maps = fopen("/proc/self/maps", "r");
  if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0 || maps == NULL) return 77;
  while (fgets(line, sizeof(line), maps) != NULL) {
    char* end = strstr(line, "/libcoz.so");
    if (end == NULL) continue;
    *end = '\0';
    if (mount("none", strchr(line, '/'), "tmpfs", 0, NULL) != 0) return 77;
    break;
  }
  fclose(maps);
  return run_another(how);
}

#define ALLOW(call)                                      \
  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##call, 0, 1), \
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define LOAD_CALL BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))

static void install(struct sock_filter* filter, unsigned short length, int by_system_call) {
  const struct sock_fprog program = {length, filter};
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  const long result = by_system_call ? syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program)
                                     : prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
  if (result != 0) dprintf(2, "no filter: %d\n", errno);
}

static void restrict_calls(uint32_t otherwise, int by_system_call) {
  struct sock_filter filter[] = {LOAD_CALL, ALLOW(write), ALLOW(exit_group), ALLOW(rt_sigreturn),
                                 BPF_STMT(BPF_RET | BPF_K, otherwise)};
  install(filter, sizeof(filter) / sizeof(filter[0]), by_system_call);
}

/* Runs it in a child while the parent works, so that the child has to pause. */
static int beside(pid_t (*copy)(void), void (*restrict_self)(void)) {
  const pid_t child = copy();
  if (child == 0) {
    work();
    restrict_self();
    work();
    COZ_PROGRESS_NAMED("restricted");
    const char said[] = "still here\n";
    if (write(1, said, sizeof(said) - 1) < 0) syscall(SYS_exit, 9);
    syscall(SYS_exit_group, getpgid(0) < 0 ? 5 : 6);
  }
  work();
  int status = 0;
  if (waitpid(child, &status, 0) != child) return 1;
  dprintf(1, "the child ended with %x\n", status);
  return 0;
}

static void strict(void) { prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT); }
static void kill_others(void) { restrict_calls(SECCOMP_RET_KILL_PROCESS, 0); }
static void deny_others(void) { restrict_calls(SECCOMP_RET_ERRNO | EPERM, 1); }

static int find_code_of_libc(struct dl_phdr_info* info, size_t size, void* found) {
  (void)size;
  if (strstr(info->dlpi_name, "/libc.so.6") == NULL) return 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)* header = &info->dlpi_phdr[i];
    if (header->p_type != PT_LOAD || (header->p_flags & PF_X) == 0) continue;
    ((uint64_t*)found)[0] = info->dlpi_addr + header->p_vaddr;
    ((uint64_t*)found)[1] = header->p_memsz;
    return 1;
  }
  return 0;
}
static void divert_others(void) {
  static const char divert = 1; /* SYSCALL_DISPATCH_FILTER_BLOCK */
  uint64_t code[2] = {0, 0};
  dl_iterate_phdr(find_code_of_libc, code);
  if (prctl(PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_ON, code[0], code[1], &divert) != 0) {
    dprintf(2, "not diverted: %d\n", errno);
  }
}

static int filtered_exec(void) {
  struct sock_filter filter[] = {LOAD_CALL,
                                 BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
                                 BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
                                 BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  install(filter, sizeof(filter) / sizeof(filter[0]), 0);
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) execlp("echo", "echo", "from a child", (char*)NULL);
  int status = 0;
  if (waitpid(child, &status, 0) != child) return 1;
  FILE* spawned = popen("echo from a shell", "r");
  char line[64] = "";
  if (spawned == NULL || fgets(line, sizeof(line), spawned) == NULL) dprintf(2, "nothing said\n");
  dprintf(1, "%s%d\n", line, status + (spawned != NULL ? pclose(spawned) : 1));
  execle("/bin/echo", "echo", "in its place", (char*)NULL, environ);
  return 1;
}

static int traced(const char* when) {
  const pid_t child = fork();
  if (child == 0) {
    ptrace(PTRACE_TRACEME, 0, NULL, NULL);
    if (strcmp(when, "before-exec") == 0) work();
    execl("/proc/self/exe", "guest", "work", (char*)NULL);
    _exit(1);
  }
  int status = 0, signals = 0;
  while (waitpid(child, &status, 0) == child && WIFSTOPPED(status)) {
    ++signals; /* the first is that of exec */
    ptrace(PTRACE_CONT, child, NULL, 0L);
  }
  dprintf(1, "%d signals, ended with %x\n", signals, status);
  return 0;
}

enum { kReads = 600 };

static int read_from[2];
static atomic_int reader_id, signals, interrupted, went_on;

static void count_signal(int number) {
  (void)number;
  atomic_fetch_add(&signals, 1);
}

static void* end_reads(void* nothing) {
  atomic_store(&reader_id, (int)syscall(SYS_gettid));
  for (int i = 0; i < kReads; ++i) {
    char byte;
    atomic_fetch_add(read(read_from[0], &byte, 1) < 0 && errno == EINTR ? &interrupted : &went_on,
                     1);
  }
  return nothing;
}

/* The thread sleeps in read. */
static int reads(int thread) {
  char path[64], call[8] = "";
  snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", thread);
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  const ssize_t bytes = read(fd, call, 2);
  close(fd);
  return bytes == 2 && call[0] == '0' && call[1] == ' ';
}

/* The reader works a little in each read, so some samples come with the signal. */
static int signalled_reads(void) {
  struct sigaction action;
  pthread_t reader;
  memset(&action, 0, sizeof(action));
  action.sa_handler = count_signal;
  sigaction(SIGUSR1, &action, NULL);
  if (pipe(read_from) != 0 || pthread_create(&reader, NULL, end_reads, NULL) != 0) return 1;
  while (atomic_load(&reader_id) == 0) sched_yield();
  for (int i = 0; i < kReads; ++i) {
    while (!reads(atomic_load(&reader_id))) COZ_PROGRESS_NAMED("look");
    pthread_kill(reader, SIGUSR1);
    while (atomic_load(&signals) == i) sched_yield();
    while (atomic_load(&interrupted) + atomic_load(&went_on) == i) {
      /* Asleep again, and in the same read if none has ended meanwhile. */
      if (reads(atomic_load(&reader_id)) &&
          atomic_load(&interrupted) + atomic_load(&went_on) == i) {
        if (write(read_from[1], "x", 1) != 1) return 1;
        while (atomic_load(&interrupted) + atomic_load(&went_on) == i) sched_yield();
      }
    }
  }
  pthread_join(reader, NULL);
  dprintf(1, "%d signals ended %d reads, %d went on\n", atomic_load(&signals),
          atomic_load(&interrupted), atomic_load(&went_on));
  return 0;
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "";
  if (strcmp(what, "descriptors") == 0) return descriptors();
  if (strcmp(what, "limited") == 0) return limited();
  if (strcmp(what, "hidden-library") == 0) return hidden_library(argc > 2 ? argv[2] : "exec");
  if (strcmp(what, "strict") == 0) return beside(fork, strict);
  if (strcmp(what, "kill") == 0) return beside(fork, kill_others);
  if (strcmp(what, "cloned") == 0) return beside(clone_as_fork, kill_others);
  if (strcmp(what, "errno") == 0) return beside(fork, deny_others);
  if (strcmp(what, "diverted") == 0) return beside(fork, divert_others);
  if (strcmp(what, "filtered-exec") == 0) return filtered_exec();
  if (strcmp(what, "traced") == 0) return traced(argc > 2 ? argv[2] : "");
  if (strcmp(what, "signalled-reads") == 0) return signalled_reads();
  if (strcmp(what, "work") == 0) return work(), 0;
  return 2;
}
