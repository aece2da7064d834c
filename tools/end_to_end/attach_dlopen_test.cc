// Libraries that a program opens while coz is attached to it: their calls are seen like others.
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "coz/testing/coz_session.h"
#include "coz/testing/process_state.h"
#include "coz/testing/resident.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace coz {
namespace {

using testing::CallSlotsOf;
using testing::Coz;
using testing::Puppet;
using testing::Resident;
using testing::SlotsIntoLibrary;

class AttachDlopenTest : public testing::CozSessionTest {
 protected:
  void SetUp() override {
    CozSessionTest::SetUp();
    ASSERT_EQ(resident_.Line(), "ready\n");
    // Slots that are bound late are bound now.
    ASSERT_EQ(resident_.Ask(OpenPath()), "opened\n");
    ASSERT_EQ(resident_.Ask("ask 10\n"), "answered\n");
    ASSERT_EQ(resident_.Ask("close\n"), "closed\n");
    before_ = testing::StateFromOutside(resident_.pid(), Puppet("opener_resident"));
  }
  // By timers, which any machine has.
  void BeginSession() {
    StartSession({Coz(), "attach", "--experiment-length=0.1", "--sampler=cpu-timer",
                  "--unit=library", absl::StrCat(resident_.pid())});
  }
  std::string OpenPath() const { return absl::StrCat("open ", plugin_, "\n"); }
  size_t WrappedSlots() const {
    return SlotsIntoLibrary(resident_.pid(), CallSlotsOf(resident_.pid(), plugin_));
  }
  uint32_t ThreadsInProfile() const {
    uint32_t threads = 0;
    const profile::Profile profile = Profile();
    for (const profile::Thread& thread : profile.thread()) threads += thread.threads();
    return threads;
  }
  void ExpectAsBefore() {
    EXPECT_EQ(testing::StateFromOutside(resident_.pid(), Puppet("opener_resident")), before_);
  }
  void ExpectRightEnd() {
    int status = -1;
    EXPECT_EQ(resident_.End(&status), "right\n");
    EXPECT_EQ(status, 0);
  }

  const std::string plugin_ = Puppet("libwaiting_plugin.so");
  Resident resident_{{Puppet("opener_resident")}};
  std::string before_;
};

// Its thread is known from its start, and the program's by its first wait in the library.
TEST_F(AttachDlopenTest, CallsAreWrappedBeforeTheProgramGoesOn) {
  for (int cycle = 0; cycle < 2; ++cycle) {
    SCOPED_TRACE(cycle);
    BeginSession();
    ASSERT_EQ(resident_.Ask(OpenPath()), "opened\n");
    EXPECT_GE(WrappedSlots(), 5u);
    EXPECT_EQ(resident_.Ask("ask 100\n"), "answered\n");
    EXPECT_EQ(Visits("asked"), 100);
    EndSession();
    EXPECT_EQ(ThreadsInProfile(), 2u);
    EXPECT_EQ(WrappedSlots(), 0u);
    EXPECT_EQ(resident_.Ask("ask 10\n"), "answered\n");
    EXPECT_EQ(resident_.Ask("close\n"), "closed\n");
    ExpectAsBefore();
  }
  ExpectRightEnd();
}

TEST_F(AttachDlopenTest, LibraryThatIsClosedIsForgotten) {
  BeginSession();
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(resident_.Ask(OpenPath()), "opened\n");
    EXPECT_GE(WrappedSlots(), 5u) << "as it was known before " << i;
    EXPECT_EQ(resident_.Ask("ask 10\n"), "answered\n");
    EXPECT_EQ(resident_.Ask("close\n"), "closed\n");
  }
  EndSession();
  ExpectAsBefore();
  EXPECT_EQ(resident_.Ask(OpenPath()), "opened\n");
  EXPECT_EQ(resident_.Ask("ask 10\n"), "answered\n");
  ExpectRightEnd();
}

// By the search path of the program, which is not libcoz.so's.
TEST_F(AttachDlopenTest, PlainNameMeansWhatItMeantBefore) {
  BeginSession();
  EXPECT_EQ(resident_.Ask("open libwaiting_plugin.so\n"), "opened\n");
  EXPECT_EQ(resident_.Ask("ask 10\n"), "answered\n");
  EXPECT_EQ(resident_.Ask("close\n"), "closed\n");
  EndSession();
  ExpectAsBefore();
  ExpectRightEnd();
}

}  // namespace
}  // namespace coz
