#include "coz/base/preload_needs.h"

#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>

#include <cstdint>
#include <initializer_list>

#include "coz/base/raw_syscall.h"

namespace coz {
namespace {

class File {
 public:
  File(int folder, const char* path)
      : fd_(RawSyscall(SYS_openat, folder, path, O_RDONLY | O_CLOEXEC)) {}
  ~File() {
    if (fd_ >= 0) RawSyscall(SYS_close, fd_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  // Up to `bytes` at `offset`; the number read.
  size_t Read(void* to, size_t bytes, uint64_t offset) const {
    const long got = fd_ < 0 ? -1 : RawSyscall(SYS_pread64, fd_, to, bytes, offset);
    return got < 0 ? 0 : static_cast<size_t>(got);
  }

 private:
  const long fd_;
};

struct Segments {
  static constexpr size_t kMost = 32;
  Elf64_Phdr header[kMost];
  size_t count = 0;
};

bool ReadSegments(const File& file, const Elf64_Ehdr& header, Segments* segments) {
  if (header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phnum > Segments::kMost) return false;
  const size_t bytes = header.e_phnum * sizeof(Elf64_Phdr);
  segments->count = header.e_phnum;
  return file.Read(segments->header, bytes, header.e_phoff) == bytes;
}

const Elf64_Phdr* Find(const Segments& segments, uint32_t type) {
  for (size_t i = 0; i < segments.count; ++i) {
    if (segments.header[i].p_type == type) return &segments.header[i];
  }
  return nullptr;
}

// Where in the file the byte at `address` lies; 0 where it does not.
uint64_t OffsetOf(const Segments& segments, uint64_t address) {
  for (size_t i = 0; i < segments.count; ++i) {
    const Elf64_Phdr& segment = segments.header[i];
    if (segment.p_type == PT_LOAD && address - segment.p_vaddr < segment.p_filesz) {
      return segment.p_offset + (address - segment.p_vaddr);
    }
  }
  return 0;
}

// A static program has no interpreter, and nothing is preloaded into it.
bool HasLoaderOfGlibc(const File& file, const Segments& segments) {
  const Elf64_Phdr* const interpreter = Find(segments, PT_INTERP);
  if (interpreter == nullptr) return true;
  char name[256];
  const size_t bytes = interpreter->p_filesz < sizeof(name) ? interpreter->p_filesz : sizeof(name);
  const size_t got = file.Read(name, bytes, interpreter->p_offset);
  return got == 0 || IsLoaderOfGlibc(name, strnlen(name, got));
}

SanitizerRuntime SanitizerOf(const File& file, const Segments& segments) {
  const Elf64_Phdr* const dynamic = Find(segments, PT_DYNAMIC);
  if (dynamic == nullptr) return {};
  constexpr size_t kMostEntries = 256;
  Elf64_Dyn entries[kMostEntries];
  const size_t count = file.Read(entries, sizeof(entries), dynamic->p_offset) / sizeof(Elf64_Dyn);
  uint64_t names = 0;
  for (size_t i = 0; i < count && entries[i].d_tag != DT_NULL; ++i) {
    if (entries[i].d_tag == DT_STRTAB) names = OffsetOf(segments, entries[i].d_un.d_ptr);
  }
  if (names == 0) return {};
  for (size_t i = 0; i < count && entries[i].d_tag != DT_NULL; ++i) {
    if (entries[i].d_tag != DT_NEEDED) continue;
    SanitizerRuntime runtime;
    const size_t got = file.Read(runtime.name, sizeof(runtime.name), names + entries[i].d_un.d_val);
    const size_t length = strnlen(runtime.name, got);
    if (length < sizeof(runtime.name) && IsSanitizerRuntime(runtime.name, length)) return runtime;
  }
  return {};
}

// Linux looks at this many bytes of a script (BINPRM_BUF_SIZE), and follows so many of them.
constexpr size_t kScriptBytes = 256;
constexpr int kMostScripts = 4;

// Writes the interpreter that a script names in its first line to `interpreter`. False where the
// file is no script.
bool ReadInterpreter(const File& file, char (&interpreter)[kScriptBytes]) {
  char start[kScriptBytes];
  const size_t got = file.Read(start, sizeof(start), 0);
  if (got < 2 || start[0] != '#' || start[1] != '!') return false;
  size_t at = 2;
  while (at < got && (start[at] == ' ' || start[at] == '\t')) ++at;
  size_t length = 0;
  while (at < got && strchr(" \t\r\n", start[at]) == nullptr) interpreter[length++] = start[at++];
  interpreter[length] = '\0';
  return length > 0;
}

PreloadNeeds NeedsOf(const File& file) {
  Elf64_Ehdr header;
  if (file.Read(&header, sizeof(header), 0) != sizeof(header) ||
      memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) {
    return {};
  }
  PreloadNeeds needs;
  // The machine stands at the same place in a header of 32 bits.
  needs.can_load = header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_machine == EM_X86_64;
  Segments segments;
  if (!needs.can_load || !ReadSegments(file, header, &segments)) return needs;
  needs.can_load = HasLoaderOfGlibc(file, segments);
  needs.sanitizer = SanitizerOf(file, segments);
  return needs;
}

}  // namespace

bool IsSanitizerRuntime(const char* library, size_t length) {
  const char* name = library;
  for (size_t i = 0; i < length; ++i) {
    if (library[i] == '/') name = library + i + 1;
  }
  const size_t rest = length - static_cast<size_t>(name - library);
  for (const char* const known :
       {"libasan.so", "libtsan.so", "libclang_rt.asan", "libclang_rt.tsan"}) {
    if (rest >= strlen(known) && strncmp(name, known, strlen(known)) == 0) return true;
  }
  return false;
}

bool IsLoaderOfGlibc(const char* loader, size_t length) {
  const char* name = loader;
  for (size_t i = 0; i < length; ++i) {
    if (loader[i] == '/') name = loader + i + 1;
  }
  const size_t rest = length - static_cast<size_t>(name - loader);
  // The last one is the file that the others led to before glibc 2.34.
  for (const char* const known : {"ld-linux", "ld-lsb", "ld-2."}) {
    if (rest >= strlen(known) && strncmp(name, known, strlen(known)) == 0) return true;
  }
  return false;
}

PreloadNeeds FindPreloadNeeds(int folder, const char* path) {
  char interpreter[kScriptBytes];
  for (int scripts = 0; scripts <= kMostScripts; ++scripts) {
    const File file(folder, path);
    if (!ReadInterpreter(file, interpreter)) return NeedsOf(file);
    folder = AT_FDCWD;
    path = interpreter;
  }
  return {};
}

}  // namespace coz
