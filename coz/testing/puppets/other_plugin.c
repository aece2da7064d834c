/* What reopener opens in turn with plugin.c. The function stands at other lines than plugin.c's. */
#include <stdint.h>

uint64_t plugin_work(uint64_t x);

uint64_t plugin_work(uint64_t x) {
  for (int i = 0; i < 50000; ++i) x = x * 2862933555777941757u + (x >> 31);
  for (int i = 0; i < 50000; ++i) x = x * 3202034522624059733u + (x >> 27);
  return x;
}
