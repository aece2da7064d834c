#include "coz/runtime/module_map.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "coz/base/raw_syscall.h"
#include "coz/sampler/unwind/unwinder.h"

// Weak: glibc has it since 2.35. Without it only the program itself is looked at.
#pragma weak _dl_find_object

namespace coz::runtime {
namespace {

void CopyPath(char (&to)[shared::kModulePathBytes], const char* from) {
  strncpy(to, from, sizeof(to) - 1);
  to[sizeof(to) - 1] = '\0';
}

// FNV-1a.
uint32_t HashOfPath(const char* path) {
  uint32_t hash = 0x811c9dc5;
  for (; *path != '\0'; ++path) hash = (hash ^ static_cast<unsigned char>(*path)) * 0x01000193;
  return hash;
}

// What the loader has loaded, by load bias and path.
struct LoadedObjects {
  static constexpr int kMax = 1024;
  int count = 0;
  bool complete = true;
  uint64_t unloads = 0;  // of any object so far
  struct {
    uint64_t load_bias;
    uint32_t path_hash;
  } objects[kMax];

  bool Has(uint64_t load_bias, uint32_t path_hash) const {
    for (int i = 0; i < count; ++i) {
      if (objects[i].load_bias == load_bias && objects[i].path_hash == path_hash) return true;
    }
    return false;
  }
};

int NoteLoaded(dl_phdr_info* info, size_t, void* opaque) {
  LoadedObjects& loaded = *static_cast<LoadedObjects*>(opaque);
  loaded.unloads = info->dlpi_subs;
  if (loaded.count == LoadedObjects::kMax) {
    loaded.complete = false;
    return 1;
  }
  const char* name = info->dlpi_name != nullptr ? info->dlpi_name : "";
  loaded.objects[loaded.count++] = {info->dlpi_addr, HashOfPath(name)};
  return 0;
}

// Whether the object of `path` still lies around `address`.
bool LiesAt(uint64_t address, uint64_t load_bias, uint32_t path_hash) {
  dl_find_object found;
  if (_dl_find_object == nullptr ||
      _dl_find_object(reinterpret_cast<void*>(address), &found) != 0 ||
      found.dlfo_link_map == nullptr || found.dlfo_link_map->l_name == nullptr) {
    return false;
  }
  return found.dlfo_link_map->l_addr == load_bias &&
         HashOfPath(found.dlfo_link_map->l_name) == path_hash;
}

struct ProgramSearch {
  uint64_t start = ~uint64_t{0};
  uint64_t end = 0;
  uint64_t load_bias = 0;
  uint64_t unloads = 0;
  shared::ControlBlock* control;
  void (*data)(shared::ControlBlock&, const void*, const void*);
};

// The first object that dl_iterate_phdr names is the program.
int VisitProgram(dl_phdr_info* info, size_t, void* opaque) {
  ProgramSearch& search = *static_cast<ProgramSearch*>(opaque);
  search.load_bias = info->dlpi_addr;
  search.unloads = info->dlpi_subs;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = info->dlpi_phdr[i];
    if (header.p_type != PT_LOAD) continue;
    const uint64_t start = info->dlpi_addr + header.p_vaddr;
    if (start < search.start) search.start = start;
    if (start + header.p_memsz > search.end) search.end = start + header.p_memsz;
    if ((header.p_flags & PF_W) != 0) {
      search.data(*search.control, reinterpret_cast<const void*>(start),
                  reinterpret_cast<const void*>(start + header.p_filesz));
    }
  }
  return 1;
}

// Where /proc cannot be read, what the kernel was told to execute.
void ReadProgramPath(char (&path)[shared::kModulePathBytes]) {
  const ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);
  size_t end = length < 0 ? 0 : static_cast<size_t>(length);
  const auto* told = reinterpret_cast<const char*>(getauxval(AT_EXECFN));
  while (length < 0 && told != nullptr && told[end] != '\0' && end < sizeof(path) - 1) {
    path[end] = told[end];
    ++end;
  }
  path[end] = '\0';
}

}  // namespace

void ModuleMap::AddProgram(shared::ControlBlock* control,
                           void (*data)(shared::ControlBlock&, const void*, const void*)) {
  control_ = control;
  ProgramSearch search;
  search.control = control;
  search.data = data;
  dl_iterate_phdr(VisitProgram, &search);
  unloads_ = search.unloads;
  char path[shared::kModulePathBytes];
  ReadProgramPath(path);
  if (search.end != 0 && Add(search.start, search.end, search.load_bias, path, true)) {
    program_ = static_cast<uint32_t>(modules_[0].slot - control->modules) + 1;
  }
}

