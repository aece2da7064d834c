#include "coz/report/doctor/profile_findings.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "coz/report/testing/synthetic_profile.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace coz::report {
namespace {

using ::testing::HasSubstr;

// Half of the samples fall on a line that is worth 0.4, and less than a third on one that is worth
// nothing.
profile::Profile Made(int experiments, report_testing::SyntheticOptions options = {}) {
  report_testing::SyntheticLine hot;
  hot.share = 0.5;
  hot.slope = 0.4;
  report_testing::SyntheticLine other;
  other.line = 2;
  other.share = 0.3;
  report_testing::SyntheticProfile made(std::move(options), {hot, other});
  made.AddRandomExperiments(experiments);
  made.End();
  return made.profile();
}

std::vector<Finding> Findings(profile::Profile profile) {
  return FindingsOfProfile(*AnalyzeWhole(std::move(profile)), "a profile.pb");
}

// The finding of the subject that stands first, or an empty one.
Finding Of(const std::vector<Finding>& findings, const std::string& subject) {
  const auto found = std::find_if(findings.begin(), findings.end(),
                                  [&](const Finding& f) { return f.subject == subject; });
  return found == findings.end() ? Finding() : *found;
}

TEST(ProfileFindingsTest, GoodProfileHasNothingToMend) {
  const std::vector<Finding> findings = Findings(Made(200));
  for (const Finding& finding : findings) {
    EXPECT_EQ(finding.grade, Grade::kGood) << finding.subject << ": " << finding.what;
  }
  EXPECT_THAT(Of(findings, "verdicts").what, HasSubstr("2 lines have a verdict after"));
  EXPECT_EQ(Of(findings, "run").what, "nothing went wrong in it");
}

TEST(ProfileFindingsTest, SmallLinesHaveAVerdict) {
  report_testing::SyntheticLine hot;
  hot.share = 0.5;
  hot.slope = 0.4;
  report_testing::SyntheticLine small;
  small.line = 2;
  small.share = 0.01;
  report_testing::SyntheticProfile made({}, {hot, small});
  for (int i = 0; i < 200; ++i) made.AddExperiment(0, i % 4 * 0.25);
  made.End();
  EXPECT_THAT(Of(Findings(made.profile()), "verdicts").what,
              HasSubstr("2 lines have a verdict after 102 s"));
}

TEST(ProfileFindingsTest, ShortProfileSaysHowToAddToIt) {
  const std::vector<Finding> findings = Findings(Made(4));
  const Finding length = Of(findings, "length");
  EXPECT_EQ(length.grade, Grade::kWarning);
  EXPECT_THAT(length.what, HasSubstr("2 lines with 80 % of the samples have none: too short by"));
  EXPECT_THAT(length.remedy,
              HasSubstr("coz run --append -o 'a profile.pb' --sampling-period=1 --repeat=3 --- "));
}

// What is advised must be able to give what lacks.
TEST(ProfileFindingsTest, DurationOfWhatIsAddedSuffices) {
  profile::Profile profile = Made(4);
  profile.mutable_session(0)->mutable_options()->set_duration_ns(1'000'000'000);
  profile.mutable_session_end(0)->set_reason(profile::END_REASON_DURATION_REACHED);
  const std::string remedy = Of(Findings(profile), "length").remedy;
  const std::string option = "--duration=";
  const size_t place = remedy.find(option);
  ASSERT_NE(place, std::string::npos) << remedy;
  EXPECT_GT(std::stod(remedy.substr(place + option.size())), 1) << remedy;
  EXPECT_THAT(remedy, HasSubstr("--append"));
  EXPECT_THAT(remedy, HasSubstr("--repeat=")) << "the program ends before";
}

TEST(ProfileFindingsTest, WithoutVisitsNothingWasMeasured) {
  profile::Profile profile = Made(10);
  for (profile::Experiment& experiment : *profile.mutable_experiment()) {
    for (profile::PointCounts& point : *experiment.mutable_point()) point.set_visits(0);
  }
  for (profile::SampleCounts& counts : *profile.mutable_sample_counts()) counts.clear_point();
  const Finding nothing = Of(Findings(profile), "figures");
  EXPECT_EQ(nothing.grade, Grade::kProblem);
  EXPECT_THAT(nothing.what, HasSubstr("no progress point was visited"));
  EXPECT_THAT(nothing.remedy, HasSubstr("COZ_PROGRESS"));
}

TEST(ProfileFindingsTest, PointThatOneWorkloadDoesNotReachIsNamed) {
  profile::Profile profile = Made(200);
  profile::ProgressPoint* const point = profile.add_progress_point();
  point->set_session(profile.session(0).id());
  point->set_id(77);
  point->set_name("reloads");
  point->set_kind(profile::PROGRESS_POINT_KIND_THROUGHPUT);
  EXPECT_THAT(Of(Findings(profile), "points").what, HasSubstr("never visited: reloads"));
}

TEST(ProfileFindingsTest, RareVisitsAreNamed) {
  report_testing::SyntheticOptions options;
  options.ns_per_visit = 400e6;
  const Finding visits = Of(Findings(Made(100, options)), "visits");
  EXPECT_EQ(visits.grade, Grade::kWarning);
  EXPECT_THAT(visits.what, HasSubstr("saw fewer than 5 visits"));
  EXPECT_THAT(visits.remedy, HasSubstr("--experiment-length=5"));
}

TEST(ProfileFindingsTest, SamplesOutOfScopeAreNamed) {
  profile::Profile profile = Made(200);
  profile::SampleCounts* const counts = profile.add_sample_counts();
  counts->set_session(profile.session(0).id());
  counts->set_out_of_scope_samples(10'000'000);
  const Finding scope = Of(Findings(profile), "scope");
  EXPECT_EQ(scope.grade, Grade::kWarning);
  EXPECT_THAT(scope.what, HasSubstr("of the samples fell on no line in scope"));
  EXPECT_THAT(scope.remedy, HasSubstr("--unit=library"));
}

TEST(ProfileFindingsTest, BinaryWithoutDebugInformationIsNamed) {
  profile::Profile profile = Made(200);
  profile::Binary* const binary = profile.add_binary();
  binary->set_session(profile.session(0).id());
  binary->set_path("/usr/lib/libz.so.1");
  EXPECT_THAT(Of(Findings(profile), "debug info").what, HasSubstr("/usr/lib/libz.so.1 has none"));
  EXPECT_THAT(Of(Findings(profile), "debug info").remedy, HasSubstr("coz run --unit=function"));
  profile.mutable_session(0)->mutable_options()->set_attached_pid(4711);
  EXPECT_THAT(Of(Findings(profile), "debug info").remedy, HasSubstr("coz attach --unit=function"));
}

TEST(ProfileFindingsTest, NotesOfTheReportAreFindings) {
  profile::Profile profile = Made(200);
  profile.mutable_session_end(0)->set_exit_signal(9);
  EXPECT_THAT(Of(Findings(profile), "run").what, HasSubstr("ended by signal 9"));
}

}  // namespace
}  // namespace coz::report
