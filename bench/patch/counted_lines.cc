// Says how the lines of programs can be counted by changing their code, each by itself: how many
// get which kind of jump, and how many an int3.
//
//   ./bazelw run //bench/patch:counted_lines -- FILE...
//
// Without files: itself.
#include <cstdio>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "bench/patch/library_code.h"
#include "bench/patch/line_survey.h"
#include "bench/patch/mapped_here.h"
#include "bench/patch/statement_addresses.h"

namespace coz::bench {
namespace {

constexpr uint64_t kGiB = uint64_t{1} << 30;

// Its heap begins so far behind it, and has room to grow, which the supervisor leaves to it.
LoadedAt AsProgram(const LibraryCode& library, uint64_t heap) {
  constexpr uint64_t kBase = 0x555555554000;
  const uint64_t end = kBase + library.bytes;
  return {kBase, {{kBase, end}, {end + heap, end + heap + kGiB}}};
}

void Print(const char* as, const LineSurvey& survey) {
  const auto percent = [&](size_t part) {
    return 100.0 * static_cast<double>(part) / static_cast<double>(survey.lines);
  };
  absl::PrintF(
      "  as %s: %d (%.1f %%) by a jump of five bytes, %d (%.1f %%) by one that shares bytes, %d "
      "(%.1f %%) by an int3, %d (%.1f %%) not\n",
      as, survey.jumps, percent(survey.jumps), survey.shared, percent(survey.shared), survey.traps,
      percent(survey.traps), survey.refused, percent(survey.refused));
}

bool Examine(const std::string& path) {
  const absl::StatusOr<LibraryCode> library = MapLibrary(path);
  const absl::StatusOr<std::vector<uint64_t>> addresses = StatementAddresses(path);
  const absl::Status& status = library.ok() ? addresses.status() : library.status();
  if (!status.ok()) {
    absl::FPrintF(stderr, "counted_lines: %s\n", status.message());
    return false;
  }
  const auto survey = [&](const LoadedAt& process) {
    return SurveyLines(*library, *addresses, process);
  };
  const LineSurvey as_library = survey({library->bias, MappedHere()});
  absl::PrintF("%s: %d addresses where a statement begins\n", path, as_library.lines);
  Print("a library", as_library);
  // As Linux places it: within 32 MiB, and within a gigabyte since 6.9.
  Print("a program, heap 16 MiB behind it", survey(AsProgram(*library, kGiB / 64)));
  Print("a program, heap 512 MiB behind it", survey(AsProgram(*library, kGiB / 2)));
  fflush(stdout);
  return true;
}

int Main(std::vector<std::string> files) {
  if (files.empty()) files = {"/proc/self/exe"};
  bool is_right = true;
  for (const std::string& file : files) is_right &= Examine(file);
  return is_right ? 0 : 1;
}

}  // namespace
}  // namespace coz::bench

int main(int argc, char** argv) { return coz::bench::Main({argv + 1, argv + argc}); }
