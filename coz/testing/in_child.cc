#include "coz/testing/in_child.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>

namespace coz::testing {

int RunInChild(const std::function<void()>& body) {
  fflush(nullptr);
  const pid_t child = fork();
  if (child < 0) abort();
  if (child == 0) {
    body();
    fflush(nullptr);
    _exit(0);
  }
  int status = 0;
  if (waitpid(child, &status, 0) != child) abort();
  return status;
}

}  // namespace coz::testing
