// Says of libraries what of their code can be counted by changing it, and runs a sample of the
// copies beside the originals.
//
//   ./bazelw run //bench/patch:relocations -- [--places=N] [--seed=N] [FILE...]
//
// Without files: libc, libstdc++ and Debian's libLLVM. Ends with 1 where a copy does anything else
// than the original.
#include <link.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "bench/patch/executed_copies.h"
#include "bench/patch/library_code.h"
#include "bench/patch/loaded_library.h"
#include "bench/patch/relocation_survey.h"
#include "coz/testing/run_command.h"

namespace coz::bench {
namespace {

constexpr char kLlvm[] = "external/libllvm/usr/lib/x86_64-linux-gnu/libLLVM-14.so.1";

void Print(const std::string& title, const RelocationSurvey& survey) {
  absl::PrintF("%s: %d functions (%d with bytes that are no instruction), %d instructions\n", title,
               survey.functions, survey.undecoded, survey.instructions);
  absl::PrintF(
      "  entries: %d by a jump of five bytes, %d by one that shares bytes, %d by an int3\n",
      survey.jumps, survey.shared, survey.traps);
  for (const auto& [why, count] : survey.refused) absl::PrintF("    %d not: %s\n", count, why);
  absl::PrintF("  instructions: %d can be copied, %d out of reach\n", survey.copied, survey.failed);
  for (const auto& [why, count] : survey.not_copied) absl::PrintF("    %d not: %s\n", count, why);
}

std::string Text(const Kinds& kinds) {
  return absl::StrFormat("%d by a jump of five bytes, %d by one that shares bytes, %d by an int3",
                         kinds.jumps, kinds.shared, kinds.traps);
}

void Print(const ExecutedCopies& executed) {
  absl::PrintF(
      "  executed: %d places (%s) with %d displaced instructions; both faulted at %d; no stub "
      "address at %d, refused %d, results vary at %d\n  best at any instruction: %s\n  different: "
      "%d\n",
      executed.places, Text(executed.kinds), executed.instructions, executed.faults,
      executed.without_stub, executed.refused, executed.varying, Text(executed.best),
      executed.differences.size());
  for (const std::string& difference : executed.differences) absl::PrintF("    %s\n", difference);
}

// Whether all is as it should be.
bool Examine(const std::string& path, int places, uint64_t seed) {
  const absl::StatusOr<LibraryCode> library = MapLibrary(path);
  if (!library.ok()) {
    absl::FPrintF(stderr, "relocations: %s\n", library.status().message());
    return false;
  }
  const RelocationSurvey survey = SurveyLibrary(*library);
  Print(path, survey);
  const ExecutedCopies executed = ExecuteCopies(*library, static_cast<size_t>(places), seed);
  Print(executed);
  fflush(stdout);
  return survey.failed == 0 && executed.differences.empty();
}

int Main(const std::vector<std::string>& arguments) {
  int places = 10000;
  uint64_t seed = 1;
  std::vector<std::string> files;
  for (absl::string_view argument : arguments) {
    if (absl::ConsumePrefix(&argument, "--places=")) {
      if (!absl::SimpleAtoi(argument, &places) || places < 1) return 2;
    } else if (absl::ConsumePrefix(&argument, "--seed=")) {
      if (!absl::SimpleAtoi(argument, &seed)) return 2;
    } else {
      files.emplace_back(argument);
    }
  }
  if (files.empty()) {
    files = {LoadedLibrary("libc.so.6"), LoadedLibrary("libstdc++.so.6"),
             testing::RunfilePath(kLlvm)};
  }
  bool is_right = true;
  for (const std::string& file : files) is_right &= Examine(file, places, seed);
  return is_right ? 0 : 1;
}

}  // namespace
}  // namespace coz::bench

int main(int argc, char** argv) { return coz::bench::Main({argv + 1, argv + argc}); }
