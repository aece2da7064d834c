// Tells a Go program by the note that its linker leaves.
//
// Shape    the bytes of a PT_NOTE segment: notes one after the other
// Units    bytes
// Errors   damaged notes are no Go's
// Threads  safe
// Signals  async-signal-safe
// Source   elf(5); Go's src/cmd/link/internal/ld/elf.go (ELF_NOTE_GOBUILDID_TAG)
#ifndef COZ_BASE_GO_NOTE_H_
#define COZ_BASE_GO_NOTE_H_

#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace coz {

inline bool HasGoNote(const void* notes, size_t bytes) {
  constexpr uint32_t kGoBuildId = 4;
  constexpr char kName[] = "Go\0";  // with its padding
  constexpr size_t kGrain = 4;
  const char* at = static_cast<const char*>(notes);
  Elf64_Nhdr head;
  while (bytes >= sizeof(head)) {
    memcpy(&head, at, sizeof(head));
    at += sizeof(head);
    bytes -= sizeof(head);
    const size_t name = (size_t{head.n_namesz} + kGrain - 1) / kGrain * kGrain;
    const size_t body = name + (size_t{head.n_descsz} + kGrain - 1) / kGrain * kGrain;
    if (body > bytes) return false;
    if (head.n_type == kGoBuildId && name == sizeof(kName) && memcmp(at, kName, name) == 0) {
      return true;
    }
    at += body;
    bytes -= body;
  }
  return false;
}

}  // namespace coz

#endif  // COZ_BASE_GO_NOTE_H_
