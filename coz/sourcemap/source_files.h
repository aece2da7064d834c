// Numbers the source files of a binary and remembers which are in scope. By default Go's own
// library is not, wherever it lies.
//
// Shape    ids count from 0; the same path has the same id
// Units    none
// Errors   none
// Threads  compatible
// Signals  not safe
// Source   none
#ifndef COZ_SOURCEMAP_SOURCE_FILES_H_
#define COZ_SOURCEMAP_SOURCE_FILES_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/node_hash_map.h"
#include "coz/sourcemap/go_sources.h"
#include "coz/sourcemap/scope.h"

namespace coz::sourcemap {

class SourceFiles {
 public:
  explicit SourceFiles(const SourceScope& scope) : scope_(scope) {}

  // Before the first file.
  void SetGoSources(GoSources sources) { go_ = std::move(sources); }

  uint32_t Add(const std::string& path) {
    const auto [entry, is_new] = ids_.try_emplace(path, static_cast<uint32_t>(paths_.size()));
    if (is_new) {
      paths_.push_back(&entry->first);
      const bool is_gos = scope_.patterns().empty() && go_.IsLibrary(path);
      in_scope_.push_back(!is_gos && scope_.Contains(path) ? 1 : 0);
    }
    return entry->second;
  }

  const std::string& path(uint32_t id) const { return *paths_[id]; }
  bool in_scope(uint32_t id) const { return in_scope_[id] != 0; }

 private:
  const SourceScope& scope_;
  GoSources go_;
  absl::node_hash_map<std::string, uint32_t> ids_;
  std::vector<const std::string*> paths_;
  std::vector<char> in_scope_;
};

}  // namespace coz::sourcemap

#endif  // COZ_SOURCEMAP_SOURCE_FILES_H_
