// Says which source lines addresses belong to: a tool outside coz, made of coz/sampler and
// coz/sourcemap.
//
//   hotlines                     samples itself at work and ranks its own lines
//   hotlines PROGRAM ADDRESS...  the line of each ELF address (hexadecimal), like addr2line
#include <link.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "coz/sampler/sampler.h"
#include "coz/sampler/sampler_status.h"
#include "coz/sourcemap/dwarf_reader.h"
#include "coz/sourcemap/line_table.h"
#include "coz/sourcemap/scope.h"

namespace {

constexpr uint32_t kMaxSamples = 1 << 16;

// Filled by the signal handler; no heap there.
uint64_t sampled_ips[kMaxSamples];
std::atomic<uint32_t> sample_count{0};

void Record(const coz::sampler::Sample& sample) {
  for (uint64_t i = 0; i < sample.weight; ++i) {
    const uint32_t index = sample_count.fetch_add(1, std::memory_order_relaxed);
    if (index < kMaxSamples) sampled_ips[index] = sample.ip;
  }
}

volatile uint64_t sink = 0;

__attribute__((noinline)) void Light() {
  for (int i = 0; i < 100000; ++i) sink = sink + 1;
}

__attribute__((noinline)) void Heavy() {
  for (int i = 0; i < 900000; ++i) sink = sink + 1;
}

void WorkForCpuSeconds(double seconds) {
  const clock_t end = clock() + static_cast<clock_t>(seconds * CLOCKS_PER_SEC);
  while (clock() < end) {
    Light();
    Heavy();
  }
}

// Runtime address = ELF address + bias, of the program itself, which the loader lists first.
uint64_t OwnLoadBias() {
  uint64_t bias = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* out) {
        *static_cast<uint64_t*>(out) = info->dlpi_addr;
        return 1;
      },
      &bias);
  return bias;
}

// `image` keeps the bytes that `table` looks at.
bool ReadLines(const std::string& program, std::string* image, coz::sourcemap::LineTable* table) {
  absl::StatusOr<coz::sourcemap::LineTableResult> result =
      coz::sourcemap::ReadLineTable(program, coz::sourcemap::SourceScope());
  if (!result.ok()) {
    fprintf(stderr, "hotlines: %s\n", std::string(result.status().message()).c_str());
    return false;
  }
  *image = std::move(result->image);
  return coz::sourcemap::LineTable::FromBytes(image->data(), image->size(), table);
}

int RankOwnLines() {
  std::string image;
  coz::sourcemap::LineTable table;
  if (!ReadLines("/proc/self/exe", &image, &table)) return 1;
  coz::sampler::SamplerOptions options;
  options.callback = Record;
  const coz::sampler::SamplerStatus status = coz::sampler::StartSampler(options);
  WorkForCpuSeconds(1);
  coz::sampler::StopSampler();
  printf("sampled by %s\n", coz::sampler::SamplingSourceName(status.source));

  std::map<uint32_t, uint32_t> samples_of_line;
  const uint32_t samples = std::min(sample_count.load(), kMaxSamples);
  const uint64_t bias = OwnLoadBias();
  for (uint32_t i = 0; i < samples; ++i) ++samples_of_line[table.Lookup(sampled_ips[i] - bias)];
  std::vector<std::pair<uint32_t, uint32_t>> ranked;
  for (const auto& [line, count] : samples_of_line) ranked.emplace_back(count, line);
  std::sort(ranked.rbegin(), ranked.rend());
  for (const auto& [count, index] : ranked) {
    const coz::sourcemap::Line line = table.line(index);
    printf("%5.1f %%  %s:%u  %s\n", 100.0 * count / samples,
           index == coz::sourcemap::kNoLine ? "elsewhere" : line.file, line.line, line.function);
  }
  return samples == 0 ? 1 : 0;
}

int PrintLines(const char* program, char** addresses) {
  std::string image;
  coz::sourcemap::LineTable table;
  if (!ReadLines(program, &image, &table)) return 1;
  for (; *addresses != nullptr; ++addresses) {
    char* end = nullptr;
    const uint64_t elf_address = strtoull(*addresses, &end, 16);
    if (end == *addresses || *end != '\0') {
      fprintf(stderr, "hotlines: \"%s\" is no hexadecimal address; take one from nm %s\n",
              *addresses, program);
      return 1;
    }
    const uint32_t index = table.Lookup(elf_address);
    const coz::sourcemap::Line line = table.line(index);
    printf("%s  %s:%u  %s\n", *addresses, index == coz::sourcemap::kNoLine ? "?" : line.file,
           line.line, line.function);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 1) return RankOwnLines();
  if (argc >= 3) return PrintLines(argv[1], argv + 2);
  fprintf(stderr, "hotlines: no addresses were given; write: hotlines PROGRAM ADDRESS...\n");
  return 1;
}
