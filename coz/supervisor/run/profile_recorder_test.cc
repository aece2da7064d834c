#include "coz/supervisor/run/profile_recorder.h"

#include "coz/experiment/record.h"
#include "coz/report/format/profile.pb.h"
#include "gtest/gtest.h"

namespace coz::supervisor {
namespace {

TEST(ProfileRecorderTest, EachReasonNotToUseAnExperimentHasItsName) {
  using experiment::TaintKind;
  for (int i = 0; i <= static_cast<int>(TaintKind::kSupervisorLate); ++i) {
    const auto kind = static_cast<TaintKind>(i);
    if (!experiment::Invalidates(kind)) continue;
    EXPECT_NE(ReasonInProfile(kind), profile::Taint::OTHER) << experiment::TaintName(kind);
    EXPECT_NE(ReasonInProfile(kind), profile::Taint::UNKNOWN) << experiment::TaintName(kind);
  }
}

}  // namespace
}  // namespace coz::supervisor
