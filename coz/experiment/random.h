// Random numbers that are the same for the same seed on every machine, compiler and library.
//
// Shape    a 64-bit counter and a mixing function (splitmix64); period 2^64
// Units    none
// Errors   none
// Threads  compatible
// Signals  none
// Source   Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014
//
// The distributions of the C++ library are not used: the standard leaves their results open.
#ifndef COZ_EXPERIMENT_RANDOM_H_
#define COZ_EXPERIMENT_RANDOM_H_

#include <cstdint>
#include <random>

namespace coz {

class Random {
 public:
  // `stream` gives independent sequences for one seed, so that one user's draws do not shift
  // another's.
  explicit Random(uint64_t seed, uint64_t stream = 0) : state_(Mix(seed) ^ Mix(~stream)) {}

  uint64_t Next() { return Mix(state_ += kGamma); }

  // Uniform in [0, bound); bound > 0. Draws again where a plain remainder would favour small
  // values.
  uint64_t Below(uint64_t bound) {
    const uint64_t tail = (0 - bound) % bound;  // 2^64 mod bound
    uint64_t draw = Next();
    while (draw < tail) draw = Next();
    return draw % bound;
  }

  // Uniform in [0, 1), a multiple of 2^-53.
  double Fraction() { return static_cast<double>(Next() >> 11) * 0x1.0p-53; }

 private:
  static constexpr uint64_t kGamma = 0x9E3779B97F4A7C15;  // 2^64 / golden ratio, odd

  static uint64_t Mix(uint64_t z) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return z ^ (z >> 31);
  }

  uint64_t state_;
};

// A seed of the system's, for a run that was given none.
inline uint64_t DrawSeed() {
  std::random_device device;
  return (static_cast<uint64_t>(device()) << 32) | device();
}

}  // namespace coz

#endif  // COZ_EXPERIMENT_RANDOM_H_
