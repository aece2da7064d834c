// ./bazelw build --config=fuzz //coz/report/exchange:import_coz_fuzzer &&
// bazel-bin/coz/report/exchange/import_coz_fuzzer
#include <cstdint>
#include <sstream>
#include <string>

#include "coz/report/analysis/analyzed_profile.h"
#include "coz/report/exchange/import_coz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::istringstream in(std::string(reinterpret_cast<const char*>(data), size));
  const absl::StatusOr<coz::report::ImportResult> imported = coz::report::ImportCoz(in, "input");
  if (imported.ok()) coz::report::AnalyzeWhole(imported->profile);
  return 0;
}
