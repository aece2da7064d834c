// Calls that close or replace descriptors by number. They skip the profiler's descriptors, and
// succeed as if they had closed them. close() is in io.cc. Process: target. Context: the program's
// threads, and children of vfork.
#include <errno.h>
#include <unistd.h>

#include "coz/base/reserved_descriptors.h"
#include "coz/sync/interpose/file_lock.h"
#include "coz/sync/interpose/io_object.h"
#include "coz/sync/interpose/process_hooks.h"
#include "coz/sync/interpose/wrapped_calls.h"

namespace coz::interpose {
namespace {

// Makes close_range on each range between reserved descriptors.
int CloseRangeAroundReserved(unsigned first, unsigned last, int flags) {
  unsigned from = first;
  while (from <= last) {
    const int reserved = from <= INT32_MAX ? NextReservedDescriptor(static_cast<int>(from)) : -1;
    if (reserved < 0 || static_cast<unsigned>(reserved) > last) {
      return g_real.close_range(from, last, flags);
    }
    const unsigned next = static_cast<unsigned>(reserved);
    if (next > from && g_real.close_range(from, next - 1, flags) != 0) return -1;
    from = next + 1;
  }
  return 0;
}

bool HasReservedFrom(unsigned first) {
  return first <= INT32_MAX && NextReservedDescriptor(static_cast<int>(first)) >= 0;
}

}  // namespace
}  // namespace coz::interpose

using coz::interpose::g_real;

extern "C" {

int dup2(int from, int to) noexcept {
  if (coz::IsReservedDescriptor(to)) coz::interpose::g_process_hooks.make_way_for_descriptor(to);
  coz::interpose::PayBeforeLocksGoWith(to);
  coz::interpose::NoteNewMeaning(to);
  return g_real.dup2(from, to);
}
COZ_SECOND_NAME(__dup2, dup2);

int dup3(int from, int to, int flags) noexcept {
  if (coz::IsReservedDescriptor(to)) coz::interpose::g_process_hooks.make_way_for_descriptor(to);
  coz::interpose::PayBeforeLocksGoWith(to);
  coz::interpose::NoteNewMeaning(to);
  return g_real.dup3(from, to, flags);
}

int close_range(unsigned first, unsigned last, int flags) noexcept {
  if (first > last || !coz::interpose::HasReservedFrom(first))
    return g_real.close_range(first, last, flags);
  return coz::interpose::CloseRangeAroundReserved(first, last, flags);
}

void closefrom(int first) noexcept {
  const unsigned from = first < 0 ? 0 : static_cast<unsigned>(first);
  const int saved_errno = errno;
  if (!coz::interpose::HasReservedFrom(from) ||
      coz::interpose::CloseRangeAroundReserved(from, ~0U, 0) != 0) {
    g_real.closefrom(first);
  }
  errno = saved_errno;
}

}  // extern "C"
