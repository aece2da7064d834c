// Random numbers that are the same for the same seed on every machine, compiler and library.
//
// Shape    a 64-bit counter and a mixing function (splitmix64); period 2^64
// Units    none
// Errors   none
// Threads  compatible
// Signals  async-signal-safe
// Source   Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014;
//          Wolff, "Poisson arrivals see time averages", Operations Research 30(2), 1982
//
// The distributions of the C++ library are not used: the standard leaves their results open.
#ifndef COZ_BASE_RANDOM_H_
#define COZ_BASE_RANDOM_H_

#include <cstdint>

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

  // The time between two events of a Poisson process, for a mean below 2^32. The time since the
  // last event says nothing about the next, so such events keep step with nothing. Looks at such
  // times see a thing for the share of time that it takes, even if each look changes what follows.
  uint64_t ExponentialTime(uint64_t mean) {
    // A number of halvings, each as likely as not to be the last, and a part of one more.
    const uint64_t draw = Next();
    const auto halvings = static_cast<uint64_t>(__builtin_clzll(draw | 1));
    constexpr uint64_t kLn2 = 45426;  // in 2^-16, as all fractions here
    return (mean * kLn2 >> 16) * ((halvings << 16) + PartOfHalving(draw & 0xffff)) >> 16;
  }

 private:
  // -log2(1 - u / 2) by the cubic that has its values and slopes at 0 and 1.
  static uint64_t PartOfHalving(uint64_t u) {
    constexpr uint64_t kLinear = 47274;
    constexpr uint64_t kSquare = 7511;
    constexpr uint64_t kCube = 10751;
    const uint64_t square = u * u >> 16;
    const uint64_t cube = square * u >> 16;
    return (kLinear * u + kSquare * square + kCube * cube) >> 16;
  }

  static constexpr uint64_t kGamma = 0x9E3779B97F4A7C15;  // 2^64 / golden ratio, odd

  static uint64_t Mix(uint64_t z) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return z ^ (z >> 31);
  }

  uint64_t state_;
};

}  // namespace coz

#endif  // COZ_BASE_RANDOM_H_
