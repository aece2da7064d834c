// Builds the line table of a binary from its DWARF debug information, versions 2 to 5.
//
// The rules in attribution.h decide which line an address gets: the innermost line in scope. A
// header out of scope never wins over a line of the program around it. Only compilation units that
// name a file in scope are decoded.
//
// Shape    path in, line-table image (line_table.h) and statistics out
// Units    ELF addresses of the binary, bytes
// Errors   NOT_FOUND, PERMISSION_DENIED: the binary cannot be read. INVALID_ARGUMENT: it is not
//          ELF. FAILED_PRECONDITION: it has no debug information; the message names what was sought
//          and what to do. Parts that could not be read are counted and named in the statistics. A
//          binary without lines in scope gives a table without lines.
// Threads  safe: no shared state
// Signals  not safe
// Source   DWARF 5; elfutils/libdw.h
#ifndef COZ_SOURCEMAP_DWARF_READER_H_
#define COZ_SOURCEMAP_DWARF_READER_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "coz/sourcemap/scope.h"

namespace coz::sourcemap {

// What a line of the table stands for.
enum class TableDetail {
  kLines,      // file:line, named by the function that holds most of its code
  kFunctions,  // file:line and function; inlined code is its own function's
  // file:line and function; inlined code is the function's that it was inlined into
  kOuterFunctions,
  // As kFunctions, with the functions that code was inlined into: Line::function is a PathKey
  kPaths,
};

struct ReadOptions {
  // Other than kLines, functions carry their declaration: see FunctionKey.
  TableDetail detail = TableDetail::kLines;
  // Folders, separated by colons, in which separate debug files are sought; only absolute ones are
  // searched by build-id. Empty: `.debug` beside the binary and /usr/lib/debug.
  std::string debug_search_path;
  // Called with the fraction done, from 0 to 1, at most some hundred times.
  std::function<void(double fraction)> progress;
};

// One kind of thing that could not be read.
struct SkippedPart {
  std::string reason;
  uint64_t count = 0;
  std::string example;  // the first one's name
  // The file may be there next time: a table that lacks it is not worth keeping.
  bool may_appear = false;
};

struct ReadStatistics {
  std::string debug_path;  // the file that held the debug information
  uint64_t units = 0;
  uint64_t units_out_of_scope = 0;  // they name no file in scope
  uint64_t rows = 0;                // of the line tables that were decoded
  uint64_t functions = 0;           // with code of their own
  uint64_t inlined_calls = 0;
  uint64_t files_in_scope = 0;
  uint64_t bytes_in_scope = 0;       // of code that got a line
  std::string example_out_of_scope;  // a unit's source file that the scope left out, if any
  std::vector<SkippedPart> skipped;
};

struct LineTableResult {
  std::string image;
  ReadStatistics statistics;
};

// A function as a table of another detail than kLines names it: Line::function is its text.
struct FunctionKey {
  std::string name;  // demangled
  std::string file;  // of its declaration; empty where unknown
  uint32_t line = 0;

  std::string Text() const;
  static FunctionKey FromText(std::string_view text);
};

// A function with what its code was inlined into, innermost first.
struct PathKey {
  struct Caller {
    FunctionKey function;
    std::string file;  // of the call
    uint32_t line = 0;

    std::string Text() const;
  };
  FunctionKey function;
  std::vector<Caller> callers;

  // The text of the function, followed by those of its callers.
  static PathKey FromText(std::string_view text);
};

// The functions of the symbol table whose code no debug information is about: the table has no
// files, its lines are all 1, and Line::function is a FunctionKey. FAILED_PRECONDITION where there
// are none.
absl::StatusOr<LineTableResult> ReadSymbolTable(const std::string& path);

// All code of the binary as one line of the file `path`.
absl::StatusOr<LineTableResult> ReadWholeBinary(const std::string& path);

absl::StatusOr<LineTableResult> ReadLineTable(const std::string& path, const SourceScope& scope,
                                              const ReadOptions& options = {});

}  // namespace coz::sourcemap

#endif  // COZ_SOURCEMAP_DWARF_READER_H_
