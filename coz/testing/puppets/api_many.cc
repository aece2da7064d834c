// Calls each function of libmany.so ten times.
#include "coz/testing/puppets/api_many.h"

int main() {
  uint64_t sum = 0;
  for (int i = 0; i < 10; ++i) {
#define COZ_CALL(n) sum += Many##n(sum);
    COZ_FOR_EACH_OF_MANY(COZ_CALL)
#undef COZ_CALL
  }
  return sum == 0 ? 1 : 0;
}
