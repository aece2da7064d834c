// ./bazelw build --config=fuzz //coz/sourcemap:perf_map_fuzzer &&
// bazel-bin/coz/sourcemap/perf_map_fuzzer
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "coz/sourcemap/perf_map.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using coz::sourcemap::CodeRanges;
  constexpr size_t kCapacity = 64;
  CodeRanges ranges(kCapacity);
  coz::sourcemap::PerfMapParser parser;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto put = [&ranges, size](const coz::sourcemap::PerfMapEntry& entry) {
    const coz::sourcemap::JitFunction function = coz::sourcemap::ParseJitName(entry.name);
    if (function.function.empty() || function.function.size() > 2 * size + 32) std::abort();
    ranges.Put(entry.start, entry.start + entry.size, static_cast<uint32_t>(entry.size));
  };
  parser.Feed(text.substr(0, size / 3), put);
  parser.Feed(text.substr(size / 3), put);
  if (ranges.ranges().size() > kCapacity) std::abort();
  uint64_t end = 0;
  for (const auto& [start, range] : ranges.ranges()) {
    if (start < end || range.end <= start) std::abort();
    end = range.end;
  }
  return 0;
}
