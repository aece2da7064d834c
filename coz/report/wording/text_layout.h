// Columns of text for a terminal: UTF-8 widths, shortening, alignment.
//
// Shape    strings in, strings out; no colour
// Units    columns of a terminal
// Errors   none: bytes that are no UTF-8 count one column each and are shown as '?'
// Threads  safe
// Signals  not async-signal-safe
// Source   widths as in wcwidth(3), from the tables of utf8proc
#ifndef COZ_REPORT_WORDING_TEXT_LAYOUT_H_
#define COZ_REPORT_WORDING_TEXT_LAYOUT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace coz::report {

// Columns that the text takes.
int DisplayWidth(absl::string_view text);

// Those of its widest line.
int WidestLine(absl::string_view text);

// The text with control characters and broken UTF-8 made harmless.
std::string Printable(absl::string_view text);

// The text with a capital at its beginning, where that is a small letter of ASCII.
std::string Capitalized(absl::string_view text);

// "samples", "binaries", "processes".
std::string PluralOf(absl::string_view noun);

// "1 sample", "2 samples".
std::string Counted(uint64_t n, absl::string_view noun);

// Without an exponent from 0.0001 on: "0.457", "82.4", "4108" with three digits or more.
std::string Figure(double value, int digits = 3);

// At most `width` columns, with "…" where something was left out: at the front (paths), at the end
// (names).
std::string ElideFront(absl::string_view text, int width);
std::string ElideEnd(absl::string_view text, int width);
// Folders at the front first, then amid the file's name, whose start tells most:
// "…/lib/ext.so", "ext.cpython-3…nux-gnu.so".
std::string ElidePath(absl::string_view path, int width);

// Drops return types, template arguments and parameters as far as needed:
// "ns::f<int>(long)" → "ns::f<…>(…)" → "ns::f" → "f".
std::string ShortenFunction(absl::string_view function, int width);

// The path without what a build put before it: /proc/self/cwd/, where Bazel runs, and the folder
// that its outputs are in.
std::string WithoutBuildFolder(absl::string_view path);

// The folder that all paths are in, with its last '/'; "" if there is none.
std::string CommonFolder(const std::vector<std::string>& paths);

enum class Align { kLeft, kRight };

// Without "(anonymous namespace)::": the place tells which of several it is.
std::string WithoutAnonymous(absl::string_view function);

// Breaks lines that are longer than `width` between words. The rest of such a line is indented by
// two blanks more than its beginning. Text between `backquotes` stays whole, so that it can be
// copied, and a number beside its percent sign. Escape sequences of colour take no column.
std::string Wrapped(absl::string_view text, int width);

// Left or right aligned in `width` columns.
std::string Pad(absl::string_view text, int width, Align align);

// Rows of cells. Columns are two blanks apart and as wide as their widest cell; a column of empty
// cells is left out. Lines do not end with blanks.
class TextTable {
 public:
  explicit TextTable(std::vector<Align> alignment) : alignment_(std::move(alignment)) {}

  void AddRow(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  std::string Render(int indent) const;

 private:
  const std::vector<Align> alignment_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace coz::report

#endif  // COZ_REPORT_WORDING_TEXT_LAYOUT_H_
