/*
 * Runs a command and visits a progress point every 5 ms until the command ends. Then ends in the
 * same way as the command.
 * compare.py starts each case by it, so that coz makes experiments, with pauses, whatever the
 * programs are.
 *
 * Usage: ticker COMMAND ARGUMENTS...
 */
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "coz.h"

int main(int argc, char** argv) {
  int status = 0;
  const pid_t child = argc > 1 ? fork() : -1;
  if (child < 0) return 126;
  if (child == 0) {
    execvp(argv[1], argv + 1);
    _exit(127);
  }
  while (waitpid(child, &status, WNOHANG) == 0) {
    const struct timespec tick = {0, 5000000};
    nanosleep(&tick, 0);
    COZ_PROGRESS_NAMED("tick");
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
