// Has marks of each kind, one of them twice.
#include "coz/runtime/coz.h"

int main(void) {
  COZ_BEGIN("order");
  COZ_PROGRESS_NAMED("items");
  COZ_PROGRESS_NAMED("items");
  COZ_END("order");
  return 0;
}
