// Remembers the namespaces, classes and functions around functions that have no linkage name:
// lambdas, local classes, unnamed namespaces. Compilers leave the linkage name out where the linker
// has no use for it.
//
// Shape    fed by one pass over each unit's DIEs; the scopes of a function are chained outwards
// Units    DIEs by their first byte
// Errors   none: a function that was not seen has no scope
// Threads  compatible
// Signals  not safe
// Source   DWARF 5, section 3.3.1
#ifndef COZ_SOURCEMAP_NAME_SCOPES_H_
#define COZ_SOURCEMAP_NAME_SCOPES_H_

#include <elfutils/libdw.h>

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"

namespace coz::sourcemap {

class NameScopes {
 public:
  void StartUnit() { open_.clear(); }

  // Call for each scope and each function without linkage name, in file order. First AddName, then
  // OpenScope, where a DIE is both.
  void AddName(const void* die, uint32_t depth);
  void OpenScope(const Dwarf_Die& die, uint32_t depth);

  // The scopes around the function at `die`, the outermost first.
  std::vector<Dwarf_Die> Around(const void* die) const;

 private:
  static constexpr uint32_t kNone = 0xffffffff;
  struct Scope {
    Dwarf_Die die;
    uint32_t parent;  // in kept_
  };
  struct OpenedScope {
    Dwarf_Die die;
    uint32_t depth;
    uint32_t index;  // in kept_, or kNone while no function needed it
  };

  void CloseDownTo(uint32_t depth);

  std::vector<OpenedScope> open_;
  std::vector<Scope> kept_;
  absl::flat_hash_map<const void*, uint32_t> scope_of_;
};

}  // namespace coz::sourcemap

#endif  // COZ_SOURCEMAP_NAME_SCOPES_H_
