// A seed for runs that were given none.
//
// Shape    one function
// Units    none
// Errors   as std::random_device
// Threads  safe
// Signals  none
// Source   the C++ standard, rand.device
#ifndef COZ_EXPERIMENT_SEED_H_
#define COZ_EXPERIMENT_SEED_H_

#include <cstdint>
#include <random>

namespace coz::experiment {

inline uint64_t DrawSeed() {
  std::random_device device;
  return (static_cast<uint64_t>(device()) << 32) | device();
}

}  // namespace coz::experiment

#endif  // COZ_EXPERIMENT_SEED_H_
