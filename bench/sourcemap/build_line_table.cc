// Builds the line table of one binary and prints what that took. compare.sh runs it.
// Usage: build_line_table <elf file> [<source scope pattern>...]
#include <sys/resource.h>

#include <cinttypes>
#include <cstdio>
#include <string>
#include <vector>

#include "coz/base/clock.h"
#include "coz/sourcemap/dwarf_reader.h"
#include "coz/sourcemap/line_table.h"

namespace {

void PrintStatistics(const coz::sourcemap::ReadStatistics& statistics) {
  std::printf("debug file      %s\n", statistics.debug_path.c_str());
  std::printf("units           %" PRIu64 ", %" PRIu64 " out of scope\n", statistics.units,
              statistics.units_out_of_scope);
  std::printf("rows            %" PRIu64 "\n", statistics.rows);
  std::printf("functions       %" PRIu64 ", and %" PRIu64 " inlined calls\n", statistics.functions,
              statistics.inlined_calls);
  std::printf("files in scope  %" PRIu64 "\n", statistics.files_in_scope);
  std::printf("code in scope   %" PRIu64 " bytes\n", statistics.bytes_in_scope);
  for (const coz::sourcemap::SkippedPart& part : statistics.skipped) {
    std::printf("skipped         %" PRIu64 " x %s, e.g. %s\n", part.count, part.reason.c_str(),
                part.example.c_str());
  }
}

double MillisecondsSince(uint64_t start_ns) {
  return static_cast<double>(coz::MonotonicNowNs() - start_ns) / coz::kNsPerMs;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: %s <elf file> [<source scope pattern>...]\n", argv[0]);
    return 2;
  }
  const coz::sourcemap::SourceScope scope(std::vector<std::string>(argv + 2, argv + argc));
  const uint64_t start_ns = coz::MonotonicNowNs();
  const auto result = coz::sourcemap::ReadLineTable(argv[1], scope);
  if (!result.ok()) {
    std::fprintf(stderr, "%s\n", std::string(result.status().message()).c_str());
    return 1;
  }
  std::printf("build           %.1f ms\n", MillisecondsSince(start_ns));
  PrintStatistics(result->statistics);

  const uint64_t open_ns = coz::MonotonicNowNs();
  coz::sourcemap::LineTable table;
  if (!coz::sourcemap::LineTable::FromBytes(result->image.data(), result->image.size(), &table))
    return 1;
  const double open_ms = MillisecondsSince(open_ns);
  const uint64_t verify_ns = coz::MonotonicNowNs();
  const bool is_sound = table.VerifyContents();
  std::printf("open            %.4f ms\nverify          %.2f ms, %s\n", open_ms,
              MillisecondsSince(verify_ns), is_sound ? "sound" : "DAMAGED");
  std::printf("image           %zu bytes: %" PRIu32 " intervals, %" PRIu32 " lines\n",
              result->image.size(), table.interval_count(), table.line_count());
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  std::printf("peak memory     %ld KiB\n", usage.ru_maxrss);
  return is_sound ? 0 : 1;
}
