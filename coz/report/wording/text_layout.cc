#include "coz/report/wording/text_layout.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "utf8proc.h"

namespace coz::report {
namespace {

constexpr absl::string_view kEllipsis = "…";

struct Character {
  utf8proc_int32_t code_point = 0;
  size_t bytes = 1;
  bool is_printable = false;  // neither a control character nor broken UTF-8
};

// The first character of `text`, which is not empty. A byte that begins none stands for itself.
Character Decode(absl::string_view text) {
  Character c;
  const utf8proc_ssize_t bytes =
      utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                       static_cast<utf8proc_ssize_t>(text.size()), &c.code_point);
  if (bytes <= 0) return c;
  c.bytes = static_cast<size_t>(bytes);
  c.is_printable = utf8proc_category(c.code_point) != UTF8PROC_CATEGORY_CC;
  return c;
}

// What cannot be printed is shown as '?'.
int Width(const Character& c) { return c.is_printable ? utf8proc_charwidth(c.code_point) : 1; }

// Replaces what stands between each outermost pair of brackets.
std::string EmptyBrackets(absl::string_view text, char open, char close) {
  std::string result;
  int depth = 0;
  size_t inside = 0;
  for (char c : text) {
    if (c == close && depth > 0 && --depth == 0 && inside > 0) absl::StrAppend(&result, kEllipsis);
    if (depth == 0) {
      result.push_back(c);
      inside = 0;
    } else {
      ++inside;
    }
    if (c == open) ++depth;
  }
  return result;
}

std::string WithoutBrackets(const std::string& text, absl::string_view emptied) {
  return absl::StrReplaceAll(text, {{emptied, ""}});
}

// Whether the blank at `at` stands between a number and its percent sign.
bool IsBeforePercent(absl::string_view line, size_t at) {
  const bool is_percent = absl::StartsWith(line.substr(at), " %");
  return is_percent && at > 0 && absl::ascii_isdigit(static_cast<unsigned char>(line[at - 1]));
}

// The end of the word at `at`: the next blank that is neither between backquotes nor within a
// figure.
size_t WordEnd(absl::string_view line, size_t at) {
  bool quoted = false;
  for (; at < line.size() && (quoted || line[at] != ' ' || IsBeforePercent(line, at)); ++at) {
    if (line[at] == '`') quoted = !quoted && line.find('`', at + 1) != line.npos;
  }
  return at;
}

// Without escape sequences of colour.
int PlainWidth(absl::string_view text) {
  int width = DisplayWidth(text);
  for (size_t at = text.find("\033["); at != text.npos; at = text.find("\033[", at + 1)) {
    const size_t end = text.find('m', at);
    if (end == text.npos) break;
    width -= static_cast<int>(end - at + 1);
  }
  return width;
}

std::string WrappedLine(absl::string_view line, int width) {
  if (PlainWidth(line) <= width) return absl::StrCat(line);
  const size_t indent = std::min(line.find_first_not_of(' '), line.size());
  const std::string next(indent + 2, ' ');
  std::string result(line.substr(0, indent));
  int used = static_cast<int>(indent);
  for (size_t at = indent; at < line.size();) {
    const size_t end = WordEnd(line, at);
    const absl::string_view word = line.substr(at, end - at);
    const int columns = PlainWidth(word);
    const bool is_first = at == indent;
    if (!is_first && used + 1 + columns > width) {
      absl::StrAppend(&result, "\n", next, word);
      used = static_cast<int>(next.size()) + columns;
    } else {
      absl::StrAppend(&result, is_first ? "" : " ", word);
      used += columns + (is_first ? 0 : 1);
    }
    at = std::min(end + 1, line.size());
  }
  return result;
}

}  // namespace

std::string Wrapped(absl::string_view text, int width) {
  std::string result;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    absl::StrAppend(&result, WrappedLine(text.substr(0, end), width));
    if (end < text.size()) result.push_back('\n');
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return result;
}

int DisplayWidth(absl::string_view text) {
  int width = 0;
  while (!text.empty()) {
    const Character c = Decode(text);
    width += Width(c);
    text.remove_prefix(c.bytes);
  }
  return width;
}

int WidestLine(absl::string_view text) {
  int widest = 0;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    widest = std::max(widest, DisplayWidth(line));
  }
  return widest;
}

std::string Printable(absl::string_view text) {
  std::string result;
  while (!text.empty()) {
    const Character c = Decode(text);
    if (!c.is_printable) {
      result.push_back('?');
    } else {
      absl::StrAppend(&result, text.substr(0, c.bytes));
    }
    text.remove_prefix(c.bytes);
  }
  return result;
}

std::string Capitalized(absl::string_view text) {
  std::string result(text);
  if (!result.empty()) result[0] = absl::ascii_toupper(static_cast<unsigned char>(result[0]));
  return result;
}

std::string ElideFront(absl::string_view text, int width) {
  if (DisplayWidth(text) <= width) return absl::StrCat(text);
  if (width <= 0) return "";
  while (!text.empty() && DisplayWidth(text) > width - 1) text.remove_prefix(Decode(text).bytes);
  return absl::StrCat(kEllipsis, text);
}

