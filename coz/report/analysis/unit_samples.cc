#include "coz/report/analysis/unit_samples.h"

#include <algorithm>
#include <string>

namespace coz::report {
namespace {

void AppendVarint(uint64_t value, std::string* bytes) {
  for (; value >= 0x80; value >>= 7) bytes->push_back(static_cast<char>(value | 0x80));
  bytes->push_back(static_cast<char>(value));
}

// Reads what AppendVarint wrote.
uint64_t TakeVarint(const uint8_t** at) {
  uint64_t value = 0;
  int shift = 0;
  for (; (**at & 0x80) != 0; shift += 7) value |= static_cast<uint64_t>(*(*at)++ & 0x7f) << shift;
  return value | static_cast<uint64_t>(*(*at)++) << shift;
}

}  // namespace

UnitSamples::UnitSamples(std::vector<std::pair<size_t, uint64_t>> counts) {
  if (counts.empty()) return;
  std::sort(counts.begin(), counts.end());
  std::string bytes;
  size_t before = 0;
  for (size_t i = 0; i < counts.size();) {
    const size_t unit = counts[i].first + 1;
    uint64_t samples = 0;
    for (; i < counts.size() && counts[i].first + 1 == unit; ++i) samples += counts[i].second;
    AppendVarint(unit - before, &bytes);
    AppendVarint(samples, &bytes);
    before = unit;
  }
  bytes.push_back(0);
  bytes_ = std::make_unique<uint8_t[]>(bytes.size());
  std::copy(bytes.begin(), bytes.end(), bytes_.get());
}

bool UnitSamples::Next(const uint8_t** at, size_t* unit, uint64_t* samples) {
  if (*at == nullptr || **at == 0) return false;
  *unit += TakeVarint(at);
  *samples = TakeVarint(at);
  return true;
}

uint64_t UnitSamples::Of(size_t wanted) const {
  size_t unit = 0;
  uint64_t samples = 0;
  const uint8_t* at = bytes_.get();
  while (unit <= wanted && Next(&at, &unit, &samples)) {
    if (unit == wanted + 1) return samples;
  }
  return 0;
}

}  // namespace coz::report
