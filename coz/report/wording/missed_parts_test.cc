#include "coz/report/wording/missed_parts.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace coz::report {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class MissedPartsTest : public ::testing::Test {
 protected:
  MissedPartsTest() : end_(*profile_.add_session_end()) { end_.set_total_samples(1000); }

  profile::Profile profile_;
  profile::SessionEnd& end_;
};

TEST_F(MissedPartsTest, SaysNothingOfAWholeProfile) {
  EXPECT_THAT(NotesOfMissedParts(profile_), IsEmpty());
}

TEST_F(MissedPartsTest, FewBrokenCallChainsDoNotMatter) {
  end_.set_broken_unwinds(40);
  EXPECT_THAT(NotesOfMissedParts(profile_), IsEmpty());
  end_.set_broken_unwinds(120);
  EXPECT_THAT(NotesOfMissedParts(profile_),
              ElementsAre(AllOf(HasSubstr("12 % of the samples"),
                                HasSubstr("-fasynchronous-unwind-tables"))));
}

TEST_F(MissedPartsTest, BrokenCallChainsAreAShareOfAllSessions) {
  end_.set_broken_unwinds(120);
  profile_.add_session_end()->set_total_samples(1000);
  EXPECT_THAT(NotesOfMissedParts(profile_), ElementsAre(HasSubstr("6 % of the samples")));
}

TEST_F(MissedPartsTest, ProcessesThatBecameOtherProgramsAreNamed) {
  end_.set_processes_replaced(1);
  EXPECT_THAT(NotesOfMissedParts(profile_),
              ElementsAre(AllOf(HasSubstr("1 process became another program by exec"),
                                HasSubstr("attach again"))));
  profile_.add_session_end()->set_processes_replaced(1);
  EXPECT_THAT(NotesOfMissedParts(profile_), ElementsAre(HasSubstr("2 processes became other")));
}

TEST_F(MissedPartsTest, UnloadsMatterToPlacesInLibraries) {
  end_.set_libraries_unloaded(200);
  profile_.add_progress_point()->set_name("rounds");
  EXPECT_THAT(NotesOfMissedParts(profile_), IsEmpty());
  profile_.add_progress_point()->set_name("pl1.so!plug");
  EXPECT_THAT(NotesOfMissedParts(profile_),
              ElementsAre(AllOf(HasSubstr("unloaded 200 times"), HasSubstr("so pl1.so!plug may"),
                                HasSubstr("COZ_PROGRESS"), HasSubstr("RTLD_NODELETE"))));
  end_.set_libraries_unloaded(0);
  EXPECT_THAT(NotesOfMissedParts(profile_), IsEmpty());
}

TEST_F(MissedPartsTest, EveryFullTableHasItsSentence) {
  end_.set_threads_without_slot(12);
  end_.set_points_without_slot(1);
  end_.set_modules_without_slot(3);
  end_.set_paths_without_slot(7);
  EXPECT_THAT(
      NotesOfMissedParts(profile_),
      ElementsAre(
          AllOf(HasSubstr("places for threads taken, 12 times"),
                HasSubstr("neither sampled nor paused")),
          AllOf(HasSubstr("places for points taken, once"), HasSubstr("visits are not counted")),
          AllOf(HasSubstr("places for files taken, 3 times"), HasSubstr("count for no line")),
          AllOf(HasSubstr("7 samples found all places for call paths"), HasSubstr("--callers"))));
}

}  // namespace
}  // namespace coz::report
