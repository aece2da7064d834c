// What a folder holds, such as the numbers of processes, threads and descriptors in /proc.
//
// Shape    names without the folder, in no order
// Units    none
// Errors   a failed read ends the list; empty where the folder cannot be opened
// Threads  safe
// Signals  not async-signal-safe
// Source   a range-based for over std::filesystem::directory_iterator throws what a failed read
//          throws, whatever the iterator was made with, which ends a program that catches nothing
#ifndef COZ_BASE_NAMES_IN_H_
#define COZ_BASE_NAMES_IN_H_

#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

namespace coz {

inline std::vector<std::string> NamesIn(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    names.push_back(entry->path().filename().string());
  }
  return names;
}

}  // namespace coz

#endif  // COZ_BASE_NAMES_IN_H_
