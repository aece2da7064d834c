#include "coz/report/plot/source_lines.h"

#include <sys/stat.h>

#include <fstream>
#include <string>
#include <utility>

#include "coz/report/wording/find_source.h"

namespace coz::report {
namespace {

constexpr int64_t kMaxFileBytes = 8 << 20;
constexpr size_t kMaxLineBytes = 200;

bool IsWanted(const std::set<uint32_t>& lines, uint32_t line) {
  const auto next = lines.lower_bound(line > kSourceContextLines ? line - kSourceContextLines : 1);
  return next != lines.end() && *next <= line + kSourceContextLines;
}

// A character that would be cut in two is left out.
std::string Cut(std::string text) {
  if (!text.empty() && text.back() == '\r') text.pop_back();
  if (text.size() <= kMaxLineBytes) return text;
  size_t end = kMaxLineBytes;
  while (end > 0 && (static_cast<uint8_t>(text[end]) & 0xc0) == 0x80) --end;
  return text.substr(0, end) + " …";
}

bool IsReadable(const std::string& path, struct stat* status) {
  return stat(path.c_str(), status) == 0 && S_ISREG(status->st_mode) && std::ifstream(path).good();
}

}  // namespace

SourceText SourceReader::Read(const std::string& file, const std::set<uint32_t>& lines) {
  SourceText text;
  struct stat status;
  const std::string path = FindSource(file, folders_);
  if (path.empty() || !IsReadable(path, &status)) {
    text.missing = "it is not on the machine that made this report";
    return text;
  }
  if (status.st_size > kMaxFileBytes) {
    text.missing = "the file is larger than 8 MiB";
    return text;
  }
  if (bytes_left_ == 0) {
    text.missing = "the report holds 16 MiB of source text already";
    return text;
  }
  text.changed_since = IsModifiedAfter(path, start_unix_ns_);
  std::ifstream stream(path, std::ios::binary);
  std::string content;
  for (uint32_t line = 1; std::getline(stream, content); ++line) {
    if (!IsWanted(lines, line)) continue;
    content = Cut(std::move(content));
    if (content.size() > bytes_left_) {
      bytes_left_ = 0;
      break;
    }
    bytes_left_ -= content.size();
    if (text.runs.empty() || text.runs.back().first_line + text.runs.back().lines.size() != line) {
      text.runs.push_back({line, {}});
    }
    text.runs.back().lines.push_back(std::move(content));
  }
  if (text.runs.empty()) text.missing = "the file has no such line now";
  return text;
}

}  // namespace coz::report
