// The programs of bench/accuracy in simulated time. They show what is predicted where a real
// machine adds nothing.
//
// Shape    a list of programs, with their names in bench/accuracy; point 0 is their progress
// Units    ns of simulated time
// Errors   none
// Threads  safe
// Signals  none
// Source   bench/accuracy/programs
#ifndef COZ_TESTING_SIM_STUDY_PROGRAMS_H_
#define COZ_TESTING_SIM_STUDY_PROGRAMS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "coz/testing/sim/program.h"

namespace coz::sim {

inline constexpr uint32_t kStudiedLines = 2;

struct StudyProgram {
  std::string name;
  std::vector<std::string> lines;  // by number; the first kStudiedLines are made faster
  Program program;
};

// Two threads that work beside each other and spin until the other has arrived.
StudyProgram SpinWait();

// A server whose second thread reads and writes for it, as redis with I/O threads: each spins until
// the other has done its part. Two batches of requests are on their way. Their client sleeps.
StudyProgram CrowdedSpin();

// One thread spins for the other in each round, and then sleeps. The other goes on without a call.
StudyProgram SpinThenSleep();

// Two threads hand over to each other by semaphores, once in a round. The one that goes on alone
// comes later than the other, and never waits for it.
StudyProgram SemaphoreThenSerial();

// An open loop: orders come at random times, whether the server keeps up or not. Its progress is a
// latency point.
StudyProgram Latency();

// One stage does two things, and its queue is never full: examples/pipeline.cc.
StudyProgram Stages();

// The programs whose threads wait for each other and that are predicted correctly.
std::vector<StudyProgram> StudyPrograms();

// The programs that have too many threads for a machine with two CPUs.
std::vector<StudyProgram> CrowdedPrograms();

}  // namespace coz::sim

#endif  // COZ_TESTING_SIM_STUDY_PROGRAMS_H_
