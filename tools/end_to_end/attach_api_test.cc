// Calls into a library of a process that coz attaches to: they are counted, and the process is as
// before afterwards.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "coz/testing/capabilities.h"
#include "coz/testing/coz_session.h"
#include "coz/testing/process_state.h"
#include "coz/testing/resident.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace coz {
namespace {

using testing::Coz;
using testing::Puppet;
using testing::Resident;

constexpr int64_t kThreads = 2;
constexpr int kWarmUp = 10;  // of each thread, which gets its counters by its next wait
constexpr int kRounds = 2000;
constexpr char kPoint[] = "api:libapi.so:ApiPlain";

class AttachApiTest : public testing::CozSessionTest {
 protected:
  void SetUp() override {
    COZ_REQUIRE_CAPABILITY(testing::MissingPerfEvents());
    CozSessionTest::SetUp();
    ASSERT_EQ(resident_.Line(), "ready\n");
    Call(kWarmUp);  // slots that are bound late are bound now
    slots_ = testing::BoundSlotsOf(resident_.pid(), program_);
    states_ = States();
  }
  void Call(int rounds) { ASSERT_EQ(resident_.Ask(absl::StrCat("call ", rounds, "\n")), "done\n"); }
  std::vector<std::string> States() const {
    return {testing::StateFromOutside(resident_.pid(), program_),
            testing::StateFromOutside(resident_.pid(), Puppet("libapi.so"))};
  }
  struct Calls {
    uint64_t all = 0;
    uint64_t timed = 0;
  };
  // By "FUNCTION < CALLER".
  std::map<std::string, Calls> Counted() const {
    const profile::Profile profile = Profile();
    std::map<uint32_t, std::string> names;
    for (const profile::ThreadCounter& counter : profile.thread_counter()) {
      if (counter.api_function().empty()) continue;
      names[counter.id()] = absl::StrCat(counter.api_function(), " < ", counter.api_caller());
    }
    std::map<std::string, Calls> counted;
    for (const profile::Thread& thread : profile.thread()) {
      for (int i = 0; i < thread.counter_size(); ++i) {
        const auto name = names.find(thread.counter(i));
        if (name != names.end()) counted[name->second].all += thread.visits(i);
      }
      for (int i = 0; i < thread.timed_counter_size(); ++i) {
        const auto name = names.find(thread.timed_counter(i));
        if (name != names.end()) counted[name->second].timed += thread.timed_calls(i);
      }
    }
    return counted;
  }

  const std::string program_ = Puppet("api_resident");
  Resident resident_{{program_}};
  std::map<uint64_t, uint64_t> slots_;
  std::vector<std::string> states_;
};

TEST_F(AttachApiTest, CallsAreCountedAndTheProcessIsAsBefore) {
  for (int cycle = 0; cycle < 3; ++cycle) {
    SCOPED_TRACE(cycle);
    StartSession({Coz(), "attach", "--experiment-length=0.1", "--unit=library", "--api=libapi.so",
                  absl::StrCat("--progress=", kPoint), absl::StrCat(resident_.pid())});
    EXPECT_NE(States()[1], states_[1]) << "the library's code is not changed";
    EXPECT_GT(
        testing::SlotsIntoLibrary(resident_.pid(), testing::CallSlotsOf(resident_.pid(), program_)),
        0u)
        << "calls of libc are not wrapped";
    Call(kWarmUp);
    const int64_t before = Visits(kPoint);
    Call(kRounds);
    EXPECT_EQ(Visits(kPoint) - before, kRounds * kThreads);
    EndSession();
    std::map<std::string, Calls> counted = Counted();
    for (const char* function : {"ApiPlain", "ApiCalls"}) {
      const Calls& calls = counted[absl::StrCat("libapi.so!", function, " < api_resident")];
      EXPECT_GE(calls.all, uint64_t{kRounds * kThreads}) << function;
      EXPECT_LE(calls.all, uint64_t{(kWarmUp + kRounds) * kThreads}) << function;
      EXPECT_GE(calls.timed, uint64_t{kRounds * kThreads}) << function;
    }
    EXPECT_EQ(counted.size(), 2u);
    EXPECT_EQ(testing::BoundSlotsOf(resident_.pid(), program_), slots_);
    EXPECT_EQ(States(), states_);
    Call(kRounds);
  }
  int status = -1;
  EXPECT_EQ(resident_.End(&status), "right\n");
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace coz
