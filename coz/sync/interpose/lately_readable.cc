// See the header. Process: target. Context: the program's threads.
#include "coz/sync/interpose/lately_readable.h"

namespace coz::interpose::lately_readable_internal {

__thread Page t_pages[kPages] = {};

}  // namespace coz::interpose::lately_readable_internal
