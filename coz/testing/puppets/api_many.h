// 200 functions of a library: Many100 to Many299.
#ifndef COZ_TESTING_PUPPETS_API_MANY_H_
#define COZ_TESTING_PUPPETS_API_MANY_H_

#include <cstdint>

// Does it for each of ten numbers that begin with these digits, and so on.
#define COZ_FIVE(DO, a, b, c, d, e) DO(a) DO(b) DO(c) DO(d) DO(e)
#define COZ_TEN(DO, n)                       \
  COZ_FIVE(DO, n##0, n##1, n##2, n##3, n##4) \
  COZ_FIVE(DO, n##5, n##6, n##7, n##8, n##9)
#define COZ_TENS(DO, a, b, c, d, e) \
  COZ_TEN(DO, a) COZ_TEN(DO, b) COZ_TEN(DO, c) COZ_TEN(DO, d) COZ_TEN(DO, e)
#define COZ_HUNDRED(DO, n)                   \
  COZ_TENS(DO, n##0, n##1, n##2, n##3, n##4) \
  COZ_TENS(DO, n##5, n##6, n##7, n##8, n##9)
#define COZ_FOR_EACH_OF_MANY(DO) COZ_HUNDRED(DO, 1) COZ_HUNDRED(DO, 2)

#define COZ_DECLARE(n) extern "C" uint64_t Many##n(uint64_t x);
COZ_FOR_EACH_OF_MANY(COZ_DECLARE)
#undef COZ_DECLARE

#endif  // COZ_TESTING_PUPPETS_API_MANY_H_
