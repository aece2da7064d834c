// Process: target. Context: a thread that the supervisor has stopped for it, or one that is in
// dlopen or dlclose.
#include "coz/sync/interpose/call_slots.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>

#include "coz/base/clock.h"
#include "coz/base/raw_syscall.h"
#include "coz/base/readable.h"
#include "coz/base/spared_calls.h"
#include "coz/sync/interpose/late_dlopen.h"
#include "coz/sync/interpose/wrapped_calls_table.h"

namespace coz::interpose {
namespace {

constexpr uint64_t kPageBytes = 4096;

// A function of libc that is wrapped, by name and, where libc has several, version.
struct Call {
  const char* name;
  const char* version;
  uint64_t of_libc;
  uint64_t wrapped;
};

#define COZ_CALL(presence, version, result, name, parameters, arguments) {#name, version, 0, 0},
#define COZ_NAMED(name) {#name, nullptr, 0, 0},
#define COZ_SECOND(second, name) {#second, nullptr, 0, 0},
Call g_calls[] = {COZ_WRAPPED_CALLS(COZ_CALL) COZ_OLD_CALLS(COZ_CALL) COZ_COMPOSED_CALLS(COZ_NAMED)
                      COZ_SECOND_NAMES(COZ_SECOND) COZ_NAMED(dlopen)};
#undef COZ_CALL
#undef COZ_NAMED
#undef COZ_SECOND

// A slot that was changed.
struct Note {
  uint64_t* slot;
  uint64_t before;
  uint64_t wrapped;
  bool is_read_only;  // the loader has protected it (RELRO)
};

constexpr size_t kMostNotes = 1 << 18;
Note* g_notes = nullptr;
size_t g_note_count = 0;

// An object whose slots have been looked at. One that is not here, for want of room, is looked at
// again, which does no harm.
struct KnownObject {
  uint64_t bias;
  const void* headers;
};
constexpr size_t kMostKnown = 4096;
KnownObject g_known[kMostKnown];
size_t g_known_count = 0;

// One thread at a time changes the above.
class Turn {
 public:
  Turn() : tid_(static_cast<int32_t>(RawSyscall(SYS_gettid))) {
    constexpr timespec kLook = {0, kNsPerMs};
    constexpr int kMostLooks = 2000;
    for (int i = 0; i < kMostLooks && !is_mine_; ++i) {
      int32_t nobody = 0;
      is_mine_ = g_owner.compare_exchange_strong(nobody, tid_);
      if (is_mine_ || nobody == tid_) return;
      RawSyscall(SYS_nanosleep, &kLook, nullptr);
    }
  }
  ~Turn() {
    if (is_mine_) g_owner.store(0);
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

  // Else this thread has it already, and was stopped amid that; or another keeps it for seconds.
  bool is_mine() const { return is_mine_; }
  static void Free() { g_owner.store(0); }

 private:
  static std::atomic<int32_t> g_owner;
  const int32_t tid_;
  bool is_mine_ = false;
};
std::atomic<int32_t> Turn::g_owner{0};

// FNV-1a.
uint32_t HashOf(const char* name) {
  uint32_t hash = 0x811c9dc5;
  for (; *name != '\0'; ++name) hash = (hash ^ static_cast<unsigned char>(*name)) * 0x01000193;
  return hash;
}

// The calls by name. Those of one name follow each other.
constexpr uint32_t kBuckets = 1024;
static_assert(sizeof(g_calls) / sizeof(Call) < kBuckets / 2);
uint16_t g_buckets[kBuckets];  // index in g_calls + 1

void AddToBuckets(uint16_t index) {
  uint32_t at = HashOf(g_calls[index].name) % kBuckets;
  while (g_buckets[at] != 0) at = (at + 1) % kBuckets;
  g_buckets[at] = static_cast<uint16_t>(index + 1);
}

// Calls `visit` with each version of the call of this name, until it returns true.
template <typename Visit>
bool ForEachCall(const char* name, Visit visit) {
  for (uint32_t at = HashOf(name) % kBuckets; g_buckets[at] != 0; at = (at + 1) % kBuckets) {
    const Call& call = g_calls[g_buckets[at] - 1];
    if (call.wrapped != 0 && strcmp(call.name, name) == 0 && visit(call)) return true;
  }
  return false;
}

uint64_t Find(void* library, const Call& call) {
  void* const found = call.version != nullptr ? dlvsym(library, call.name, call.version)
                                              : dlsym(library, call.name);
  return reinterpret_cast<uint64_t>(found);
}

link_map* OwnObject() {
  Dl_info info;
  link_map* map = nullptr;
  const bool found = dladdr1(reinterpret_cast<void*>(g_calls), &info,
                             reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) != 0;
  return found ? map : nullptr;
}

// What the look-ups of all objects have in common.
struct Loaded {
  link_map* own = nullptr;
  link_map* libc = nullptr;
  void* program = nullptr;  // its handle, which finds what the loader finds first for every object
};

// A handle of the loader is its link_map.
bool FindLibraries(Loaded* loaded) {
  loaded->own = OwnObject();
  loaded->libc = static_cast<link_map*>(dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD));
  loaded->program = dlopen(nullptr, RTLD_LAZY | RTLD_NOLOAD);
  return loaded->own != nullptr && loaded->libc != nullptr && loaded->program != nullptr;
}

void CloseLibraries(const Loaded& loaded) {
  if (loaded.libc != nullptr) dlclose(loaded.libc);
  if (loaded.program != nullptr) dlclose(loaded.program);
}

void FindCalls(const Loaded& loaded) {
  if (g_buckets[HashOf(g_calls[0].name) % kBuckets] != 0) return;
  uint16_t index = 0;
  for (Call& call : g_calls) {
    call.of_libc = Find(loaded.libc, call);
    const bool is_dlopen = strcmp(call.name, "dlopen") == 0;
    const uint64_t wrapped = is_dlopen ? LateDlopen(call.of_libc) : Find(loaded.own, call);
    if (call.of_libc != 0 && wrapped != call.of_libc) call.wrapped = wrapped;
    AddToBuckets(index++);
  }
}

// What one object's slots are described by.
struct Object {
  uint64_t bias = 0;
  const ElfW(Sym) * symbols = nullptr;
  const char* names = nullptr;
  const ElfW(Half) * versions = nullptr;
  const ElfW(Verneed) * needed = nullptr;
  uint64_t slot_tables[2] = {};  // of functions, of data
  uint64_t slot_bytes[2] = {};
  uint64_t relro_begin = 0;
  uint64_t relro_end = 0;
  uint64_t code_begin = ~uint64_t{0};
  uint64_t code_end = 0;
};

// glibc has relocated the pointers of most objects' dynamic sections, and not those of the vDSO.
uint64_t AddressIn(const Object& object, uint64_t pointer) {
  return pointer < object.bias ? pointer + object.bias : pointer;
}

void ReadDynamicSection(const ElfW(Dyn) * entry, Object* object) {
  for (; entry->d_tag != DT_NULL; ++entry) {
    const uint64_t address = AddressIn(*object, entry->d_un.d_ptr);
    switch (entry->d_tag) {
      case DT_SYMTAB:
        object->symbols = reinterpret_cast<const ElfW(Sym)*>(address);
        break;
      case DT_STRTAB:
        object->names = reinterpret_cast<const char*>(address);
        break;
      case DT_VERSYM:
        object->versions = reinterpret_cast<const ElfW(Half)*>(address);
        break;
      case DT_VERNEED:
        object->needed = reinterpret_cast<const ElfW(Verneed)*>(address);
        break;
      case DT_JMPREL:
        object->slot_tables[0] = address;
        break;
      case DT_PLTRELSZ:
        object->slot_bytes[0] = entry->d_un.d_val;
        break;
      case DT_RELA:
        object->slot_tables[1] = address;
        break;
      case DT_RELASZ:
        object->slot_bytes[1] = entry->d_un.d_val;
        break;
      default:
        break;
    }
  }
}

Object Describe(const dl_phdr_info& info) {
  Object object;
  object.bias = info.dlpi_addr;
  const ElfW(Dyn)* dynamic = nullptr;
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = info.dlpi_phdr[i];
    const uint64_t begin = info.dlpi_addr + header.p_vaddr;
    if (header.p_type == PT_DYNAMIC) dynamic = reinterpret_cast<const ElfW(Dyn)*>(begin);
    if (header.p_type == PT_GNU_RELRO) {  // as glibc's _dl_protect_relro rounds it
      object.relro_begin = begin & ~(kPageBytes - 1);
      object.relro_end = (begin + header.p_memsz) & ~(kPageBytes - 1);
    }
    if (header.p_type == PT_LOAD && (header.p_flags & PF_X) != 0) {
      if (begin < object.code_begin) object.code_begin = begin;
      if (begin + header.p_memsz > object.code_end) object.code_end = begin + header.p_memsz;
    }
  }
  if (dynamic != nullptr) ReadDynamicSection(dynamic, &object);
  return object;
}

// The version that the object asks for; null where it names none.
const char* VersionOf(const Object& object, uint32_t symbol) {
  if (object.versions == nullptr || object.needed == nullptr) return nullptr;
  const uint32_t wanted = object.versions[symbol] & 0x7fffu;
  for (const ElfW(Verneed)* file = object.needed;;) {
    const char* at = reinterpret_cast<const char*>(file) + file->vn_aux;
    for (int i = 0; i < file->vn_cnt; ++i) {
      const auto* version = reinterpret_cast<const ElfW(Vernaux)*>(at);
      if (version->vna_other == wanted) return object.names + version->vna_name;
      at += version->vna_next;
    }
    if (file->vn_next == 0) return nullptr;
    file =
        reinterpret_cast<const ElfW(Verneed)*>(reinterpret_cast<const char*>(file) + file->vn_next);
  }
}

class ObjectWrapper {
 public:
  ObjectWrapper(const Loaded& loaded, const Object& object) : loaded_(loaded), object_(object) {}
  ~ObjectWrapper() {
    if (is_open_) Protect(PROT_READ);
  }
  ObjectWrapper(const ObjectWrapper&) = delete;
  ObjectWrapper& operator=(const ObjectWrapper&) = delete;

