#include "coz/testing/puppets/api_many.h"

// Each another one, or the compiler would make one of them.
#define COZ_DEFINE(n)                                                      \
  uint64_t Many##n(uint64_t x) {                                           \
    for (int i = 0; i < 10; ++i) x = x * 6364136223846793005u + (x >> 29); \
    return x + n;                                                          \
  }
COZ_FOR_EACH_OF_MANY(COZ_DEFINE)

extern "C" uint64_t OtherNameOfMany100(uint64_t x) __attribute__((alias("Many100")));
