// Tells whether what the program passes to a call can be read, mostly without a system call.
//
// Shape    each thread remembers pages that it has found readable, for the next kUses questions
// Units    none
// Errors   none: what cannot be read is the answer
// Threads  safe
// Signals  async-signal-safe; errno is left alone
// Source   coz/base/readable.h
//
// A call of the program that is handed a bad pointer has to fail as without coz, so wrapped calls
// look first. That is a system call at each, which in some virtual machines costs as much as the
// program's own. Addresses and headers lie on the same few pages again and again. Limit: a program
// that unmaps such a page and passes a pointer into it, within the next kUses calls of one thread,
// crashes where without coz its call would fail.
#ifndef COZ_SYNC_INTERPOSE_LATELY_READABLE_H_
#define COZ_SYNC_INTERPOSE_LATELY_READABLE_H_

#include <cstddef>
#include <cstdint>

#include "coz/base/readable.h"

namespace coz::interpose {
namespace lately_readable_internal {

struct Page {
  uintptr_t number;
  uint32_t uses_left;
};
constexpr size_t kPages = 8;
constexpr uint32_t kUses = 63;
extern __thread Page t_pages[kPages]
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

}  // namespace lately_readable_internal

// Whether the object can be read, now or at one of the last questions about its page.
inline bool IsLatelyReadable(const void* object, size_t bytes) {
  using lately_readable_internal::kPages;
  constexpr int kPageBits = 12;
  const auto first = reinterpret_cast<uintptr_t>(object);
  const uintptr_t number = first >> kPageBits;
  if (bytes == 0 || (first + bytes - 1) >> kPageBits != number) return IsReadable(object, bytes);
  lately_readable_internal::Page& page = lately_readable_internal::t_pages[number % kPages];
  if (page.number == number && page.uses_left > 0) {
    --page.uses_left;
    return true;
  }
  if (!IsReadable(first & ~(kReadableGrain - 1))) return false;
  page.uses_left = 0;  // a handler may come in between
  page.number = number;
  page.uses_left = lately_readable_internal::kUses;
  return true;
}

}  // namespace coz::interpose

#endif  // COZ_SYNC_INTERPOSE_LATELY_READABLE_H_
