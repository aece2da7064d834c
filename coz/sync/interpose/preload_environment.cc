// Wraps no calls itself; exec.cc uses it. Process: target. Context: the program's threads, children
// of vfork, and the library's constructor.
#include "coz/sync/interpose/preload_environment.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "coz/base/raw_syscall.h"
#include "coz/shared/control_block.h"

namespace coz::interpose {
namespace {

constexpr char kPreload[] = "LD_PRELOAD=";
constexpr size_t kPreloadLength = sizeof(kPreload) - 1;
constexpr char kLibrary[] = "/libcoz.so";
constexpr size_t kLibraryLength = sizeof(kLibrary) - 1;
// The characters at which the dynamic linker ends a name.
constexpr char kSeparators[] = ": ";

char*** g_environment = &environ;

bool IsOurs(const char* name, size_t length) {
  return length >= kLibraryLength &&
         memcmp(name + length - kLibraryLength, kLibrary, kLibraryLength) == 0;
}

// How this process's own libcoz.so was named. Empty: not known.
char g_own_library[PATH_MAX];

// While this object lives, the calling thread has only the capabilities that the next program will
// have. A user other than root keeps only ambient capabilities across exec. (setpriv --reuid keeps
// all of root's capabilities until then, and could open anything.)
class CapabilitiesOfNextProgram {
 public:
  CapabilitiesOfNextProgram() {
    if (RawSyscall(SYS_geteuid) == 0 || RawSyscall(SYS_capget, &header_, saved_) != 0) return;
    constexpr int kWords = _LINUX_CAPABILITY_U32S_3;
    __user_cap_data_struct next[kWords];
    memcpy(next, saved_, sizeof(next));
    for (unsigned capability = 0; capability < 32 * kWords; ++capability) {
      uint32_t& word = next[capability / 32].effective;
      const uint32_t bit = uint32_t{1} << capability % 32;
      if ((word & bit) == 0 || IsAmbient(capability)) continue;
      word &= ~bit;
      changed_ = true;
    }
    if (changed_) changed_ = RawSyscall(SYS_capset, &header_, next) == 0;
  }
  ~CapabilitiesOfNextProgram() {
    if (changed_) RawSyscall(SYS_capset, &header_, saved_);
  }
  CapabilitiesOfNextProgram(const CapabilitiesOfNextProgram&) = delete;
  CapabilitiesOfNextProgram& operator=(const CapabilitiesOfNextProgram&) = delete;

 private:
  static bool IsAmbient(unsigned capability) {
    return RawSyscall(SYS_prctl, PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, capability, 0, 0) == 1;
  }

