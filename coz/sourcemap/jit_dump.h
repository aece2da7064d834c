// Reads jitdump files, in which programs that compile code while they run say what they have
// compiled, and of which lines.
//
// Shape    a header, then records, each with its length, which are written one after the other. The
//          lines of a function come before it
// Units    runtime addresses and bytes, in the machine's order of bytes
// Errors   a file that is no jitdump of this machine, or has a record that cannot be one, is read
//          no further: is_damaged(). What is longer than a bound is left out
// Threads  compatible
// Signals  not safe
// Source   linux, perf's jitdump-specification.txt; V8's src/diagnostics/perf-jit.cc
#ifndef COZ_SOURCEMAP_JIT_DUMP_H_
#define COZ_SOURCEMAP_JIT_DUMP_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace coz::sourcemap {

// Code from `start` on, up to the next of its function, is of this line.
struct JitLine {
  uint64_t start;
  uint32_t line;
  std::string file;
};

class JitDumpParser {
 public:
  // Of more lines of one function, and of longer names, the rest is left out.
  static constexpr size_t kMaxLines = 1 << 14;
  static constexpr size_t kMaxNameBytes = 4096;

  struct Load {
    uint64_t start;
    uint64_t size;  // not 0; start + size does not overflow
    std::string_view name;
    std::vector<JitLine> lines;  // by `start`, all of this function
  };
  struct Move {
    uint64_t from;
    uint64_t to;
    uint64_t size;  // as in Load
  };
  struct Visitor {
    std::function<void(const Load&)> load;
    std::function<void(const Move&)> move;
  };

  // The next bytes of the file, cut anywhere. Calls `visitor` for each record that they complete.
  void Feed(std::string_view bytes, const Visitor& visitor);

  bool is_damaged() const { return is_damaged_; }

 private:
  bool TakeHeader();
  bool TakeRecord(const Visitor& visitor);
  void TakeLoad(std::string_view body, const Visitor& visitor);
  void TakeMove(std::string_view body, const Visitor& visitor);
  void TakeDebugInfo(std::string_view body);

  bool has_header_ = false;
  bool is_damaged_ = false;
  std::string begun_;      // of the header, or a record
  uint64_t skip_ = 0;      // bytes that nobody needs
  uint64_t lines_of_ = 0;  // the function of `lines_`
  std::vector<JitLine> lines_;
};

}  // namespace coz::sourcemap

#endif  // COZ_SOURCEMAP_JIT_DUMP_H_
