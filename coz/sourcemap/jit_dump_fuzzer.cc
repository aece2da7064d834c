// ./bazelw build --config=fuzz //coz/sourcemap:jit_dump_fuzzer &&
// bazel-bin/coz/sourcemap/jit_dump_fuzzer
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "coz/sourcemap/jit_dump.h"
#include "coz/sourcemap/perf_map.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using coz::sourcemap::JitDumpParser;
  constexpr size_t kCapacity = 64;
  coz::sourcemap::CodeRanges ranges(kCapacity);
  const JitDumpParser::Visitor visitor = {
      [&ranges](const JitDumpParser::Load& load) {
        const uint64_t end = load.start + load.size;
        if (end <= load.start || load.name.empty()) std::abort();
        if (load.name.size() > JitDumpParser::kMaxNameBytes) std::abort();
        if (load.lines.size() > JitDumpParser::kMaxLines) std::abort();
        uint64_t last = load.start;
        for (const coz::sourcemap::JitLine& line : load.lines) {
          if (line.start < last || line.start >= end) std::abort();
          last = line.start;
        }
        ranges.Put(load.start, end, static_cast<uint32_t>(load.lines.size()));
      },
      [&ranges](const JitDumpParser::Move& move) {
        if (move.from + move.size <= move.from || move.to + move.size <= move.to) std::abort();
        ranges.Put(move.to, move.to + move.size, 0);
      }};
  JitDumpParser parser;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  parser.Feed(bytes.substr(0, size / 3), visitor);
  parser.Feed(bytes.substr(size / 3), visitor);
  if (ranges.ranges().size() > kCapacity) std::abort();
  return 0;
}
