// Says what kind of file a program is and whether it can be profiled line by line.
//
// Shape    a value; one inspection opens the file once and reads headers only (a separate debug
//          file is sought by name, which may ask a debuginfod server where DEBUGINFOD_URLS is set)
// Units    none
// Errors   DescribeBinary: NOT_FOUND or PERMISSION_DENIED when the file cannot be read; a file that
//          is no ELF is a value, not an error. CheckProfilable: FAILED_PRECONDITION or
//          INVALID_ARGUMENT, each one sentence with what was found and what to do.
// Threads  safe: no shared state
// Signals  not safe
// Source   elf(5); execve(2) for scripts
#ifndef COZ_SOURCEMAP_BINARY_INFO_H_
#define COZ_SOURCEMAP_BINARY_INFO_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace coz::sourcemap {

struct BinaryInfo {
  enum class Kind {
    kElf,         // an executable or shared object for this machine, 64-bit x86-64
    kForeignElf,  // for another machine or word size, or no linked file
    kScript,      // starts with "#!"
    kOther,
  };

  std::string path;
  Kind kind = Kind::kOther;
  std::string interpreter;        // of a script: its path, the first word after "#!"
  std::string description;        // for people: "a shared object", "an empty file"
  bool is_static = false;         // an executable without loader: nothing can be preloaded into it
  bool needs_no_library = false;  // it has a loader, but no libc: nothing preloaded is called
  // The loader, where it is not of a glibc of 2.35 or later: it would end the program.
  std::string foreign_loader;
  bool is_go = false;
  bool is_position_independent = false;
  bool has_symbols = false;         // .symtab, not only the dynamic ones
  uint64_t exported_functions = 0;  // of its own, among the dynamic symbols
  bool has_debug_info = false;      // in itself
  // Has debug information that this build cannot decompress: the section's name.
  std::string unreadable_section;
  std::string debug_path;  // the file with the debug information: its own path, another, or empty
  std::string unfit_debug_path;  // where `debug_path` is empty: a separate file of another build
  std::string debug_problem;     // why `debug_path` is empty, one sentence
  std::string build_id;          // hexadecimal, or empty

  bool can_be_preloaded() const {
    return kind == Kind::kElf && !is_static && !needs_no_library && foreign_loader.empty();
  }
  // Of more of its functions than a linker exports by itself.
  bool has_function_names() const {
    constexpr uint64_t kLinkers = 10;
    return has_symbols || exported_functions > kLinkers;
  }
};

// `debug_search_path` as in ReadOptions.
absl::StatusOr<BinaryInfo> DescribeBinary(const std::string& path,
                                          const std::string& debug_search_path = "");

// Of a file that can be read. Go makes some system calls without libc.
bool IsGoProgram(const std::string& path);

// How a Go program is built that the runtime can be preloaded into.
inline constexpr char kGoRemedy[] =
    "build it with: CGO_ENABLED=1 go build, and import _ \"runtime/cgo\" in package main";

// What to do where the program `is_static`.
const char* StaticRemedy(const BinaryInfo& info);

// OK if the runtime can be preloaded and, where `needs_debug_info`, lines can be known.
absl::Status CheckProfilable(const BinaryInfo& info, bool needs_debug_info = true);

}  // namespace coz::sourcemap

#endif  // COZ_SOURCEMAP_BINARY_INFO_H_
