#include "coz/report/testing/reports.h"

#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "coz/report/format/profile.pb.h"
#include "coz/report/report.h"
#include "coz/report/testing/synthetic_profile.h"
#include "coz/report/wording/text_layout.h"
#include "gtest/gtest.h"

namespace coz::report_testing {

std::string Save(const profile::Profile& profile) {
  std::string path = ::testing::TempDir() + "/report.pb";
  std::ofstream(path, std::ios::binary) << profile.SerializeAsString();
  return path;
}

std::string ReportOf(const profile::Profile& profile, int width) {
  setenv("TZ", "UTC", 1);
  tzset();
  report::ReportOptions options;
  options.path = Save(profile);
  options.text.width = width;
  std::ostringstream out;
  const absl::Status status = report::RunReport(options, out);
  EXPECT_TRUE(status.ok()) << status;
  // What, why and what to do have room in three rows of a usual terminal.
  for (absl::string_view line : absl::StrSplit(out.str(), '\n')) {
    if (!absl::StartsWith(line, "  note: ")) continue;
    EXPECT_LE(report::DisplayWidth(line), 300) << line;
  }
  return out.str();
}

profile::Profile FourLines() {
  SyntheticProfile made(
      {}, {{"/home/me/app/src/parse.cc", 41, "app::Parser::Next(std::string_view)", 0.4, 0.45, {}},
           {"/home/me/app/src/größe.cc", 7, "Grow()", 0.2, 0, {}},
           {"/home/me/app/lib/lock.cc",
            103,
            "app::Lock<std::mutex>::Acquire(int, long)",
            0.15,
            -0.3,
            {}},
           {"/home/me/app/lib/rare.cc", 9, "Rare()", 0.02, 0, {}}});
  made.AddRandomExperiments(120);
  made.End();
  return made.profile();
}

profile::Profile HardlyTried() {
  std::vector<SyntheticLine> lines = {{"/src/a.cc", 5, "A()", 0.2, 0.5, {}},
                                      {"/src/inl.h", 3, "Inlined()", 0.4, 0, {}}};
  for (uint32_t i = 1; i <= 400; ++i) lines.push_back({"/src/c.cc", i, "C()", 0.001, 0, {}});
  SyntheticProfile made({}, lines);
  made.AddExperiment(0, 0.2);
  for (int i = 0; i < 20; ++i) made.AddExperiment(0, 0);
  return made.profile();
}

}  // namespace coz::report_testing