void ModuleMap::Restart() {
  program_ = 0;
  table_count_ = 0;
  const uint32_t count = count_.exchange(0, std::memory_order_relaxed);
  for (uint32_t i = 0; i < count; ++i) {
    LocalModule& module = modules_[i];
    module.version.fetch_add(1, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_release);
    module.state.store(LocalState::kUnloaded, std::memory_order_relaxed);
    module.version.fetch_add(1, std::memory_order_release);
  }
  busy_.clear(std::memory_order_release);
}

// Another process may add the same file at the same time; two slots of one file do no harm.
shared::ModuleSlot* ModuleMap::FindOrAddSlot(const char* path, bool is_program,
                                             uint64_t load_bias) {
  struct stat file = {};
  if (*path != '\0' && RawSyscall(SYS_stat, path, &file) != 0) file = {};
  const uint64_t modified_ns = static_cast<uint64_t>(file.st_mtim.tv_sec) * 1000000000 +
                               static_cast<uint64_t>(file.st_mtim.tv_nsec);
  const uint32_t count =
      std::min(control_->module_count.load(std::memory_order_relaxed), shared::kMaxModules);
  for (uint32_t i = 0; i < count; ++i) {
    shared::ModuleSlot& slot = control_->modules[i];
    if (slot.state.load(std::memory_order_acquire) < shared::ModuleState::kAnnounced) continue;
    if (slot.is_program == (is_program ? 1 : 0) && slot.device == file.st_dev &&
        slot.inode == file.st_ino && slot.modified_ns == modified_ns &&
        strcmp(slot.path, path) == 0) {
      // The supervisor, which may have announced it, does not know where it lies.
      if (slot.load_bias == 0) slot.load_bias = load_bias;
      return &slot;
    }
  }
  if (count >= shared::kMaxModules) return nullptr;
  const uint32_t index = control_->module_count.fetch_add(1, std::memory_order_relaxed);
  if (index >= shared::kMaxModules) return nullptr;
  shared::ModuleSlot& slot = control_->modules[index];
  slot.is_program = is_program ? 1 : 0;
  slot.device = file.st_dev;
  slot.inode = file.st_ino;
  slot.modified_ns = modified_ns;
  slot.load_bias = load_bias;
  CopyPath(slot.path, path);
  slot.state.store(shared::ModuleState::kAnnounced, std::memory_order_release);
  return &slot;
}

// A place for one more object; null when there is none.
ModuleMap::LocalModule* ModuleMap::FreeModule() {
  const uint32_t count = count_.load(std::memory_order_relaxed);
  for (uint32_t i = 0; i < count; ++i) {
    if (modules_[i].state.load(std::memory_order_relaxed) == LocalState::kUnloaded) {
      return &modules_[i];
    }
  }
  if (count >= shared::kMaxModules) return nullptr;
  count_.store(count + 1, std::memory_order_release);
  return &modules_[count];
}

