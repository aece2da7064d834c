// libcoz.so's own versions of libc functions. Sanitizers' libraries define memcpy, strlen or
// clock_gettime for the whole process; theirs take locks, check shadow memory and look for races.
// In a handler that interrupts the sanitizer they wait for it for ever; elsewhere they report our
// memory as the program's. So ours are in the library, hidden. Process: target. Context: anywhere,
// before constructors too.
//
// What is here is called seldom or for a few bytes: simple is fast enough.
#include <dlfcn.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>

#include <atomic>
#include <cstdint>

#include "coz/base/raw_syscall.h"

namespace {

using ClockGettime = int (*)(clockid_t, timespec*);

std::atomic<ClockGettime> g_clock_gettime{nullptr};

// Finds libc's own, which asks the vDSO, whatever stands in front of it.
__attribute__((constructor(101))) void FindClock() {
  void* const libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
  if (libc == nullptr) return;
  g_clock_gettime.store(reinterpret_cast<ClockGettime>(dlsym(libc, "clock_gettime")),
                        std::memory_order_relaxed);
}

bool IsIn(char c, const char* set) {
  for (; *set != '\0'; ++set) {
    if (*set == c) return true;
  }
  return false;
}

size_t PrefixLength(const char* text, const char* set, bool in) {
  size_t length = 0;
  while (text[length] != '\0' && IsIn(text[length], set) == in) ++length;
  return length;
}

}  // namespace

// BUILD.bazel tells the compiler not to turn their loops into calls of these functions.
#define COZ_HIDDEN extern "C" __attribute__((visibility("hidden")))

COZ_HIDDEN int clock_gettime(clockid_t clock, timespec* now) noexcept {
  const ClockGettime call = g_clock_gettime.load(std::memory_order_relaxed);
  if (__builtin_expect(call != nullptr, 1)) return call(clock, now);
  return static_cast<int>(coz::RawSyscall(SYS_clock_gettime, clock, now));
}

// For libstdc++'s std::random_device, which nothing here calls. glibc before 2.36 has none.
COZ_HIDDEN uint32_t arc4random() noexcept {
  uint32_t number = 0;
  coz::RawSyscall(SYS_getrandom, &number, sizeof(number), 0);
  return number;
}

COZ_HIDDEN void* memcpy(void* to, const void* from, size_t bytes) noexcept {
  void* end = to;
  asm volatile("rep movsb" : "+D"(end), "+S"(from), "+c"(bytes) : : "memory");
  return to;
}

COZ_HIDDEN void* memmove(void* to, const void* from, size_t bytes) noexcept {
  auto* const out = static_cast<unsigned char*>(to);
  const auto* const in = static_cast<const unsigned char*>(from);
  if (out <= in || out >= in + bytes) return memcpy(to, from, bytes);
  while (bytes-- > 0) out[bytes] = in[bytes];
  return to;
}

COZ_HIDDEN void* memset(void* to, int value, size_t bytes) noexcept {
  void* end = to;
  asm volatile("rep stosb" : "+D"(end), "+c"(bytes) : "a"(value) : "memory");
  return to;
}

COZ_HIDDEN int memcmp(const void* a, const void* b, size_t bytes) noexcept {
  const auto* const left = static_cast<const unsigned char*>(a);
  const auto* const right = static_cast<const unsigned char*>(b);
  for (size_t i = 0; i < bytes; ++i) {
    if (left[i] != right[i]) return left[i] - right[i];
  }
  return 0;
}

COZ_HIDDEN size_t strnlen(const char* text, size_t limit) noexcept {
  size_t length = 0;
  while (length < limit && text[length] != '\0') ++length;
  return length;
}

COZ_HIDDEN size_t strlen(const char* text) noexcept { return strnlen(text, SIZE_MAX); }

COZ_HIDDEN int strncmp(const char* a, const char* b, size_t limit) noexcept {
  for (size_t i = 0; i < limit; ++i) {
    const auto left = static_cast<unsigned char>(a[i]);
    const auto right = static_cast<unsigned char>(b[i]);
    if (left != right || left == '\0') return left - right;
  }
  return 0;
}

COZ_HIDDEN int strcmp(const char* a, const char* b) noexcept { return strncmp(a, b, SIZE_MAX); }

COZ_HIDDEN char* strcpy(char* to, const char* from) noexcept {
  return static_cast<char*>(memcpy(to, from, strlen(from) + 1));
}

COZ_HIDDEN char* strncpy(char* to, const char* from, size_t bytes) noexcept {
  const size_t length = strnlen(from, bytes);
  memcpy(to, from, length);
  memset(to + length, 0, bytes - length);
  return to;
}

COZ_HIDDEN size_t strspn(const char* text, const char* set) noexcept {
  return PrefixLength(text, set, true);
}

COZ_HIDDEN size_t strcspn(const char* text, const char* set) noexcept {
  return PrefixLength(text, set, false);
}

COZ_HIDDEN int sigemptyset(sigset_t* set) noexcept {
  memset(set, 0, sizeof(*set));
  return 0;
}