std::string ElideEnd(absl::string_view text, int width) {
  if (DisplayWidth(text) <= width) return absl::StrCat(text);
  if (width <= 0) return "";
  size_t end = 0;
  for (int used = 0; end < text.size();) {
    const Character c = Decode(text.substr(end));
    used += Width(c);
    if (used > width - 1) break;
    end += c.bytes;
  }
  return absl::StrCat(text.substr(0, end), kEllipsis);
}

std::string ElidePath(absl::string_view path, int width) {
  const absl::string_view name = path.substr(path.rfind('/') + 1);
  if (DisplayWidth(path) <= width || DisplayWidth(name) < width) return ElideFront(path, width);
  if (DisplayWidth(name) == width) return absl::StrCat(name);
  const int line_width = static_cast<int>(name.size() - std::min(name.rfind(':'), name.size()));
  const int end_width = std::max((width - 1) / 3, std::min(line_width, width / 2));
  absl::string_view end = name;
  while (DisplayWidth(end) > end_width) end.remove_prefix(Decode(end).bytes);
  return absl::StrCat(ElideEnd(name, width - end_width), end);
}

std::string ShortenFunction(absl::string_view function, int width) {
  std::string name(function);
  if (DisplayWidth(name) <= width) return name;
  // Parentheses of "operator()" and "(anonymous namespace)" are part of the name.
  const bool special = absl::StrContains(name, "operator") || absl::StrContains(name, "(anonymous");
  if (special) return ElideFront(name, width);
  name = EmptyBrackets(name, '(', ')');
  if (DisplayWidth(name) <= width) return name;
  name = EmptyBrackets(name, '<', '>');
  if (DisplayWidth(name) <= width) return name;
  name = name.substr(0, name.find('('));
  const size_t blank = name.rfind(' ');
  if (blank != std::string::npos) name.erase(0, blank + 1);
  if (DisplayWidth(name) <= width) return name;
  name = WithoutBrackets(name, "<…>");
  while (DisplayWidth(name) > width) {
    const size_t scope = name.find("::");
    if (scope == std::string::npos) return ElideEnd(name, width);
    name.erase(0, scope + 2);
  }
  return name;
}

std::string WithoutAnonymous(absl::string_view function) {
  return absl::StrReplaceAll(function, {{"(anonymous namespace)::", ""}});
}

std::string WithoutBuildFolder(absl::string_view path) {
  absl::ConsumePrefix(&path, "/proc/self/cwd/");
  constexpr absl::string_view kRoot = "/execroot/";
  const size_t root = path.find(kRoot);
  if (root != absl::string_view::npos) {
    const size_t end = path.find('/', root + kRoot.size());
    if (end != absl::string_view::npos) path.remove_prefix(end + 1);
  }
  constexpr absl::string_view kOutputs = "bazel-out/";
  const size_t bin = path.find("/bin/");
  if (absl::StartsWith(path, kOutputs) && bin != absl::string_view::npos) {
    path.remove_prefix(bin + 5);
  }
  return std::string(path);
}

std::string CommonFolder(const std::vector<std::string>& paths) {
  if (paths.empty()) return "";
  std::string common = paths.front();
  for (const std::string& path : paths) {
    const auto differ = std::mismatch(common.begin(), common.end(), path.begin(), path.end());
    common.erase(differ.first, common.end());
  }
  const size_t slash = common.rfind('/');
  return slash == std::string::npos ? "" : common.substr(0, slash + 1);
}

std::string PluralOf(absl::string_view noun) {
  if (absl::ConsumeSuffix(&noun, "ry")) return absl::StrCat(noun, "ries");
  return absl::StrCat(noun, absl::EndsWith(noun, "ss") ? "es" : "s");
}

std::string Counted(uint64_t n, absl::string_view noun) {
  return absl::StrCat(n, " ", n == 1 ? std::string(noun) : PluralOf(noun));
}

std::string Figure(double value, int digits) {
  const bool has_more = std::fabs(value) >= std::pow(10, digits) - 0.5;
  return has_more ? absl::StrFormat("%.0f", value) : absl::StrFormat("%.*g", digits, value);
}

std::string Pad(absl::string_view text, int width, Align align) {
  const std::string blanks(static_cast<size_t>(std::max(0, width - DisplayWidth(text))), ' ');
  return align == Align::kLeft ? absl::StrCat(text, blanks) : absl::StrCat(blanks, text);
}

std::string TextTable::Render(int indent) const {
  std::vector<int> widths(alignment_.size(), 0);
  for (const auto& row : rows_) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], DisplayWidth(row[i]));
  }
  std::string result;
  for (const auto& row : rows_) {
    std::string line(static_cast<size_t>(indent), ' ');
    for (size_t i = 0; i < row.size(); ++i) {
      if (widths[i] == 0) continue;
      absl::StrAppend(&line, i == 0 ? "" : "  ", Pad(row[i], widths[i], alignment_[i]));
    }
    line.erase(line.find_last_not_of(' ') + 1);
    absl::StrAppend(&result, line, "\n");
  }
  return result;
}

}  // namespace coz::report