  size_t Wrap() {
    size_t changed = 0;
    for (int table = 0; table < 2; ++table) {
      const auto* entry = reinterpret_cast<const ElfW(Rela)*>(object_.slot_tables[table]);
      const uint64_t count = object_.slot_bytes[table] / sizeof(ElfW(Rela));
      for (uint64_t i = 0; entry != nullptr && i < count; ++i)
        changed += WrapSlot(entry[i]) ? 1 : 0;
    }
    return changed;
  }

 private:
  // Whether the slot leads to this call: now, or once the loader has been asked.
  bool LeadsTo(const Call& call, uint64_t value, uint32_t symbol, bool is_function) const {
    if (value == call.of_libc) return true;
    const bool is_unbound = is_function && value >= object_.code_begin && value < object_.code_end;
    if (!is_unbound) return false;
    const char* const version = VersionOf(object_, symbol);
    if (call.version != nullptr && (version == nullptr || strcmp(version, call.version) != 0)) {
      return false;
    }
    const Call wanted = {call.name, version, 0, 0};
    return Find(loaded_.program, wanted) == call.of_libc;
  }

  bool WrapSlot(const ElfW(Rela) & entry) {
    const auto type = ELF64_R_TYPE(entry.r_info);
    if (type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT) return false;
    const auto symbol = static_cast<uint32_t>(ELF64_R_SYM(entry.r_info));
    if (symbol == 0 || object_.symbols == nullptr || object_.names == nullptr) return false;
    auto* const slot = reinterpret_cast<uint64_t*>(object_.bias + entry.r_offset);
    const uint64_t value = __atomic_load_n(slot, __ATOMIC_RELAXED);
    return ForEachCall(object_.names + object_.symbols[symbol].st_name, [&](const Call& call) {
      return LeadsTo(call, value, symbol, type == R_X86_64_JUMP_SLOT) &&
             Store(slot, value, call.wrapped);
    });
  }

