#include "coz/report/analysis/analyzed_profile.h"

#include <fstream>
#include <string>

#include "coz/report/json/report_json.h"
#include "coz/report/testing/synthetic_profile.h"
#include "coz/report/text/report_notes.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace coz::report {
namespace {

// Two sessions, one of which has lost samples, an experiment that must not be used, another source
// of samples from 10 s on, and an experiment that is there twice.
profile::Profile Made(profile::ProgressPointKind kind) {
  profile::Profile all;
  for (uint64_t session : {1u, 2u}) {
    report_testing::SyntheticOptions options;
    options.session = session;
    options.seed = session;
    options.kind = kind;
    report_testing::SyntheticProfile made(
        options, {{"/src/a.cc", 7, "A()", 0.6, 0.5, {}}, {"/src/b.cc", 8, "B()", 0.3, 0, {}}});
    made.AddRandomExperiments(60);
    if (session == 1) made.End();
    all.MergeFrom(made.profile());
  }
  all.mutable_experiment(3)->mutable_validity()->add_taint()->set_reason(
      profile::Taint::LOST_SAMPLES);
  all.mutable_experiment(3)->mutable_validity()->set_lost_samples(5);
  all.add_source_change()->set_session(1);
  all.mutable_source_change(0)->set_at_ns(10'000'000'000);
  *all.add_experiment() = profile::Experiment(all.experiment(4));
  return all;
}

std::string Json(const AnalyzedProfile& whole) {
  return JsonText(ReportJson(whole.profile, whole.table, whole.analysis,
                             ReportNotes(whole.profile, whole.table, whole.analysis, whole.stats)),
                  1);
}

class AnalyzedProfileTest : public ::testing::TestWithParam<profile::ProgressPointKind> {};

INSTANTIATE_TEST_SUITE_P(Kinds, AnalyzedProfileTest,
                         ::testing::Values(profile::PROGRESS_POINT_KIND_THROUGHPUT,
                                           profile::PROGRESS_POINT_KIND_LATENCY));

TEST_P(AnalyzedProfileTest, FileSaysWhatTheProfileSaysThatItHolds) {
  const profile::Profile profile = Made(GetParam());
  const std::string path = ::testing::TempDir() + "/profile.pb";
  std::ofstream(path, std::ios::binary) << profile.SerializeAsString();
  const auto whole = ReadAndAnalyze(path);
  ASSERT_TRUE(whole.ok()) << whole.status();
  EXPECT_EQ(Json(**whole), Json(*AnalyzeWhole(profile)));
  EXPECT_EQ((*whole)->table.experiments.size(), 120u);
  EXPECT_EQ((*whole)->table.duplicates, 1u);
  EXPECT_EQ((*whole)->table.experiments[0].part, 0u);
  EXPECT_EQ((*whole)->table.experiments[59].part, 1u);
  EXPECT_EQ((*whole)->profile.session_size(), 2);
  EXPECT_EQ((*whole)->profile.experiment_size(), 0) << "kept beside the table";
}

}  // namespace
}  // namespace coz::report
