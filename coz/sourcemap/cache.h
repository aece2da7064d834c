// Line tables that are built once per binary and kept in the user's cache folder.
//
// Shape    one file per table, $XDG_CACHE_HOME/coz or ~/.cache/coz, named by build-id, size of the
//          binary's own debug information, source scope and format version; a binary without
//          build-id by path, size and time of change. Written beside and renamed, so that a reader
//          sees a whole file or none.
// Units    bytes
// Errors   LoadLineTable: those of ReadLineTable, and RESOURCE_EXHAUSTED where not even a memory
//          file can be made. A cache file that is broken, cut, of another binary or scope is
//          rebuilt, never trusted; a cache that cannot be written is no error: LoadedTable says
//          why.
// Threads  safe; several processes may load the same table at once
// Signals  not safe
// Source   XDG Base Directory Specification; memfd_create(2), rename(2)
#ifndef COZ_SOURCEMAP_CACHE_H_
#define COZ_SOURCEMAP_CACHE_H_

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"
#include "coz/base/unique_fd.h"
#include "coz/sourcemap/dwarf_reader.h"
#include "coz/sourcemap/line_table.h"
#include "coz/sourcemap/scope.h"

namespace coz::sourcemap {

// A table mapped read-only into this process. Another process can map `fd()`, which is open for
// reading alone, from its start for `size_bytes()`.
class LoadedTable {
 public:
  LoadedTable(LoadedTable&& other) noexcept;
  LoadedTable& operator=(LoadedTable&& other) noexcept;
  ~LoadedTable();

  const LineTable& table() const { return table_; }
  int fd() const { return fd_.get(); }
  size_t size_bytes() const { return size_bytes_; }

  // True if it was in the cache; `statistics` is then empty.
  bool was_cached() const { return was_cached_; }
  const ReadStatistics& statistics() const { return statistics_; }
  // Why the table could not be kept, one sentence, or empty.
  const std::string& cache_problem() const { return cache_problem_; }

 private:
  friend class TableLoader;
  LoadedTable() = default;
  // False if the file is no sound table; the object is then unchanged.
  bool Map(UniqueFd fd);

  LineTable table_;
  UniqueFd fd_;
  void* mapping_ = nullptr;
  size_t size_bytes_ = 0;
  bool was_cached_ = false;
  ReadStatistics statistics_;
  std::string cache_problem_;
};

// The folder of cached tables for this environment, or empty where neither XDG_CACHE_HOME nor HOME
// is an absolute path.
std::string DefaultCacheFolder();

// The line table of the binary at `path`, from the cache in `cache_folder` or built anew. An empty
// `cache_folder` keeps nothing.
absl::StatusOr<LoadedTable> LoadLineTable(const std::string& path, const SourceScope& scope,
                                          const ReadOptions& options = {},
                                          const std::string& cache_folder = DefaultCacheFolder());

// A table of an image in a memory file, so that another process can map it.
absl::StatusOr<LoadedTable> HoldTable(const std::string& image);

}  // namespace coz::sourcemap

#endif  // COZ_SOURCEMAP_CACHE_H_
