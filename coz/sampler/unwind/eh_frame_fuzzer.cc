// Call frame information of an object that the program has loaded: .eh_frame_hdr and what follows
// it.
//
// ./bazelw build --config=fuzz //coz/sampler/unwind:eh_frame_fuzzer &&
// bazel-bin/coz/sampler/unwind/eh_frame_fuzzer
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "coz/sampler/unwind/cfa_program.h"
#include "coz/sampler/unwind/eh_frame.h"

namespace {

void Find(const coz::sampler::EhFrameSection& section, uint64_t address) {
  coz::sampler::FrameDescription found;
  if (coz::sampler::FindFrameDescription(section, address, &found) !=
      coz::sampler::FindResult::kFound)
    return;
  if (address < found.begin || address >= found.end) std::abort();
  coz::sampler::FrameRules rules;
  coz::sampler::FindFrameRules(found, section.begin, address, &rules);
  coz::sampler::FindFrameRules(found, section.begin, found.end - 1, &rules);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const coz::sampler::EhFrameSection section = {data, data + size, data};
  // The table's rows begin after 12 bytes: where a function begins, from the section's begin, and
  // its description.
  for (size_t row = 12; row + 8 <= size && row < 12 + 4 * 8; row += 8) {
    int32_t begin = 0;
    std::memcpy(&begin, data + row, sizeof(begin));
    const uint64_t address =
        reinterpret_cast<uintptr_t>(data) + static_cast<uint64_t>(int64_t{begin});
    Find(section, address);
    Find(section, address + 7);
  }
  Find(section, reinterpret_cast<uintptr_t>(data) + size / 2);
  return 0;
}
