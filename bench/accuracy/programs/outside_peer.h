// A process that answers each byte after a delay. It is out of the profile where coz follows the
// program alone (--follow=none).
//
// Shape    one child process per program; it ends when its end of the channel is closed
// Units    us
// Errors   the program ends with status 2
// Threads  for the main thread, before there are others
// Signals  none
// Source   none
#ifndef COZ_BENCH_ACCURACY_PROGRAMS_OUTSIDE_PEER_H_
#define COZ_BENCH_ACCURACY_PROGRAMS_OUTSIDE_PEER_H_

#include <signal.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>

#include "bench/accuracy/workload.h"

namespace outside {

struct Channel {
  int requests;  // to be written to
  int answers;   // to be read from
};

// Forks the process, which reads from `their_requests` and writes to `their_answers`. Closes these
// two here, and `ours` there.
inline void StartPeer(uint64_t delay_us, int their_requests, int their_answers, Channel ours) {
  const pid_t child = fork();
  if (child < 0) exit(2);
  if (child > 0) {
    close(their_requests);
    if (their_answers != their_requests) close(their_answers);
    return;
  }
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  prctl(PR_SET_TIMERSLACK, 1);
  close(ours.requests);
  if (ours.answers != ours.requests) close(ours.answers);
  workload::UseCpu(0);
  const timespec delay = {0, static_cast<long>(1000 * delay_us)};
  char byte;
  while (read(their_requests, &byte, 1) == 1) {
    nanosleep(&delay, nullptr);
    if (write(their_answers, &byte, 1) != 1) break;
  }
  _exit(0);
}

}  // namespace outside

#endif  // COZ_BENCH_ACCURACY_PROGRAMS_OUTSIDE_PEER_H_
