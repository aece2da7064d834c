// The header as C++11: in templates, inline functions and lambdas, and with the original's
// spelling.
#include "coz/runtime/coz.h"

namespace {

template <typename T>
T Visit(T value) {
  COZ_PROGRESS_NAMED("template");
  return value;
}

inline int VisitInline(int value) {
  COZ_PROGRESS
  COZ_BEGIN("inline");
  COZ_END("inline");
  COZ_BEGIN_ID("numbered", value);
  COZ_END_ID("numbered", value);
  return value;
}

}  // namespace

int main() {
  const auto lambda = [](int value) {
    COZ_PROGRESS;
    COZ_PRE_BLOCK;
    COZ_POST_BLOCK(0);
    COZ_CATCH_UP;
    return value;
  };
  return Visit(1) + static_cast<int>(Visit(2L)) + VisitInline(3) + lambda(4) == 10 ? 0 : 1;
}
