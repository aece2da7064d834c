#include "coz/sourcemap/name_scopes.h"

#include <algorithm>

namespace coz::sourcemap {

void NameScopes::CloseDownTo(uint32_t depth) {
  while (!open_.empty() && open_.back().depth >= depth) open_.pop_back();
}

void NameScopes::OpenScope(const Dwarf_Die& die, uint32_t depth) {
  CloseDownTo(depth);
  open_.push_back({die, depth, kNone});
}

void NameScopes::AddName(const void* die, uint32_t depth) {
  CloseDownTo(depth);
  if (open_.empty()) return;
  uint32_t parent = kNone;
  for (OpenedScope& scope : open_) {
    if (scope.index == kNone) {
      scope.index = static_cast<uint32_t>(kept_.size());
      kept_.push_back({scope.die, parent});
    }
    parent = scope.index;
  }
  scope_of_[die] = parent;
}

std::vector<Dwarf_Die> NameScopes::Around(const void* die) const {
  std::vector<Dwarf_Die> scopes;
  const auto entry = scope_of_.find(die);
  if (entry == scope_of_.end()) return scopes;
  for (uint32_t i = entry->second; i != kNone; i = kept_[i].parent) scopes.push_back(kept_[i].die);
  std::reverse(scopes.begin(), scopes.end());
  return scopes;
}

}  // namespace coz::sourcemap
