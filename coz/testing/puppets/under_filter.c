/*
 * Runs a program under a filter of system calls, as systemd starts its services.
 *
 *   under_filter ANSWER NUMBER,NUMBER,... PROGRAM ARGUMENTS...
 *
 * ANSWER    to calls of these numbers: "kill", "trap", or an error's number
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { kMostNumbers = 32 };

static uint32_t answer_of(const char* word) {
  if (strcmp(word, "kill") == 0) return SECCOMP_RET_KILL_PROCESS;
  if (strcmp(word, "trap") == 0) return SECCOMP_RET_TRAP;
  return SECCOMP_RET_ERRNO | ((uint32_t)atoi(word) & SECCOMP_RET_DATA);
}

/* A place for a progress point that is not visited. */
__attribute__((noinline)) void never_called(void) { puts("called"); }

int main(int argc, char** argv) {
  if (argc < 1) never_called();
  if (argc < 4) return 2;
  struct sock_filter code[2 * kMostNumbers + 2];
  unsigned short used = 0;
  code[used++] =
      (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
  const uint32_t answer = answer_of(argv[1]);
  for (char* word = strtok(argv[2], ","); word && used < 2 * kMostNumbers;
       word = strtok(NULL, ",")) {
    code[used++] =
        (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)atoi(word), 0, 1);
    code[used++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, answer);
  }
  code[used++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  const struct sock_fprog filter = {used, code};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) {
    perror("under_filter");
    return 2;
  }
  execv(argv[3], argv + 3);
  perror(argv[3]);
  return 2;
}
