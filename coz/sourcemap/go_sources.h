// Tells the sources of Go's own library from those of a program, wherever Go is unpacked.
//
// Shape    the paths of a Go program's files in, then an answer for each
// Units    paths as debug information has them: absolute, or, with `go build -trimpath`, an import
//          path and a file name
// Errors   none: where the runtime's own source is not among the files, nothing is Go's
// Threads  compatible
// Signals  not safe
// Source   Go's cmd/go, "-trimpath"; https://pkg.go.dev/std
#ifndef COZ_SOURCEMAP_GO_SOURCES_H_
#define COZ_SOURCEMAP_GO_SOURCES_H_

#include <optional>
#include <string>
#include <string_view>

namespace coz::sourcemap {

class GoSources {
 public:
  // Returns whether that is the file by which the place of the others is known.
  bool Note(std::string_view path);
  bool IsLibrary(std::string_view path) const;

 private:
  std::optional<std::string> root_;  // ends in "/src/"; empty: paths are import paths
};

}  // namespace coz::sourcemap

#endif  // COZ_SOURCEMAP_GO_SOURCES_H_
