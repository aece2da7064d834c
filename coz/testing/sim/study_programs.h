// The programs of bench/accuracy in virtual time: what is predicted of them where a machine adds
// nothing.
//
// Shape    a list of programs by the name that they have there; point 0 is their progress
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

// An open loop: orders come at random, whether the server keeps up or not. Its progress is a
// latency pair.
StudyProgram Latency();

// Those whose threads wait for each other, and are predicted.
std::vector<StudyProgram> StudyPrograms();

// Those with more threads than a machine of two CPUs has.
std::vector<StudyProgram> CrowdedPrograms();

}  // namespace coz::sim

#endif  // COZ_TESTING_SIM_STUDY_PROGRAMS_H_
