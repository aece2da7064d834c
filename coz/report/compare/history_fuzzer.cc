// A history file, which is kept in version control and may be merged by hand.
//
// ./bazelw build --config=fuzz //coz/report/compare:history_fuzzer &&
// bazel-bin/coz/report/compare/history_fuzzer
#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string>

#include "coz/report/compare/history.h"
#include "coz/report/json/report_json.h"
#include "nlohmann/json.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::istringstream in(std::string(reinterpret_cast<const char*>(data), size));
  const coz::report::History history = coz::report::ParseHistory(in);
  // Whatever names a file holds, nothing that steers a terminal comes out.
  if (coz::report::HistoryText(history).find('\x1b') != std::string::npos) std::abort();
  if (coz::report::JsonText(coz::report::HistoryJson(history)).empty()) std::abort();
  return 0;
}
