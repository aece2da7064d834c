// Tells which unit an address of this process belongs to. The supervisor makes the line tables of
// the objects that this process announces.
//
// Shape    at most kMaxModules objects of this process at a time; the supervisor puts their tables
//          behind the block
// Units    runtime addresses; units of the experiment (control_block.h)
// Errors   an object or table that cannot be had leaves its samples unmapped, which the caller
//          counts
// Threads  safe
// Signals  UnitAt is async-signal-safe: it skips what another thread is working on
// Source   _dl_find_object (glibc manual, "Dynamic Linker Introspection"), dl_iterate_phdr(3); a
//          sequence lock per object
#ifndef COZ_RUNTIME_MODULE_MAP_H_
#define COZ_RUNTIME_MODULE_MAP_H_

#include <atomic>
#include <cstdint>

#include "coz/shared/control_block.h"
#include "coz/sourcemap/line_table.h"

namespace coz::runtime {

enum class UnitLookup { kFound, kOutOfScope, kUnmapped };

class ModuleMap {
 public:
  // Announces the program itself. Once, before threads start. Also hands each range of initialised
  // data of the program to `data`.
  void AddProgram(shared::ControlBlock* control,
                  void (*data)(shared::ControlBlock& control, const void* begin, const void* end));

  // Forgets all objects, so that AddProgram may be called again. While no handler looks up.
  void Restart();

  // In the child of fork, before it is sampled: the objects stay as they are.
  void OnForkInChild();

  // Of the program: its module slot + 1 and its load bias. 0 where it has none.
  uint32_t program() const { return program_; }
  uint64_t program_load_bias() const { return modules_[0].load_bias; }

  // kFound: *unit is the unit at `address`. An object seen for the first time is announced, and
  // unmapped until the supervisor has answered.
  UnitLookup UnitAt(uint64_t address, uint32_t* unit);

  // The same of the functions at `address`, where units are call paths: that of the code, and those
  // that it was inlined into, from the innermost outwards.
  UnitLookup FunctionsAt(uint64_t address, uint32_t (&functions)[shared::kMaxPathFunctions],
                         uint32_t* count);

  // Around a call that may unload objects. In between, look-ups take more care: another thread may
  // already have loaded another object at the same place. EndUnload drops the objects that are
  // gone; not from a handler.
  void BeginUnload() { unloading_.fetch_add(1, std::memory_order_seq_cst); }
  void EndUnload();

 private:
  enum class LocalState : uint32_t { kUnused, kAnnounced, kReady, kOutOfScope, kUnloaded };
  // Read by handlers while another thread may be writing it: `version` is odd during a write and
  // changes with each.
  struct LocalModule {
    std::atomic<uint32_t> version;
    std::atomic<LocalState> state;
    std::atomic<uint64_t> start_address;
    std::atomic<uint64_t> end_address;
    std::atomic<uint64_t> load_bias;
    std::atomic<const sourcemap::LineTable*> table;
    std::atomic<uint32_t> first_unit;
    std::atomic<uint32_t> common_units;
    std::atomic<uint32_t> unit_lines;
    std::atomic<uint32_t> inlined_path_count;
    std::atomic<const shared::InlinedPath*> inlined_paths;
    std::atomic<uint32_t> path_hash;
    bool is_program;
    shared::ModuleSlot* slot;
  };
  // Stays for good, and serves again when its library is opened again.
  struct KnownTable {
    uint64_t offset;
    sourcemap::LineTable table;
  };
  struct Found;

  LocalModule* Find(uint64_t address, Found* found);
  UnitLookup LineAt(uint64_t address, Found* found, uint32_t* line);
  shared::ModuleSlot* FindOrAddSlot(const char* path, bool is_program, uint64_t load_bias);
  bool Announce(uint64_t address);
  bool Add(uint64_t start_address, uint64_t end_address, uint64_t load_bias, const char* path,
           bool is_program);
  LocalModule* FreeModule();
  const sourcemap::LineTable* TableOf(const shared::ModuleSlot& slot);
  const shared::InlinedPath* InlinedPathsOf(const shared::ModuleSlot& slot) const;
  static void FollowGoFunctions(const LocalModule& module);
  void TakeAnswer(LocalModule& module);
  bool TryLock() { return !busy_.test_and_set(std::memory_order_acquire); }
  void Unlock() { busy_.clear(std::memory_order_release); }

  shared::ControlBlock* control_ = nullptr;
  uint32_t program_ = 0;
  uint64_t unloads_ = 0;  // that the block counts, or that were before
  std::atomic<uint32_t> count_{0};
  std::atomic<uint32_t> unloading_{0};
  std::atomic_flag busy_ = ATOMIC_FLAG_INIT;
  LocalModule modules_[shared::kMaxModules] = {};
  uint32_t table_count_ = 0;
  KnownTable tables_[shared::kMaxModules] = {};
};

}  // namespace coz::runtime

#endif  // COZ_RUNTIME_MODULE_MAP_H_
