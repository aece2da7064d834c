// Process: target. Context: the library's constructor, and the supervisor's first call.
#include "coz/runtime/program_kind.h"

#include <link.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "coz/base/go_note.h"

namespace coz::runtime {
namespace {

bool NeedsLibraries(const ElfW(Dyn) * entry) {
  for (; entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == DT_NEEDED) return true;
  }
  return false;
}

// The first object that dl_iterate_phdr names is the program.
int JudgeProgram(dl_phdr_info* info, size_t, void* opaque) {
  bool is_go = false;
  bool has_libraries = true;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = info->dlpi_phdr[i];
    const auto* const at = reinterpret_cast<const char*>(info->dlpi_addr + header.p_vaddr);
    if (header.p_type == PT_NOTE) is_go |= HasGoNote(at, header.p_memsz);
    if (header.p_type == PT_DYNAMIC) {
      has_libraries = NeedsLibraries(reinterpret_cast<const ElfW(Dyn)*>(at));
    }
  }
  ProgramKind& kind = *static_cast<ProgramKind*>(opaque);
  kind = !has_libraries ? ProgramKind::kWithoutLibc
         : is_go        ? ProgramKind::kGo
                        : ProgramKind::kOrdinary;
  return 1;
}

}  // namespace

ProgramKind KindOfProgram() {
  static const ProgramKind kind = [] {
    ProgramKind found = ProgramKind::kOrdinary;
    dl_iterate_phdr(JudgeProgram, &found);
    return found;
  }();
  return kind;
}

// Valgrind preloads libraries of these names.
bool RunsUnderValgrind() {
  const char* const preloaded = getenv("LD_PRELOAD");
  return preloaded != nullptr && strstr(preloaded, "/vgpreload_") != nullptr;
}

}  // namespace coz::runtime
