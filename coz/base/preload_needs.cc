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

// The last part of a path.
const char* NameIn(const char* path, size_t length) {
  const char* name = path;
  for (size_t i = 0; i < length; ++i) {
    if (path[i] == '/') name = path + i + 1;
  }
  return name;
}

bool Begins(const char* text, size_t length, const char* with) {
  return length >= strlen(with) && strncmp(text, with, strlen(with)) == 0;
}

bool IsLoaderOfGlibc(const char* loader) {
  const char* const name = NameIn(loader, strlen(loader));
  // The last one is the file that the others led to before glibc 2.34.
  return Begins(name, strlen(name), "ld-linux") || Begins(name, strlen(name), "ld-lsb") ||
         Begins(name, strlen(name), "ld-2.");
}

// Whether the text stands in the file. True where the file cannot be read.
bool Holds(const File& file, const char* text) {
  const size_t length = strlen(text);
  char part[4096];
  size_t kept = 0;  // from the part before, as the text may lie across both
  for (uint64_t at = 0;; at += sizeof(part) - kept) {
    if (at > 0) memmove(part, part + sizeof(part) - length, kept = length);
    const size_t got = file.Read(part + kept, sizeof(part) - kept, at);
    if (got == 0) return at == 0;
    if (memmem(part, kept + got, text, length) != nullptr) return true;
    if (got < sizeof(part) - kept) return false;
  }
}

// The newest version that libcoz.so needs of glibc's loader.
constexpr char kVersion[] = "GLIBC_2.35";

bool IsSuitable(const char* loader, const File& file) {
  return IsLoaderOfGlibc(loader) && Holds(file, kVersion);
}

}  // namespace

bool CanLoadLibrary(const char* loader) {
  if (strcmp(loader, "/lib64/ld-linux-x86-64.so.2") == 0) return true;  // this machine's
  return IsSuitable(loader, File(AT_FDCWD, loader));
}

namespace {

// `path` is that of the program, which may be a loader that is called to start another.
bool HasSuitableLoader(const File& file, const char* path, const Segments& segments) {
  const Elf64_Phdr* const interpreter = Find(segments, PT_INTERP);
  if (interpreter == nullptr) {
    const char* const name = NameIn(path, strlen(path));
    const bool is_loader = Begins(name, strlen(name), "ld-");
    return !is_loader || IsSuitable(path, file);  // nothing is preloaded into a static program
  }
  char name[256] = "";
  const size_t got = file.Read(name, sizeof(name) - 1, interpreter->p_offset);
  name[got < interpreter->p_filesz ? got : interpreter->p_filesz] = '\0';
  return name[0] == '\0' || CanLoadLibrary(name);
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

PreloadNeeds NeedsOf(const File& file, const char* path) {
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
  needs.can_load = HasSuitableLoader(file, path, segments);
  needs.sanitizer = SanitizerOf(file, segments);
  return needs;
}

}  // namespace

bool IsSanitizerRuntime(const char* library, size_t length) {
  const char* const name = NameIn(library, length);
  const size_t rest = length - static_cast<size_t>(name - library);
  for (const char* const known :
       {"libasan.so", "libtsan.so", "libclang_rt.asan", "libclang_rt.tsan"}) {
    if (Begins(name, rest, known)) return true;
  }
  return false;
}

PreloadNeeds FindPreloadNeeds(int folder, const char* path) {
  char interpreter[kScriptBytes] = "";
  for (int scripts = 0; scripts <= kMostScripts; ++scripts) {
    const File file(folder, path);
    if (!ReadInterpreter(file, interpreter)) return NeedsOf(file, path);
    folder = AT_FDCWD;
    path = interpreter;
  }
  return {};
}

}  // namespace coz
