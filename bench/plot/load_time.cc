// Measures how long the HTML report takes from opening the file to a usable page:
// bench/plot:load_time [LINES] [TIMES].
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "coz/report/plot/plot_page.h"
#include "coz/report/plot/testing/sample_profile.h"
#include "coz/testing/browser/browser.h"

namespace coz {
namespace {

// Milliseconds until the scripts have run and the first text is painted, whichever is later.
constexpr char kLoaded[] =
    "const paint = performance.getEntriesByName('first-contentful-paint')[0];"
    "return Math.max(Number(document.documentElement.dataset.ready), paint ? paint.startTime : 0);";

std::vector<double> Measure(const std::string& address, int times) {
  const auto browser = testing::OpenBrowser();
  std::vector<double> milliseconds;
  for (int i = 0; browser != nullptr && i < times; ++i) {
    browser->Open("about:blank");
    browser->Open(address);
    browser->WaitFor(
        "document.documentElement.dataset.ready && "
        "performance.getEntriesByName('first-contentful-paint').length");
    milliseconds.push_back(browser->Run(kLoaded));
  }
  std::sort(milliseconds.begin(), milliseconds.end());
  return milliseconds;
}

int Main(int lines, int times) {
  const std::string folder = std::filesystem::temp_directory_path() / "coz_load_time";
  std::filesystem::create_directories(folder);
  report::PlotOptions options;
  options.path = folder + "/profile.pb";
  std::ofstream(options.path, std::ios::binary)
      << report_testing::SampleProfile(lines).SerializeAsString();
  const absl::StatusOr<std::string> page = report::MakePlotPage(options);
  if (!page.ok()) return 1;
  if (!report::WritePlotFile(folder + "/report.html", *page).ok()) return 1;
  const std::vector<double> ms = Measure(absl::StrCat("file://", folder, "/report.html"), times);
  std::filesystem::remove_all(folder);
  if (ms.empty()) return 1;
  printf("%d lines, %.1f MB, opened %d times: median %.0f ms, from %.0f to %.0f\n", lines,
         static_cast<double>(page->size()) / 1e6, times, ms[ms.size() / 2], ms.front(), ms.back());
  return 0;
}

}  // namespace
}  // namespace coz

int main(int argc, char** argv) {
  return coz::Main(argc > 1 ? atoi(argv[1]) : 5000, argc > 2 ? atoi(argv[2]) : 9);
}
