#include "coz/sourcemap/go_sources.h"

#include <algorithm>
#include <iterator>

namespace coz::sourcemap {
namespace {

constexpr std::string_view kScheduler = "runtime/proc.go";
constexpr std::string_view kSources = "/src/";

// The first parts of the import paths of Go's library and commands, sorted.
constexpr std::string_view kFirstParts[] = {
    "archive", "bufio",   "builtin",  "bytes",   "cmd",     "cmp",      "compress", "container",
    "context", "crypto",  "database", "debug",   "embed",   "encoding", "errors",   "expvar",
    "flag",    "fmt",     "go",       "hash",    "html",    "image",    "index",    "internal",
    "io",      "iter",    "log",      "maps",    "math",    "mime",     "net",      "os",
    "path",    "plugin",  "reflect",  "regexp",  "runtime", "slices",   "sort",     "strconv",
    "strings", "structs", "sync",     "syscall", "testing", "text",     "time",     "unicode",
    "unique",  "unsafe",  "vendor",   "weak"};

bool EndsWith(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

}  // namespace

bool GoSources::Note(std::string_view path) {
  if (!EndsWith(path, kScheduler)) return false;
  const std::string_view root = path.substr(0, path.size() - kScheduler.size());
  if (!root.empty() && !EndsWith(root, kSources)) return false;
  root_ = root;
  return true;
}

bool GoSources::IsLibrary(std::string_view path) const {
  if (!root_.has_value()) return false;
  if (!root_->empty()) return path.substr(0, root_->size()) == *root_;
  const std::string_view first = path.substr(0, path.find('/'));
  return first.size() < path.size() &&
         std::binary_search(std::begin(kFirstParts), std::end(kFirstParts), first);
}

}  // namespace coz::sourcemap
