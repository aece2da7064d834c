#include "coz/testing/puppets/api_library.h"

#include <unistd.h>

extern "C" {

uint64_t ApiPlain(uint64_t x) {
  for (int i = 0; i < 100; ++i) x = x * 6364136223846793005u + (x >> 29);
  return x;
}

uint64_t ApiTail(uint64_t x) { return ApiPlain(x + 1); }

uint64_t ApiInside(uint64_t x) { return ApiPlain(x) * 3 + ApiPlain(x + 1); }

uint64_t ApiThrows(uint64_t x) {
  if (x % 10 == 0) throw x;
  return ApiPlain(x) * 3 + 1;
}

uint64_t ApiJumps(uint64_t x, jmp_buf* back) {
  if (x % 10 == 0) longjmp(*back, 1);
  return ApiPlain(x) * 3 + 1;
}

uint64_t ApiCalls(uint64_t (*function)(uint64_t), uint64_t x) { return function(x) * 3 + 1; }

void ApiWaits() {
  for (;;) pause();
}

double ApiMany(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f, double g,
               double h, double i, double j, double k, double l, double m, double n, uint64_t o,
               double p) {
  return static_cast<double>(a + b + c + d + e + f + o) + g + h + i + j + k + l + m + n + p;
}

}  // extern "C"
