#include "coz/sourcemap/cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "coz/sourcemap/dwarf/debug_file.h"

namespace coz::sourcemap {
namespace {

constexpr char kSuffix[] = ".lines";
// A table of 100 MB of debug information takes some megabytes.
constexpr size_t kMaxTables = 64;
constexpr uint64_t kMaxBytes = uint64_t{512} << 20;

std::string ErrorText(std::string_view what, const std::string& path, int error) {
  return absl::StrFormat("%s %s: %s", std::string(what), path, std::strerror(error));
}

// FNV-1a, for names of files: has to be the same in every run.
uint64_t HashOf(std::string_view bytes) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

// What tells this binary from others, and from itself before a rebuild; empty if it cannot be read.
// A separate debug file is found by the build-id, so the same build-id means the same lines, but
// for what was stripped from the binary itself.
std::string BinaryKey(const std::string& path, const std::string& build_id) {
  if (!build_id.empty()) return absl::StrFormat("%s-d%x", HexOf(build_id), OwnDebugBytes(path));
  struct stat status;
  const std::unique_ptr<char, void (*)(void*)> absolute(realpath(path.c_str(), nullptr), std::free);
  if (absolute == nullptr || stat(path.c_str(), &status) != 0) return "";
  const std::string identity =
      absl::StrFormat("%s\n%d\n%d.%09d\n%d", absolute.get(), status.st_size, status.st_mtim.tv_sec,
                      status.st_mtim.tv_nsec, status.st_ino);
  return absl::StrFormat("file-%016x", HashOf(identity));
}

bool WriteAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

bool HasSuffix(std::string_view text, std::string_view suffix) {
  return text.size() >= suffix.size() && text.substr(text.size() - suffix.size()) == suffix;
}

// Removes the tables that were not used for the longest time until the rest is within the limits. A
// table in use stays readable: it is open or mapped.
void RemoveOldTables(const std::string& folder, const std::string& newest) {
  struct Entry {
    timespec last_use;
    std::string path;
    uint64_t bytes;
  };
  std::vector<Entry> entries;
  DIR* open_folder = opendir(folder.c_str());
  if (open_folder == nullptr) return;
  while (const dirent* item = readdir(open_folder)) {
    const std::string path = absl::StrCat(folder, "/", item->d_name);
    struct stat status;
    // ".lines.XXXXXX" is a file that a killed process has not finished.
    const bool is_table =
        HasSuffix(path, kSuffix) || path.find(absl::StrCat(kSuffix, ".")) != std::string::npos;
    if (!is_table || path == newest || lstat(path.c_str(), &status) != 0) continue;
    entries.push_back({status.st_mtim, path, static_cast<uint64_t>(status.st_size)});
  }
  closedir(open_folder);
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::tie(a.last_use.tv_sec, a.last_use.tv_nsec) >
           std::tie(b.last_use.tv_sec, b.last_use.tv_nsec);
  });
  uint64_t bytes = 0;
  for (size_t i = 0; i < entries.size(); ++i) {
    bytes += entries[i].bytes;
    if (i + 1 >= kMaxTables || bytes > kMaxBytes) unlink(entries[i].path.c_str());
  }
}

// Creates `folder` and what is above it, private to the user as the XDG specification asks.
bool MakeFolders(const std::string& folder) {
  for (size_t slash = folder.find('/', 1); slash != std::string::npos;
       slash = folder.find('/', slash + 1)) {
    if (mkdir(folder.substr(0, slash).c_str(), 0700) != 0 && errno != EEXIST) return false;
  }
  return mkdir(folder.c_str(), 0700) == 0 || errno == EEXIST;
}

const char* NextFor(int error) {
  switch (error) {
    case EFBIG:
      return "allow larger files with: ulimit -f unlimited";
    case EPERM:
    case ENOSYS:
      return "look for a filter of system calls with: grep Seccomp /proc/self/status";
    default:
      return "look at: ulimit -a";
  }
}

// A file system may refuse to say who changes a mapped file; a sealed memory file cannot change.
absl::StatusOr<UniqueFd> SealedMemoryFile(const std::string& image) {
  const UniqueFd writable(memfd_create("coz-line-table", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!writable.ok() || !WriteAll(writable.get(), image) ||
      fcntl(writable.get(), F_ADD_SEALS,
            F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) != 0) {
    const int error = errno;
    return absl::ResourceExhaustedError(absl::StrCat(
        ErrorText("cannot hold the line table in", "a memory file", error), "; ", NextFor(error)));
  }
  const std::string self = absl::StrCat("/proc/self/fd/", writable.get());
  UniqueFd readable(open(self.c_str(), O_RDONLY | O_CLOEXEC));
  if (!readable.ok()) return absl::ErrnoToStatus(errno, absl::StrCat("cannot open ", self));
  return readable;
}

}  // namespace

LoadedTable::LoadedTable(LoadedTable&& other) noexcept { *this = std::move(other); }

LoadedTable& LoadedTable::operator=(LoadedTable&& other) noexcept {
  std::swap(table_, other.table_);
  std::swap(fd_, other.fd_);
  std::swap(mapping_, other.mapping_);
  std::swap(size_bytes_, other.size_bytes_);
  std::swap(was_cached_, other.was_cached_);
  std::swap(statistics_, other.statistics_);
  std::swap(cache_problem_, other.cache_problem_);
  return *this;
}

LoadedTable::~LoadedTable() {
  if (mapping_ != nullptr) munmap(mapping_, size_bytes_);
}

