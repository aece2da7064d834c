// A file that is written beside its path and takes its place when all of it is there, so that it is
// either whole or as it was.
//
// Shape    one descriptor; movable, not copyable; without Finish() all is as it was
// Units    bytes
// Errors   false, and errno tells what went wrong
// Threads  compatible
// Signals  not async-signal-safe
// Source   rename(2) replaces a symbolic link itself, and a device or pipe by a file that nobody
//          reads; so a link is followed, and what is no regular file is written to as it is
#ifndef COZ_BASE_FILE_REPLACEMENT_H_
#define COZ_BASE_FILE_REPLACEMENT_H_

#include <string>
#include <string_view>

#include "coz/base/unique_fd.h"

namespace coz {

class FileReplacement {
 public:
  FileReplacement() = default;
  FileReplacement(FileReplacement&& other) noexcept = default;
  ~FileReplacement();

  // Of a pipe, waits for its reader.
  [[nodiscard]] bool Open(const std::string& path);
  [[nodiscard]] bool Write(std::string_view bytes);
  [[nodiscard]] bool Finish();

 private:
  UniqueFd fd_;
  std::string temporary_;  // empty for what is written to as it is
  std::string path_;       // behind all links
};

// Whether both paths lead to one regular file, which writing the one would take from the other.
bool IsSameFile(const std::string& a, const std::string& b);

}  // namespace coz

#endif  // COZ_BASE_FILE_REPLACEMENT_H_
