#include "coz/runtime/module_map.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "coz/base/raw_syscall.h"

// Weak: glibc has it since 2.35. Without it only the program itself is looked at.
#pragma weak _dl_find_object

namespace coz {
namespace {

void CopyPath(char (&to)[kModulePathBytes], const char* from) {
  strncpy(to, from, sizeof(to) - 1);
  to[sizeof(to) - 1] = '\0';
}

// "/proc/PID/fd/N" without snprintf, which is not async-signal-safe.
char* AppendNumber(char* to, uint32_t number) {
  char digits[10];
  int count = 0;
  do {
    digits[count++] = static_cast<char>('0' + number % 10);
    number /= 10;
  } while (number != 0);
  while (count > 0) *to++ = digits[--count];
  *to = '\0';
  return to;
}

const void* MapDescriptorOf(int32_t pid, int32_t fd, uint64_t bytes) {
  char path[64] = "/proc/";
  char* end = AppendNumber(path + strlen(path), static_cast<uint32_t>(pid));
  strcpy(end, "/fd/");
  AppendNumber(end + 4, static_cast<uint32_t>(fd));
  const long opened = syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
  if (opened < 0) return nullptr;
  const long mapped = syscall(SYS_mmap, 0, bytes, PROT_READ, MAP_SHARED, opened, 0);
  syscall(SYS_close, opened);
  // The kernel answers with -errno turned to -1 by syscall(2).
  return mapped == -1 ? nullptr : reinterpret_cast<const void*>(mapped);
}

struct ProgramSearch {
  uint64_t start = ~uint64_t{0};
  uint64_t end = 0;
  uint64_t load_bias = 0;
  ControlBlock* control;
  void (*data)(ControlBlock&, const void*, const void*);
};

// The first object that dl_iterate_phdr names is the program.
int VisitProgram(dl_phdr_info* info, size_t, void* opaque) {
  ProgramSearch& search = *static_cast<ProgramSearch*>(opaque);
  search.load_bias = info->dlpi_addr;
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

}  // namespace

void ModuleMap::AddProgram(ControlBlock* control,
                           void (*data)(ControlBlock&, const void*, const void*)) {
  control_ = control;
  ProgramSearch search;
  search.control = control;
  search.data = data;
  dl_iterate_phdr(VisitProgram, &search);
  char path[kModulePathBytes];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);
  path[length < 0 ? 0 : length] = '\0';
  if (search.end != 0 && Add(search.start, search.end, search.load_bias, path, true)) {
    program_ = static_cast<uint32_t>(modules_[0].slot - control->modules) + 1;
  }
}

// Another process may add the same file at the same time; two slots of one file do no harm.
ModuleSlot* ModuleMap::FindOrAddSlot(const char* path, bool is_program, uint64_t load_bias) {
  struct stat file = {};
  if (*path != '\0' && RawSyscall(SYS_stat, path, &file) != 0) file = {};
  const uint32_t count =
      std::min(control_->module_count.load(std::memory_order_relaxed), kMaxModules);
  for (uint32_t i = 0; i < count; ++i) {
    ModuleSlot& slot = control_->modules[i];
    if (slot.state.load(std::memory_order_acquire) < ModuleState::kAnnounced) continue;
    if (slot.is_program == (is_program ? 1 : 0) && slot.device == file.st_dev &&
        slot.inode == file.st_ino && strcmp(slot.path, path) == 0) {
      // The supervisor, which may have announced it, does not know where it lies.
      if (slot.load_bias == 0) slot.load_bias = load_bias;
      return &slot;
    }
  }
  if (count >= kMaxModules) return nullptr;
  const uint32_t index = control_->module_count.fetch_add(1, std::memory_order_relaxed);
  if (index >= kMaxModules) return nullptr;
  ModuleSlot& slot = control_->modules[index];
  slot.is_program = is_program ? 1 : 0;
  slot.device = file.st_dev;
  slot.inode = file.st_ino;
  slot.load_bias = load_bias;
  CopyPath(slot.path, path);
  slot.state.store(ModuleState::kAnnounced, std::memory_order_release);
  return &slot;
}

bool ModuleMap::Add(uint64_t start_address, uint64_t end_address, uint64_t load_bias,
                    const char* path, bool is_program) {
  const uint32_t local = count_.load(std::memory_order_relaxed);
  ModuleSlot* slot = local < kMaxModules ? FindOrAddSlot(path, is_program, load_bias) : nullptr;
  if (slot == nullptr) {
    control_->modules_without_slot.fetch_add(1, std::memory_order_relaxed);
    return false;
  }
  LocalModule& module = modules_[local];
  module.start_address = start_address;
  module.end_address = end_address;
  module.load_bias = load_bias;
  module.slot = slot;
  module.state.store(LocalState::kAnnounced, std::memory_order_relaxed);
  TakeAnswer(module);  // where another process has announced it before
  count_.store(local + 1, std::memory_order_release);
  return true;
}

ModuleMap::LocalModule* ModuleMap::Find(uint64_t address) {
  const uint32_t count = count_.load(std::memory_order_acquire);
  for (uint32_t i = 0; i < count; ++i) {
    LocalModule& module = modules_[i];
    if (address >= module.start_address && address < module.end_address) return &module;
  }
  return nullptr;
}

bool ModuleMap::Announce(uint64_t address) {
  if (_dl_find_object == nullptr) return false;
  dl_find_object found;
  if (_dl_find_object(reinterpret_cast<void*>(address), &found) != 0) return false;
  const link_map* map = found.dlfo_link_map;
  const uint64_t load_bias = map != nullptr ? map->l_addr : 0;
  const char* path = map != nullptr && map->l_name != nullptr ? map->l_name : "";
  return Add(reinterpret_cast<uint64_t>(found.dlfo_map_start),
             reinterpret_cast<uint64_t>(found.dlfo_map_end), load_bias, path, false);
}

void ModuleMap::TakeAnswer(LocalModule& module) {
  switch (module.slot->state.load(std::memory_order_acquire)) {
    case ModuleState::kNotMapped:
      module.state.store(LocalState::kOutOfScope, std::memory_order_release);
      return;
    case ModuleState::kTableReady:
      break;
    default:
      return;
  }
  const ModuleSlot& slot = *module.slot;
  const void* table = MapDescriptorOf(control_->supervisor_pid, slot.table_fd, slot.table_bytes);
  const bool ok = table != nullptr && LineTable::FromBytes(table, slot.table_bytes, &module.table);
  module.state.store(ok ? LocalState::kReady : LocalState::kOutOfScope, std::memory_order_release);
}

UnitLookup ModuleMap::UnitAt(uint64_t address, uint32_t* unit) {
  LocalModule* module = Find(address);
  if (module == nullptr && TryLock()) {
    if (Find(address) == nullptr) Announce(address);
    Unlock();
    module = Find(address);
  }
  if (module == nullptr) return UnitLookup::kUnmapped;
  LocalState state = module->state.load(std::memory_order_acquire);
  if (state == LocalState::kAnnounced && TryLock()) {
    TakeAnswer(*module);
    Unlock();
    state = module->state.load(std::memory_order_acquire);
  }
  if (state == LocalState::kOutOfScope) return UnitLookup::kOutOfScope;
  if (state != LocalState::kReady) return UnitLookup::kUnmapped;
  const uint32_t line = module->table.Lookup(address - module->load_bias);
  if (line == kNoLine) return UnitLookup::kOutOfScope;
  const uint32_t common_units = module->slot->common_units;
  *unit = line < common_units ? line : module->slot->first_unit + (line - common_units);
  return UnitLookup::kFound;
}

}  // namespace coz