bool LoadedTable::Map(UniqueFd fd) {
  struct stat status;
  if (!fd.ok() || fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode) ||
      status.st_size <= 0) {
    return false;
  }
  const size_t size = static_cast<size_t>(status.st_size);
  void* mapping = mmap(nullptr, size, PROT_READ, MAP_SHARED, fd.get(), 0);
  if (mapping == MAP_FAILED) return false;
  LineTable table;
  if (!LineTable::FromBytes(mapping, size, &table) || !table.VerifyContents()) {
    munmap(mapping, size);
    return false;
  }
  table_ = table;
  fd_ = std::move(fd);
  mapping_ = mapping;
  size_bytes_ = size;
  return true;
}

// One call of LoadLineTable.
class TableLoader {
 public:
  TableLoader(const std::string& path, const SourceScope& scope, TableDetail detail,
              const std::string& folder)
      : path_(path), scope_(scope), folder_(folder), build_id_(ReadBuildId(path)) {
    const std::string key = BinaryKey(path, build_id_);
    if (folder.empty() || key.empty()) return;
    const char* const kinds[] = {"", "-functions", "-outer", "-paths"};
    file_ = absl::StrFormat("%s/%s-%016x-v%d%s%s", folder, key, scope.Fingerprint(),
                            kLineTableFormatVersion, kinds[static_cast<int>(detail)], kSuffix);
  }

  bool LoadCached() {
    if (file_.empty() || !IsOwnFile()) return false;
    LoadedTable candidate;
    // O_NOFOLLOW and the checks below: the folder may be one that others can write to.
    if (!candidate.Map(UniqueFd(open(file_.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW)))) {
      return false;
    }
    if (candidate.table().build_id() != build_id_.substr(0, kMaxBuildIdBytes) ||
        candidate.table().scope_fingerprint() != scope_.Fingerprint()) {
      return false;
    }
    candidate.was_cached_ = true;
    // RemoveOldTables takes the time of change for the last use.
    utimensat(AT_FDCWD, file_.c_str(), nullptr, AT_SYMLINK_NOFOLLOW);
    loaded_ = std::move(candidate);
    return true;
  }

  absl::Status Build(const ReadOptions& options) {
    auto result = ReadLineTable(path_, scope_, options);
    if (!result.ok()) return result.status();
    loaded_.statistics_ = std::move(result->statistics);
    const std::string& image = result->image;
    if (IsComplete() && Keep(image) && IsOwnFile() &&
        loaded_.Map(UniqueFd(open(file_.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW)))) {
      return absl::OkStatus();
    }
    auto memory = SealedMemoryFile(image);
    if (!memory.ok()) return memory.status();
    if (loaded_.Map(*std::move(memory))) return absl::OkStatus();
    return absl::InternalError(absl::StrCat("the line table of ", path_, " is not sound"));
  }

  static absl::StatusOr<LoadedTable> Hold(const std::string& image) {
    auto memory = SealedMemoryFile(image);
    if (!memory.ok()) return memory.status();
    LoadedTable held;
    if (held.Map(*std::move(memory))) return held;
    return absl::InternalError("a table that was made in memory is not sound");
  }

  LoadedTable Take() { return std::move(loaded_); }

 private:
  // Another user's file is not trusted, even if its checksum is right.
  bool IsOwnFile() const {
    struct stat status;
    return lstat(file_.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
           status.st_uid == geteuid() && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
  }

  bool IsComplete() {
    for (const SkippedPart& part : loaded_.statistics_.skipped) {
      if (!part.may_appear) continue;
      loaded_.cache_problem_ = absl::StrCat("the line table lacks a ", part.reason);
      return false;
    }
    return true;
  }

  bool Keep(const std::string& image) {
    if (file_.empty()) {
      loaded_.cache_problem_ = "there is no cache folder: neither XDG_CACHE_HOME nor HOME is set";
      return false;
    }
    if (!MakeFolders(folder_)) {
      loaded_.cache_problem_ = ErrorText("cannot make the cache folder", folder_, errno);
      return false;
    }
    std::string name = absl::StrCat(file_, ".XXXXXX");
    const UniqueFd fd(mkostemp(name.data(), O_CLOEXEC));
    if (!fd.ok()) {
      loaded_.cache_problem_ = ErrorText("cannot write to the cache folder", folder_, errno);
      return false;
    }
    if (WriteAll(fd.get(), image) && rename(name.c_str(), file_.c_str()) == 0) {
      RemoveOldTables(folder_, file_);
      return true;
    }
    loaded_.cache_problem_ = ErrorText("cannot write the cached line table", file_, errno);
    unlink(name.c_str());
    return false;
  }

  const std::string& path_;
  const SourceScope& scope_;
  const std::string& folder_;
  const std::string build_id_;
  std::string file_;  // empty: nothing is kept
  LoadedTable loaded_;
};

std::string DefaultCacheFolder() {
  const char* xdg = std::getenv("XDG_CACHE_HOME");
  if (xdg != nullptr && xdg[0] == '/') return absl::StrCat(xdg, "/coz");
  const char* home = std::getenv("HOME");
  if (home != nullptr && home[0] == '/') return absl::StrCat(home, "/.cache/coz");
  return "";
}

absl::StatusOr<LoadedTable> HoldTable(const std::string& image) { return TableLoader::Hold(image); }

absl::StatusOr<LoadedTable> LoadLineTable(const std::string& path, const SourceScope& scope,
                                          const ReadOptions& options,
                                          const std::string& cache_folder) {
  TableLoader loader(path, scope, options.detail, cache_folder);
  if (!loader.LoadCached()) {
    if (absl::Status status = loader.Build(options); !status.ok()) return status;
  }
  return loader.Take();
}

}  // namespace coz::sourcemap
