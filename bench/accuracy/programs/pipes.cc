// Rounds of two threads that wait for each other by reading from pipes.
#include <unistd.h>

#include <cstdlib>

#include "bench/accuracy/programs/rounds.h"

namespace {

class Gate {
 public:
  Gate() {
    if (pipe(ends_) != 0) abort();
  }
  void Post() {
    if (write(ends_[1], "", 1) != 1) abort();
  }
  void Wait() {
    char token;
    if (read(ends_[0], &token, 1) != 1) abort();
  }

 private:
  int ends_[2];
};

}  // namespace

int main(int argc, char** argv) { return rounds::RunRounds<Gate>(argc, argv, 1000, 700); }