  __user_cap_header_struct header_ = {_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct saved_[_LINUX_CAPABILITY_U32S_3] = {};
  bool changed_ = false;
};

bool IsRefused(long result) {
  return result == -EACCES || result == -EPERM || result == -ENOENT || result == -ENOTDIR;
}

// Tries to open the file, as the next program will. A seccomp filter that lets programs start
// allows that.
bool CannotOpen(const char* path, int flags) {
  const CapabilitiesOfNextProgram capabilities;
  const long fd = RawSyscall(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC);
  if (fd >= 0) RawSyscall(SYS_close, fd);
  return IsRefused(fd);
}

bool CannotOpenLibrary(const char* name, size_t length) {
  char path[PATH_MAX];
  if (length >= sizeof(path)) return false;
  memcpy(path, name, length);
  path[length] = '\0';
  return CannotOpen(path, O_RDONLY);
}

// Calls visit(name, length) for each library of a list.
template <typename Visit>
void ForEachLibrary(const char* list, Visit visit) {
  for (list += strspn(list, kSeparators); *list != '\0'; list += strspn(list, kSeparators)) {
    const size_t length = strcspn(list, kSeparators);
    visit(list, length);
    list += length;
  }
}

bool IsControl(const char* entry) {
  constexpr size_t kLength = sizeof(shared::kControlVariable) - 1;
  return strncmp(entry, shared::kControlVariable, kLength) == 0 && entry[kLength] == '=';
}

// True where the library would not find its supervisor, and would complain.
bool CannotReachSupervisor(char* const* environment) {
  for (; *environment != nullptr; ++environment) {
    if (IsControl(*environment)) {
      return CannotOpen(*environment + sizeof(shared::kControlVariable), O_RDWR);
    }
  }
  return false;
}

const char* FindEntry(char* const* environment) {
  if (environment == nullptr) return nullptr;
  while (*environment != nullptr && strncmp(*environment, kPreload, kPreloadLength) != 0) {
    ++environment;
  }
  return *environment;
}

// Returns the LD_PRELOAD entry if one of its libraries is ours and `is_wanted` accepts it.
template <typename IsWanted>
const char* FindPreloadWith(char* const* environment, IsWanted is_wanted) {
  const char* const entry = FindEntry(environment);
  if (entry == nullptr) return nullptr;
  bool found = false;
  ForEachLibrary(entry + kPreloadLength, [&](const char* name, size_t length) {
    found |= IsOurs(name, length) && is_wanted(name, length);
  });
  return found ? entry : nullptr;
}

// Copies the environment with `given` in the place of `entry`.
void CopyWithEntry(char* const* environment, const char* entry, char* given, char** copy) {
  for (; *environment != nullptr; ++environment) {
    *copy++ = *environment == entry ? given : *environment;
  }
  *copy = nullptr;
}

}  // namespace

char** ProgramEnvironment() { return *g_environment; }

void UseEnvironment(char*** variable) { g_environment = variable; }

const char* FindUnreachablePreload(char* const* environment) {
  return FindPreloadWith(environment, [environment](const char* name, size_t length) {
    return CannotOpenLibrary(name, length) || CannotReachSupervisor(environment);
  });
}

const char* FindPreload(char* const* environment) {
  return FindPreloadWith(environment, [](const char*, size_t) { return true; });
}

size_t CountEntries(char* const* environment) {
  size_t count = 1;
  while (*environment++ != nullptr) ++count;
  return count;
}

bool StartsWithSanitizer(const char* preload_entry) {
  const char* first = preload_entry + kPreloadLength;
  first += strspn(first, kSeparators);
  return IsSanitizerRuntime(first, strcspn(first, kSeparators));
}

size_t PreloadBytes(const char* preload_entry) {
  return strlen(preload_entry) + 2 + sizeof(SanitizerRuntime::name);
}

void CopyWithoutPreload(char* const* environment, const char* preload_entry, char** copy,
                        char* rest) {
  char* end = rest + kPreloadLength;
  memcpy(rest, kPreload, kPreloadLength);
  ForEachLibrary(preload_entry + kPreloadLength, [&](const char* name, size_t length) {
    if (IsOurs(name, length)) return;
    memcpy(end, name, length);
    end += length;
    *end++ = ':';
  });
  const bool empty = end == rest + kPreloadLength;
  if (!empty) end[-1] = '\0';
  for (; *environment != nullptr; ++environment) {
    if (IsControl(*environment)) continue;
    if (*environment != preload_entry) {
      *copy++ = *environment;
    } else if (!empty) {
      *copy++ = rest;
    }
  }
  *copy = nullptr;
}

void CopyWithSanitizer(char* const* environment, const char* preload_entry,
                       const SanitizerRuntime& sanitizer, char** copy, char* entry) {
  const size_t name_length = strlen(sanitizer.name);
  char* const name = entry + kPreloadLength;
  memcpy(entry, kPreload, kPreloadLength);
  memcpy(name, sanitizer.name, name_length);
  name[name_length] = ' ';
  const char* const others = preload_entry + kPreloadLength;
  memcpy(name + name_length + 1, others, strlen(others) + 1);
  CopyWithEntry(environment, preload_entry, entry, copy);
}

void NoteOwnLibrary(char* const* environment) {
  const char* const entry = FindEntry(environment);
  if (entry == nullptr) return;
  ForEachLibrary(entry + kPreloadLength, [](const char* name, size_t length) {
    if (!IsOurs(name, length) || length >= sizeof(g_own_library)) return;
    memcpy(g_own_library, name, length);
    g_own_library[length] = '\0';
  });
}

const char* FindReplacedPreload(char* const* environment) {
  const char* const entry = FindEntry(environment);
  if (entry == nullptr || g_own_library[0] == '\0' || FindPreload(environment) != nullptr) {
    return nullptr;
  }
  const bool is_empty = entry[kPreloadLength + strspn(entry + kPreloadLength, kSeparators)] == '\0';
  while (*environment != nullptr && !IsControl(*environment)) ++environment;
  return is_empty || *environment == nullptr ? nullptr : entry;
}

size_t BytesWithOwnLibrary(const char* preload_entry) {
  return strlen(preload_entry) + 2 + strlen(g_own_library);
}

void CopyWithOwnLibrary(char* const* environment, const char* preload_entry, char** copy,
                        char* entry) {
  const char* const others = preload_entry + kPreloadLength;
  const size_t own_length = strlen(g_own_library);
  memcpy(entry, kPreload, kPreloadLength);
  char* const end = entry + kPreloadLength;
  memcpy(end, g_own_library, own_length + 1);
  end[own_length] = ':';
  memcpy(end + own_length + 1, others, strlen(others) + 1);
  CopyWithEntry(environment, preload_entry, entry, copy);
}

void TakeOutSanitizer(char** environment) {
  const char* const found = FindPreload(environment);
  if (found == nullptr || !StartsWithSanitizer(found)) return;
  while (*environment != found) ++environment;
  char* const list = *environment + kPreloadLength;
  const size_t name_length = strcspn(list, kSeparators);
  const char* const rest = list + name_length + 1;
  if (list[name_length] == ' ' && IsOurs(rest, strcspn(rest, kSeparators))) {
    memmove(list, rest, strlen(rest) + 1);
  }
}

}  // namespace coz::interpose