bool ModuleMap::Add(uint64_t start_address, uint64_t end_address, uint64_t load_bias,
                    const char* path, bool is_program) {
  shared::ModuleSlot* slot = FindOrAddSlot(path, is_program, load_bias);
  LocalModule* module = slot != nullptr ? FreeModule() : nullptr;
  if (module == nullptr) {
    shared::Add(control_->counters.modules_without_slot);
    return false;
  }
  module->version.fetch_add(1, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  module->state.store(LocalState::kAnnounced, std::memory_order_relaxed);
  module->start_address.store(start_address, std::memory_order_relaxed);
  module->end_address.store(end_address, std::memory_order_relaxed);
  module->load_bias.store(load_bias, std::memory_order_relaxed);
  module->path_hash.store(HashOfPath(path), std::memory_order_relaxed);
  module->is_program = is_program;
  module->slot = slot;
  module->version.fetch_add(1, std::memory_order_release);
  TakeAnswer(*module);  // where it has been announced before
  return true;
}

void ModuleMap::OnForkInChild() {
  // Nobody ends here what another thread was doing when the parent forked.
  const uint32_t count = count_.load(std::memory_order_relaxed);
  for (uint32_t i = 0; i < count; ++i) {
    LocalModule& module = modules_[i];
    if (module.version.load(std::memory_order_relaxed) % 2 == 0) continue;
    module.state.store(LocalState::kUnloaded, std::memory_order_relaxed);
    module.version.fetch_add(1, std::memory_order_release);
  }
  unloading_.store(0, std::memory_order_relaxed);
  Unlock();
}

// What a look-up needs of a module, read as of one moment.
struct ModuleMap::Found {
  LocalState state;
  uint64_t load_bias;
  const sourcemap::LineTable* table;
  uint32_t first_unit;
  uint32_t common_units;
  uint32_t unit_lines;
  uint32_t inlined_path_count;
  const shared::InlinedPath* inlined_paths;

  uint32_t UnitOfLine(uint32_t line) const {
    return line < common_units ? line : first_unit + (line - common_units);
  }
};

// Null where no object is known at the address, or the one there is being written: its sample stays
// unmapped.
ModuleMap::LocalModule* ModuleMap::Find(uint64_t address, Found* found) {
  const uint32_t count = count_.load(std::memory_order_acquire);
  for (uint32_t i = 0; i < count; ++i) {
    LocalModule& module = modules_[i];
    const uint32_t version = module.version.load(std::memory_order_acquire);
    const uint64_t start_address = module.start_address.load(std::memory_order_relaxed);
    const uint64_t end_address = module.end_address.load(std::memory_order_relaxed);
    if (address < start_address || address >= end_address || version % 2 != 0) continue;
    found->state = module.state.load(std::memory_order_relaxed);
    if (found->state == LocalState::kUnloaded) continue;
    found->load_bias = module.load_bias.load(std::memory_order_relaxed);
    found->table = module.table.load(std::memory_order_acquire);
    found->first_unit = module.first_unit.load(std::memory_order_relaxed);
    found->common_units = module.common_units.load(std::memory_order_relaxed);
    found->unit_lines = module.unit_lines.load(std::memory_order_relaxed);
    found->inlined_path_count = module.inlined_path_count.load(std::memory_order_relaxed);
    found->inlined_paths = module.inlined_paths.load(std::memory_order_relaxed);
    const uint32_t path_hash = module.path_hash.load(std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_acquire);
    if (module.version.load(std::memory_order_relaxed) != version) continue;
    const bool may_be_gone = !module.is_program && unloading_.load(std::memory_order_seq_cst) != 0;
    if (may_be_gone && !LiesAt(address, found->load_bias, path_hash)) continue;
    return &module;
  }
  return nullptr;
}

bool ModuleMap::Announce(uint64_t address) {
  // An object that is being unloaded still has its entry: what came in its place has to wait.
  if (_dl_find_object == nullptr || unloading_.load(std::memory_order_seq_cst) != 0) return false;
  dl_find_object found;
  if (_dl_find_object(reinterpret_cast<void*>(address), &found) != 0) return false;
  const link_map* map = found.dlfo_link_map;
  const uint64_t load_bias = map != nullptr ? map->l_addr : 0;
  const char* path = map != nullptr && map->l_name != nullptr ? map->l_name : "";
  return Add(reinterpret_cast<uint64_t>(found.dlfo_map_start),
             reinterpret_cast<uint64_t>(found.dlfo_map_end), load_bias, path, false);
}

void ModuleMap::EndUnload() {
  LoadedObjects loaded;
  dl_iterate_phdr(NoteLoaded, &loaded);
  // Handlers hold the lock for some microseconds; they never wait for it.
  while (!TryLock()) sched_yield();
  // Another thread may have looked after this one.
  if (loaded.unloads > unloads_) {
    shared::Add(control_->counters.libraries_unloaded, loaded.unloads - unloads_);
    unloads_ = loaded.unloads;
  }
  const uint32_t count = count_.load(std::memory_order_relaxed);
  for (uint32_t i = 0; i < count; ++i) {
    LocalModule& module = modules_[i];
    if (module.is_program || module.state.load(std::memory_order_relaxed) == LocalState::kUnloaded)
      continue;
    if (loaded.complete && loaded.Has(module.load_bias.load(std::memory_order_relaxed),
                                      module.path_hash.load(std::memory_order_relaxed))) {
      continue;
    }
    module.version.fetch_add(1, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_release);
    module.state.store(LocalState::kUnloaded, std::memory_order_relaxed);
    module.version.fetch_add(1, std::memory_order_release);
  }
  Unlock();
  // 0 where the thread has forked amid the call.
  uint32_t unloading = unloading_.load(std::memory_order_relaxed);
  while (unloading != 0 && !unloading_.compare_exchange_weak(unloading, unloading - 1)) continue;
}

// The table of an answer. Checks it, unless an earlier answer had the same.
const sourcemap::LineTable* ModuleMap::TableOf(const shared::ModuleSlot& slot) {
  for (uint32_t i = 0; i < table_count_; ++i) {
    if (tables_[i].offset == slot.table_offset) return &tables_[i].table;
  }
  if (table_count_ == shared::kMaxModules ||
      slot.table_offset + slot.table_bytes > shared::kControlMappingBytes) {
    return nullptr;
  }
  const char* const bytes = reinterpret_cast<const char*>(control_) + slot.table_offset;
  KnownTable& table = tables_[table_count_];
  if (!sourcemap::LineTable::FromBytes(bytes, slot.table_bytes, &table.table)) return nullptr;
  table.offset = slot.table_offset;
  ++table_count_;
  return &table.table;
}

// Null where the slot has none, or none that lie behind the block.
const shared::InlinedPath* ModuleMap::InlinedPathsOf(const shared::ModuleSlot& slot) const {
  const uint64_t bytes = uint64_t{slot.inlined_paths} * sizeof(shared::InlinedPath);
  if (bytes == 0 || slot.inlined_paths_offset % alignof(shared::InlinedPath) != 0 ||
      slot.inlined_paths_offset > shared::kControlMappingBytes - bytes) {
    return nullptr;
  }
  return reinterpret_cast<const shared::InlinedPath*>(reinterpret_cast<const char*>(control_) +
                                                      slot.inlined_paths_offset);
}

void ModuleMap::FollowGoFunctions(const LocalModule& module) {
  const uint64_t begin =
      module.load_bias.load(std::memory_order_relaxed) + module.slot->go_functions_address;
  const uint64_t bytes = module.slot->go_functions_bytes;
  const uint64_t start_address = module.start_address.load(std::memory_order_relaxed);
  const uint64_t end_address = module.end_address.load(std::memory_order_relaxed);
  if (bytes == 0 || begin < start_address || begin > end_address || bytes > end_address - begin) {
    return;
  }
  sampler::FollowGoFunctions(reinterpret_cast<const uint8_t*>(begin), bytes);
}

void ModuleMap::TakeAnswer(LocalModule& module) {
  if (module.state.load(std::memory_order_relaxed) != LocalState::kAnnounced) return;
  const shared::ModuleState answer = module.slot->state.load(std::memory_order_acquire);
  if (answer != shared::ModuleState::kNotMapped && answer != shared::ModuleState::kTableReady)
    return;
  const sourcemap::LineTable* table =
      answer == shared::ModuleState::kTableReady ? TableOf(*module.slot) : nullptr;
  if (module.is_program && table != nullptr) FollowGoFunctions(module);
  module.version.fetch_add(1, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  module.table.store(table, std::memory_order_release);
  module.first_unit.store(module.slot->first_unit, std::memory_order_relaxed);
  module.common_units.store(module.slot->common_units, std::memory_order_relaxed);
  const shared::InlinedPath* const paths = InlinedPathsOf(*module.slot);
  module.unit_lines.store(module.slot->unit_lines, std::memory_order_relaxed);
  module.inlined_path_count.store(paths == nullptr ? 0 : module.slot->inlined_paths,
                                  std::memory_order_relaxed);
  module.inlined_paths.store(paths, std::memory_order_relaxed);
  module.state.store(table != nullptr ? LocalState::kReady : LocalState::kOutOfScope,
                     std::memory_order_relaxed);
  module.version.fetch_add(1, std::memory_order_release);
}

UnitLookup ModuleMap::LineAt(uint64_t address, Found* found, uint32_t* line) {
  LocalModule* module = Find(address, found);
  if (module == nullptr && TryLock()) {
    module = Find(address, found);
    // A file that was loaded before has its answer: it may be gone before the next sample.
    if (module == nullptr && Announce(address)) module = Find(address, found);
    Unlock();
  }
  if (module == nullptr) return UnitLookup::kUnmapped;
  if (found->state == LocalState::kAnnounced && TryLock()) {
    TakeAnswer(*module);
    Unlock();
    if (Find(address, found) == nullptr) return UnitLookup::kUnmapped;
  }
  if (found->state == LocalState::kOutOfScope) return UnitLookup::kOutOfScope;
  if (found->state != LocalState::kReady) return UnitLookup::kUnmapped;
  *line = found->table->Lookup(address - found->load_bias);
  return *line == sourcemap::kNoLine ? UnitLookup::kOutOfScope : UnitLookup::kFound;
}

UnitLookup ModuleMap::UnitAt(uint64_t address, uint32_t* unit) {
  Found found;
  uint32_t line = 0;
  const UnitLookup lookup = LineAt(address, &found, &line);
  if (lookup == UnitLookup::kFound) *unit = found.UnitOfLine(line);
  return lookup;
}

UnitLookup ModuleMap::FunctionsAt(uint64_t address,
                                  uint32_t (&functions)[shared::kMaxPathFunctions],
                                  uint32_t* count) {
  Found found;
  uint32_t line = 0;
  const UnitLookup lookup = LineAt(address, &found, &line);
  if (lookup != UnitLookup::kFound) return lookup;
  const uint32_t path = line - found.unit_lines;
  if (line < found.unit_lines || path >= found.inlined_path_count) {
    functions[0] = found.UnitOfLine(line);
    *count = 1;
    return lookup;
  }
  const shared::InlinedPath& inlined = found.inlined_paths[path];
  *count = std::min(inlined.count, shared::kMaxPathFunctions);
  for (uint32_t i = 0; i < *count; ++i) functions[i] = found.UnitOfLine(inlined.lines[i]);
  return lookup;
}

}  // namespace coz::runtime
