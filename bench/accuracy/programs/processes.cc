// Rounds of a parent and its child process over pipes.
#include <sys/wait.h>
#include <unistd.h>

#include "bench/accuracy/workload.h"

int main(int argc, char** argv) {
  workload::Program program(argc, argv);
  const uint64_t child = program.Steps("child", 1000);
  const uint64_t parent = program.Steps("parent", 700);
  int to_child[2];
  int to_parent[2];
  if (pipe(to_child) != 0 || pipe(to_parent) != 0) return 2;
  char token = 0;
  const pid_t pid = fork();
  if (pid == 0) {
    close(to_child[1]);
    workload::UseCpu(1);
    uint64_t x = 1;
    while (read(to_child[0], &token, 1) == 1) {
      WORK(x, child);  // LINE(child)
      if (write(to_parent[1], &token, 1) != 1) break;
    }
    workload::Keep(x);
    _exit(0);
  }
  workload::UseCpu(0);
  program.Start();
  uint64_t x = 1;
  while (program.Running()) {
    if (write(to_child[1], &token, 1) != 1) return 2;
    WORK(x, parent);  // LINE(parent)
    if (read(to_parent[0], &token, 1) != 1) return 2;
    VISIT("rounds");
  }
  close(to_child[1]);
  waitpid(pid, nullptr, 0);
  workload::Keep(x);
  return program.Finish();
}
