// The table by which Go's functions are left.
//
// ./bazelw build --config=fuzz //coz/sampler/unwind:go_functions_fuzzer &&
// bazel-bin/coz/sampler/unwind/go_functions_fuzzer
#include <cstdint>
#include <cstdlib>
#include <initializer_list>

#include "coz/sampler/unwind/go_functions.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const coz::sampler::GoFunctions functions(data, data + size);
  for (const uint64_t address : {0x401000, 0x401010, 0x4012ff, 0x401480}) {
    coz::sampler::FrameRules rules;
    const coz::sampler::FindResult result = functions.FindRules(address, &rules);
    if (result == coz::sampler::FindResult::kFound && rules.cfa_value % 8 != 0) std::abort();
  }
  return 0;
}
