/* What host opens. */
#include <stdint.h>

uint64_t plugin_work(uint64_t x);

uint64_t plugin_work(uint64_t x) {
  for (int i = 0; i < 100000; ++i) x = x * 6364136223846793005u + (x >> 29);
  return x;
}
