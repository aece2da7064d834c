// Process: target. Context: the program's threads.
#include "coz/sync/interpose/late_dlopen.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <string.h>

#include "coz/base/errno_saver.h"
#include "coz/sync/interpose/call_slots.h"
#include "coz/sync/interpose/process_hooks.h"

// Looks at the caller first. Where dlopen does another thing for another caller, jumps to it as if
// nothing stood in between.
asm(R"(
  .text
  .globl coz_late_dlopen
  .hidden coz_late_dlopen
  .type coz_late_dlopen, @function
coz_late_dlopen:
  .cfi_startproc
  endbr64
  push %rdi
  .cfi_adjust_cfa_offset 8
  push %rsi
  .cfi_adjust_cfa_offset 8
  mov 16(%rsp), %rsi
  sub $8, %rsp
  .cfi_adjust_cfa_offset 8
  call coz_is_any_callers
  add $8, %rsp
  .cfi_adjust_cfa_offset -8
  pop %rsi
  .cfi_adjust_cfa_offset -8
  pop %rdi
  .cfi_adjust_cfa_offset -8
  test %al, %al
  jne coz_open_and_wrap
  jmp *coz_dlopen_of_libc(%rip)
  .cfi_endproc
  .size coz_late_dlopen, .-coz_late_dlopen
)");

extern "C" {
#define COZ_HIDDEN __attribute__((visibility("hidden"), used))
COZ_HIDDEN void* (*coz_dlopen_of_libc)(const char*, int) = nullptr;
COZ_HIDDEN void* coz_late_dlopen(const char* file, int mode);
COZ_HIDDEN bool coz_is_any_callers(const char* file, uint64_t caller);
COZ_HIDDEN void* coz_open_and_wrap(const char* file, int mode);
}

namespace coz::interpose {
namespace {

// Where the loader looks for a library of a plain name, by what its objects say.
struct SearchPaths {
  uint64_t caller = 0;
  bool is_first = true;
  bool depends_on_caller = false;
};

struct OwnPaths {
  bool has_rpath = false;  // also good for what the object has opened
  bool has_runpath = false;
  bool has_no_default = false;
};

OwnPaths PathsOf(const dl_phdr_info& info) {
  OwnPaths paths;
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    if (info.dlpi_phdr[i].p_type != PT_DYNAMIC) continue;
    const auto* entry =
        reinterpret_cast<const ElfW(Dyn)*>(info.dlpi_addr + info.dlpi_phdr[i].p_vaddr);
    for (; entry->d_tag != DT_NULL; ++entry) {
      paths.has_rpath |= entry->d_tag == DT_RPATH;
      paths.has_runpath |= entry->d_tag == DT_RUNPATH;
      paths.has_no_default |=
          entry->d_tag == DT_FLAGS_1 && (entry->d_un.d_val & DF_1_NODEFLIB) != 0;
    }
  }
  return paths;
}

bool Holds(const dl_phdr_info& info, uint64_t address) {
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = info.dlpi_phdr[i];
    const uint64_t begin = info.dlpi_addr + header.p_vaddr;
    if (header.p_type == PT_LOAD && address >= begin && address < begin + header.p_memsz) {
      return true;
    }
  }
  return false;
}

// The program's RPATH, and it comes first, is good for all.
int LookAtPaths(dl_phdr_info* info, size_t, void* opaque) {
  SearchPaths& search = *static_cast<SearchPaths*>(opaque);
  const OwnPaths paths = PathsOf(*info);
  const bool is_program = search.is_first;
  search.is_first = false;
  if (paths.has_rpath && !is_program) search.depends_on_caller = true;
  if ((paths.has_runpath || paths.has_no_default) && Holds(*info, search.caller)) {
    search.depends_on_caller = true;
  }
  return search.depends_on_caller ? 1 : 0;
}

}  // namespace

uint64_t LateDlopen(uint64_t of_libc) {
  memcpy(&coz_dlopen_of_libc, &of_libc, sizeof(of_libc));
  return reinterpret_cast<uint64_t>(&coz_late_dlopen);
}

}  // namespace coz::interpose

// A path means the same for every caller, unless it has $ORIGIN or the like in it.
bool coz_is_any_callers(const char* file, uint64_t caller) {
  const coz::ErrnoSaver errno_saver;
  if (file == nullptr || !coz::interpose::g_process_hooks.is_profiled()) return false;
  if (strchr(file, '$') != nullptr) return false;
  if (strchr(file, '/') != nullptr) return true;
  coz::interpose::SearchPaths search;
  search.caller = caller;
  dl_iterate_phdr(coz::interpose::LookAtPaths, &search);
  return !search.depends_on_caller;
}

void* coz_open_and_wrap(const char* file, int mode) {
  void* const library = coz_dlopen_of_libc(file, mode);
  if (library == nullptr) return nullptr;
  const coz::ErrnoSaver errno_saver;
  coz::interpose::WrapNewObjects();
  dlerror();  // nothing has failed that is the program's
  return library;
}
