// Reads perf maps, in which programs that compile code while they run say what they have compiled.
//
// Shape    a text of lines "START SIZE NAME", which grows. Code may be said again, at other
//          addresses or at the same: what is said last holds
// Units    runtime addresses and bytes, hexadecimal in the text, with or without "0x"
// Errors   a line that is none of these is passed over and counted
// Threads  compatible
// Signals  not safe
// Source   linux, perf's jit-interface.txt; names: V8's src/logging/log.cc,
//          HotSpot's src/hotspot/share/code/codeCache.cpp (write_perf_map)
#ifndef COZ_SOURCEMAP_PERF_MAP_H_
#define COZ_SOURCEMAP_PERF_MAP_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace coz::sourcemap {

struct PerfMapEntry {
  uint64_t start;
  uint64_t size;  // not 0; start + size does not overflow
  std::string_view name;
};

class PerfMapParser {
 public:
  // Longer lines are passed over.
  static constexpr size_t kMaxLineBytes = 4096;

  // The next bytes of the map, cut anywhere. Calls `visit` for each line that they complete.
  void Feed(std::string_view bytes, const std::function<void(const PerfMapEntry&)>& visit);

  uint64_t bad_lines() const { return bad_lines_; }

 private:
  void TakeLine(std::string_view line, const std::function<void(const PerfMapEntry&)>& visit);

  std::string begun_;  // of a line
  bool is_too_long_ = false;
  uint64_t bad_lines_ = 0;
};

// What a name in a map stands for.
struct JitFunction {
  std::string function;  // not empty; valid UTF-8
  std::string file;      // empty where the name has none
  uint32_t line = 0;     // 0 where it has none
};

// V8's names are like "JS:*sum /app/sum.js:12:5", in which "*" says how the code was compiled: all
// versions are one function. One without a name is called by its place, "sum.js:12:5". Of HotSpot's
// "int Sum.of(int)" the type goes. Other names stay as they are.
JitFunction ParseJitName(std::string_view name);

// A file's name as ParseJitName has it.
std::string CleanJitFile(std::string_view file);

// Which unit has which addresses.
class CodeRanges {
 public:
  struct Range {
    uint64_t end;
    uint32_t unit;
  };

  explicit CodeRanges(size_t capacity) : capacity_(capacity) {}

  // Takes these addresses from what had them. False where there is no room for more ranges.
  bool Put(uint64_t start, uint64_t end, uint32_t unit);
  // The code there lies at other addresses from now on. False where there is no room for all of it.
  bool Move(uint64_t from, uint64_t to, uint64_t size);
  void Clear() { ranges_.clear(); }

  // By their start; none overlaps another.
  const std::map<uint64_t, Range>& ranges() const { return ranges_; }

 private:
  size_t capacity_;
  std::map<uint64_t, Range> ranges_;
};

}  // namespace coz::sourcemap

#endif  // COZ_SOURCEMAP_PERF_MAP_H_