  bool Store(uint64_t* slot, uint64_t before, uint64_t wrapped) {
    if (g_note_count == kMostNotes) return false;
    const auto address = reinterpret_cast<uint64_t>(slot);
    const bool is_read_only = address >= object_.relro_begin && address < object_.relro_end;
    if (is_read_only && !is_open_) {
      if (!Protect(PROT_READ | PROT_WRITE)) return false;
      is_open_ = true;
    }
    // Noted first, so that it can be undone.
    g_notes[g_note_count++] = {slot, before, wrapped, is_read_only};
    __atomic_store_n(slot, wrapped, __ATOMIC_RELEASE);
    return true;
  }

  bool Protect(int protection) const {
    return RawSyscall(SYS_mprotect, object_.relro_begin, object_.relro_end - object_.relro_begin,
                      protection) == 0;
  }

  const Loaded& loaded_;
  const Object& object_;
  bool is_open_ = false;
};

struct Walk {
  const Loaded* loaded;
  size_t changed = 0;
};

bool IsLeftAlone(const Loaded& loaded, const dl_phdr_info& info) {
  if (info.dlpi_addr == loaded.own->l_addr || info.dlpi_addr == loaded.libc->l_addr) return true;
  const char* const name = info.dlpi_name != nullptr ? info.dlpi_name : "";
  const char* const slash = strrchr(name, '/');
  const char* const file = slash != nullptr ? slash + 1 : name;
  return strncmp(file, "ld-linux", strlen("ld-linux")) == 0 ||
         strncmp(file, "linux-vdso", strlen("linux-vdso")) == 0;
}

bool IsSame(const KnownObject& known, const dl_phdr_info& info) {
  return known.bias == info.dlpi_addr && known.headers == info.dlpi_phdr;
}

bool IsKnown(const dl_phdr_info& info) {
  for (size_t i = 0; i < g_known_count; ++i) {
    if (IsSame(g_known[i], info)) return true;
  }
  if (g_known_count < kMostKnown) g_known[g_known_count++] = {info.dlpi_addr, info.dlpi_phdr};
  return false;
}

// Called by the loader, so that the thread is not stopped for UnwrapObjects amid it. It may have
// been before.
int WrapObject(dl_phdr_info* info, size_t, void* opaque) {
  Walk& walk = *static_cast<Walk*>(opaque);
  if (g_notes == nullptr) return 1;
  if (IsLeftAlone(*walk.loaded, *info) || IsKnown(*info)) return 0;
  const Object object = Describe(*info);
  walk.changed += ObjectWrapper(*walk.loaded, object).Wrap();
  return 0;
}

bool HaveNotes() {
  if (g_notes != nullptr) return true;
  void* const notes = mmap(nullptr, kMostNotes * sizeof(Note), PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (notes == MAP_FAILED) return false;
  g_notes = static_cast<Note*>(notes);
  return true;
}

// Whether the slot still holds what was stored there. Where the kernel refuses to read it for us,
// for a want of memory or of rights, it is read as it is.
bool HoldsWrapped(const Note& note) {
  uint64_t value = 0;
  const iovec local = {&value, sizeof(value)};
  const iovec remote = {note.slot, sizeof(value)};
  const long read =
      SparedRawCall<SYS_process_vm_readv>(RawSyscall(SYS_getpid), &local, 1, &remote, 1, 0);
  if (read == -EFAULT) return false;
  if (read != static_cast<long>(sizeof(value))) {
    if (!IsReadable(note.slot, sizeof(value))) return false;
    value = __atomic_load_n(note.slot, __ATOMIC_RELAXED);
  }
  return value == note.wrapped;
}

void Restore(const Note& note) {
  void* const page =
      reinterpret_cast<void*>(reinterpret_cast<uint64_t>(note.slot) & ~(kPageBytes - 1));
  if (!HoldsWrapped(note)) return;
  if (note.is_read_only &&
      RawSyscall(SYS_mprotect, page, kPageBytes, PROT_READ | PROT_WRITE) != 0) {
    return;
  }
  __atomic_store_n(note.slot, note.before, __ATOMIC_RELEASE);
  if (note.is_read_only) RawSyscall(SYS_mprotect, page, kPageBytes, PROT_READ);
}

}  // namespace

namespace {

size_t WrapObjects() {
  Loaded loaded;
  Walk walk = {&loaded, 0};
  if (FindLibraries(&loaded)) {
    FindCalls(loaded);
    dl_iterate_phdr(WrapObject, &walk);
  }
  CloseLibraries(loaded);
  return walk.changed;
}

// Addresses of what is loaded now.
struct Range {
  uint64_t begin;
  uint64_t end;
};
struct Remaining {
  Range ranges[kMostKnown];
  KnownObject known[kMostKnown];
  size_t count;
  bool are_all;
};
Remaining g_remaining;

int NoteRemaining(dl_phdr_info* info, size_t, void*) {
  g_remaining.are_all = g_remaining.count < kMostKnown;
  if (!g_remaining.are_all) return 1;
  Range range = {~uint64_t{0}, 0};
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = info->dlpi_phdr[i];
    if (header.p_type != PT_LOAD) continue;
    const uint64_t begin = info->dlpi_addr + header.p_vaddr;
    if (begin < range.begin) range.begin = begin;
    if (begin + header.p_memsz > range.end) range.end = begin + header.p_memsz;
  }
  g_remaining.ranges[g_remaining.count] = range;
  g_remaining.known[g_remaining.count++] = {info->dlpi_addr, info->dlpi_phdr};
  return 0;
}

bool Remains(const Note& note) {
  const auto slot = reinterpret_cast<uint64_t>(note.slot);
  for (size_t i = 0; i < g_remaining.count; ++i) {
    if (slot >= g_remaining.ranges[i].begin && slot < g_remaining.ranges[i].end) return true;
  }
  return false;
}

bool Remains(const KnownObject& known) {
  for (size_t i = 0; i < g_remaining.count; ++i) {
    const KnownObject& other = g_remaining.known[i];
    if (other.bias == known.bias && other.headers == known.headers) return true;
  }
  return false;
}

template <typename Item>
void KeepRemaining(Item* items, size_t* count) {
  size_t kept = 0;
  for (size_t i = 0; i < *count; ++i) {
    if (Remains(items[i])) items[kept++] = items[i];
  }
  *count = kept;
}

// Called by the loader, so that the thread is not stopped for UnwrapObjects amid it.
int DropGone(dl_phdr_info*, size_t, void*) {
  if (g_notes == nullptr || !g_remaining.are_all) return 1;
  KeepRemaining(g_notes, &g_note_count);
  KeepRemaining(g_known, &g_known_count);
  return 1;
}

}  // namespace

size_t WrapLoadedObjects() {
  const Turn turn;
  if (!turn.is_mine() || !HaveNotes()) return 0;
  return WrapObjects();
}

void WrapNewObjects() {
  const Turn turn;
  if (turn.is_mine() && g_notes != nullptr) WrapObjects();
}

void ForgetUnloadedObjects() {
  const Turn turn;
  if (!turn.is_mine() || g_notes == nullptr) return;
  g_remaining.count = 0;
  g_remaining.are_all = true;
  dl_iterate_phdr(NoteRemaining, nullptr);
  dl_iterate_phdr(DropGone, nullptr);
}

void UnwrapObjects() {
  const Turn turn;
  while (g_note_count > 0) Restore(g_notes[--g_note_count]);
  if (g_notes != nullptr)
    RawSyscall(SYS_munmap, static_cast<void*>(g_notes), kMostNotes * sizeof(Note));
  g_notes = nullptr;
  g_known_count = 0;
}

void OnForkInCallSlots() { Turn::Free(); }

}  // namespace coz::interpose
