/*
 * A launcher, as mpirun or timeout is one: starts a program, hardly uses the CPU, and ends as the
 * program does.
 *   starter PROGRAM [ARGUMENTS] | starter fail STATUS: ends so before it starts anything
 */
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  if (argc == 3 && strcmp(argv[1], "fail") == 0) return atoi(argv[2]);
  const pid_t child = fork();
  if (child < 0) return 126;
  if (child == 0) {
    execvp(argv[1], argv + 1);
    _exit(127);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
