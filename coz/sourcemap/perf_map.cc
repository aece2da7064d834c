#include "coz/sourcemap/perf_map.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <vector>

namespace coz::sourcemap {
namespace {

constexpr size_t kMaxNameBytes = 512;

// Reads a number and the blanks behind it.
bool TakeHex(std::string_view* text, uint64_t* value) {
  if (text->substr(0, 2) == "0x") text->remove_prefix(2);
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), *value, 16);
  if (error != std::errc()) return false;
  text->remove_prefix(static_cast<size_t>(end - text->data()));
  if (text->empty() || text->front() != ' ') return false;
  text->remove_prefix(std::min(text->find_first_not_of(' '), text->size()));
  return true;
}

// Takes ":NUMBER" from the end.
bool TakeLastNumber(std::string_view* text, uint32_t* value) {
  const size_t colon = text->rfind(':');
  if (colon == std::string_view::npos || colon + 1 == text->size()) return false;
  const char* const end = text->data() + text->size();
  const auto [read, error] = std::from_chars(text->data() + colon + 1, end, *value);
  if (error != std::errc() || read != end) return false;
  *text = text->substr(0, colon);
  return true;
}

// Bytes of the UTF-8 character that `text` begins with; 0 where it begins with none.
size_t CharacterBytes(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text.front());
  if (lead < 0x20 || lead == 0x7f) return 0;
  if (lead < 0x80) return 1;
  const size_t bytes = lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 0;
  if (bytes == 0 || text.size() < bytes) return 0;
  for (size_t i = 1; i < bytes; ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xc0) != 0x80) return 0;
  }
  const auto second = static_cast<unsigned char>(text[1]);
  const bool is_overlong = (lead == 0xe0 && second < 0xa0) || (lead == 0xf0 && second < 0x90);
  const bool is_no_character = (lead == 0xed && second >= 0xa0) || (lead == 0xf4 && second >= 0x90);
  return is_overlong || is_no_character ? 0 : bytes;
}

// Names go into profiles, and to terminals.
std::string Cleaned(std::string_view name) {
  name = name.substr(0, kMaxNameBytes);
  std::string cleaned;
  while (!name.empty()) {
    const size_t bytes = CharacterBytes(name);
    cleaned += bytes == 0 ? "?" : name.substr(0, bytes);
    name.remove_prefix(std::max<size_t>(bytes, 1));
  }
  return cleaned.empty() ? "?" : cleaned;
}

// Where the place begins in "NAME PLACE". Names ("get size") and paths may have blanks.
size_t PlaceIn(std::string_view text) {
  for (std::string_view begin : {" /", " file:", " node:"}) {
    const size_t found = text.find(begin);
    if (found != std::string_view::npos) return found;
  }
  return text.rfind(' ');
}

// HotSpot's names are like "int Two.sum(int, int)".
std::string_view WithoutReturnType(std::string_view name) {
  const size_t parameters = name.find('(');
  if (parameters == std::string_view::npos || parameters == 0) return name;
  const size_t blank = name.rfind(' ', parameters);
  return blank == std::string_view::npos || blank + 1 == parameters ? name : name.substr(blank + 1);
}

bool TakePrefix(std::string_view prefix, std::string_view* text) {
  if (text->substr(0, prefix.size()) != prefix) return false;
  text->remove_prefix(prefix.size());
  return true;
}

// "JS:*", "LazyCompile:~" and the like.
bool TakeKindOfScript(std::string_view* name) {
  for (std::string_view kind : {"JS:", "LazyCompile:", "Function:", "Script:", "Eval:"}) {
    if (!TakePrefix(kind, name)) continue;
    name->remove_prefix(std::min(name->find_first_not_of("~^+*'-"), name->size()));
    return true;
  }
  return false;
}

}  // namespace

void PerfMapParser::TakeLine(std::string_view line,
                             const std::function<void(const PerfMapEntry&)>& visit) {
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  if (line.empty()) return;
  PerfMapEntry entry = {};
  const bool is_entry = TakeHex(&line, &entry.start) && TakeHex(&line, &entry.size);
  if (!is_entry || line.empty() || entry.start + entry.size < entry.start) {
    ++bad_lines_;
    return;
  }
  if (entry.size == 0) return;
  entry.name = line;
  visit(entry);
}

void PerfMapParser::Feed(std::string_view bytes,
                         const std::function<void(const PerfMapEntry&)>& visit) {
  while (!bytes.empty()) {
    const size_t newline = bytes.find('\n');
    const std::string_view part = bytes.substr(0, newline);
    bytes.remove_prefix(newline == std::string_view::npos ? bytes.size() : newline + 1);
    if (begun_.size() + part.size() > kMaxLineBytes) is_too_long_ = true;
    if (!is_too_long_) begun_ += part;
    if (newline == std::string_view::npos) return;
    if (is_too_long_) {
      ++bad_lines_;
    } else {
      TakeLine(begun_, visit);
    }
    begun_.clear();
    is_too_long_ = false;
  }
}

JitFunction ParseJitName(std::string_view name) {
  JitFunction parsed;
  std::string_view script = name;
  uint32_t column = 0;
  if (!TakeKindOfScript(&script) || !TakeLastNumber(&script, &column) ||
      !TakeLastNumber(&script, &parsed.line)) {
    parsed.line = 0;
    parsed.function = Cleaned(WithoutReturnType(name));
    return parsed;
  }
  const size_t place = PlaceIn(script);
  std::string_view file = place == std::string_view::npos ? script : script.substr(place + 1);
  const std::string_view function =
      place == std::string_view::npos ? std::string_view() : script.substr(0, place);
  TakePrefix("file://", &file);
  parsed.file = Cleaned(file);
  parsed.function = Cleaned(function);
  if (function.empty()) {
    parsed.function = parsed.file.substr(parsed.file.rfind('/') + 1) + ":" +
                      std::to_string(parsed.line) + ":" + std::to_string(column);
  }
  return parsed;
}

std::string CleanJitFile(std::string_view file) {
  TakePrefix("file://", &file);
  return Cleaned(file);
}

bool CodeRanges::Move(uint64_t from, uint64_t to, uint64_t size) {
  struct Part {
    uint64_t start;
    Range range;
  };
  std::vector<Part> parts;
  auto next = ranges_.lower_bound(from);
  if (next != ranges_.begin()) --next;
  for (; next != ranges_.end() && next->first < from + size; ++next) {
    const uint64_t start = std::max(next->first, from);
    const uint64_t end = std::min(next->second.end, from + size);
    if (start < end) parts.push_back({start, {end, next->second.unit}});
  }
  bool has_room = true;
  for (const Part& part : parts) {
    has_room &= Put(part.start - from + to, part.range.end - from + to, part.range.unit);
  }
  return has_room;
}

bool CodeRanges::Put(uint64_t start, uint64_t end, uint32_t unit) {
  // One range may become two around the new one.
  if (start >= end || ranges_.size() + 2 > capacity_) return false;
  auto next = ranges_.lower_bound(start);
  if (next != ranges_.begin()) {
    const auto before = std::prev(next);
    const Range cut = before->second;
    if (cut.end > start) before->second.end = start;
    if (cut.end > end) ranges_.emplace(end, cut);
  }
  while (next != ranges_.end() && next->first < end) {
    const Range cut = next->second;
    next = ranges_.erase(next);
    if (cut.end > end) next = ranges_.emplace(end, cut).first;
  }
  ranges_[start] = {end, unit};
  return true;
}

}  // namespace coz::sourcemap
