// Random programs of the common kinds of multi-threaded programs.
//
// Shape    one program per seed and kind, in rounds of some tens of milliseconds; point 0 is its
//          progress
// Units    ns of simulated time
// Errors   none
// Threads  safe
// Signals  none
// Source   none
#ifndef COZ_TESTING_SIM_RANDOM_PROGRAM_H_
#define COZ_TESTING_SIM_RANDOM_PROGRAM_H_

#include <string_view>

#include "coz/base/random.h"
#include "coz/testing/sim/program.h"

namespace coz::sim {

enum class Kind {
  kSerial,     // one thread that works and sleeps, beside threads that do not affect progress
  kBarrier,    // rounds that end at a barrier
  kForkJoin,   // a thread per task
  kPipeline,   // stages with bounded queues of mutex and conditions
  kMutex,      // threads that contend for locks
  kSemaphore,  // producers and consumers
  kRwLock,     // readers and writers
  kTimedWait,  // conditions with time-outs
  kSpin,       // a spin-wait instead of a wait
  kInput,      // events from outside set the pace
};
inline constexpr int kKinds = 10;

std::string_view KindName(Kind kind);

// Whether theory says that prediction and truth are equal when there are enough CPUs.
bool PredictionIsExact(Kind kind);

Program RandomProgram(Kind kind, Random& random);

// Makes all times of the program shorter, as many times as `parts`: rounds of some tens of
// milliseconds become as many of some hundreds of microseconds with 100.
void DivideTimes(Program& program, uint64_t parts);

// Puts random programs of one kind side by side in one process until it has at least `threads`
// threads. They share only the lines and the progress point.
Program RandomCrowd(Kind kind, Random& random, uint32_t threads);

}  // namespace coz::sim

#endif  // COZ_TESTING_SIM_RANDOM_PROGRAM_H_
