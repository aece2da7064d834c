/* The header as strict C99, and as C++98: compiled with -pedantic-errors, run without the
 * profiler. */
#include "coz/runtime/coz.h"

static int visit(int n) {
  if (n > 0) COZ_PROGRESS
  if (n > 1) {
    COZ_PROGRESS_NAMED("named");
  }
  char made[] = "made while it runs";
  COZ_PROGRESS_NAMED(made);
  COZ_BEGIN(&made[5]);
  COZ_BEGIN("pair");
  COZ_END("pair");
  COZ_BEGIN_ID("numbered", n);
  COZ_END_ID("numbered", n);
  COZ_PRE_BLOCK;
  COZ_POST_BLOCK(1);
  COZ_CATCH_UP;
  return n;
}

int main(void) {
  int sum = 0;
  for (int i = 0; i < 3; ++i) sum += visit(i);
  return sum == 3 ? 0 : 1;
}
