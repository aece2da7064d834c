#include "coz/report/wording/surroundings.h"

#include <cstdint>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace coz::report {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr uint64_t kSecond = 1'000'000'000;

// A baseline of a second on two CPUs, in which the program runs on one of them.
class SurroundingsTest : public ::testing::Test {
 protected:
  SurroundingsTest() {
    session().set_id(1);
    session().set_sampling_period_ns(1'000'000);
    profile_.add_session_end()->set_session(1);
    end().set_run_time_ns(10 * kSecond);
    ExperimentRow& row = table_.experiments.emplace_back();
    row.session = 1;
    row.elapsed_ns = kSecond;
    row.total_samples = 1000;
    row.cpus = 2;
    row.live_threads = 2;
    row.busy_cpu_ns = kSecond;
    row.idle_cpu_ns = kSecond;
  }

  profile::Session& session() {
    return profile_.session_size() == 0 ? *profile_.add_session() : *profile_.mutable_session(0);
  }
  profile::SessionEnd& end() { return *profile_.mutable_session_end(0); }
  ExperimentRow& row() { return table_.experiments.front(); }
  void AddNeighbour(const std::string& name, uint64_t cpu_ns, bool talks) {
    profile::Neighbour* neighbour = end().add_neighbour();
    neighbour->set_name(name);
    neighbour->set_cpu_ns(cpu_ns);
    neighbour->set_talks_to_target(talks);
  }
  std::vector<std::string> Notes() const {
    return NotesOfSurroundings(profile_, table_, SumBaselines(profile_, table_));
  }

  profile::Profile profile_;
  ExperimentTable table_;
};

TEST_F(SurroundingsTest, AQuietMachineHasNoNotes) { EXPECT_THAT(Notes(), IsEmpty()); }

TEST_F(SurroundingsTest, OlderProfilesHaveNoNotes) {
  row().busy_cpu_ns = row().idle_cpu_ns = 0;
  EXPECT_THAT(Notes(), IsEmpty());
}

TEST_F(SurroundingsTest, OtherProgramsAreNamedWithTheirShare) {
  row().busy_cpu_ns = 18 * kSecond / 10;
  row().idle_cpu_ns = 2 * kSecond / 10;
  EXPECT_THAT(Notes(), ElementsAre(AllOf(HasSubstr("other programs used 40 % of the time"),
                                         Not(HasSubstr("busiest")))));
  AddNeighbour("backup", 3 * kSecond, false);
  AddNeighbour("stress", 5 * kSecond, false);
  EXPECT_THAT(Notes(),
              ElementsAre(AllOf(HasSubstr("idle for 10 %, the busiest of them stress (0.5 CPUs)"),
                                HasSubstr("taskset"), Not(HasSubstr("talks")))));
}

TEST_F(SurroundingsTest, WhatOtherProgramsLeftIsSaidWhereEffectsAreSetRightForIt) {
  row().busy_cpu_ns = 18 * kSecond / 10;
  row().idle_cpu_ns = 2 * kSecond / 10;
  row().share_left = 0.96;
  EXPECT_THAT(Notes(), ElementsAre(HasSubstr("smaller than they are")));
  row().share_left = 0.6;
  EXPECT_THAT(Notes(), ElementsAre(AllOf(HasSubstr("they left its threads 60 % of the CPU time"),
                                         HasSubstr("set right for that"),
                                         Not(HasSubstr("smaller than they are")))));
}

// A build, say, of many short compilers.
TEST_F(SurroundingsTest, EffectsAreNotSaidToBeSetRightWhereFewOfTheOthersNeverWait) {
  row().busy_cpu_ns = 2 * kSecond;
  row().idle_cpu_ns = 0;
  row().total_samples = 200;
  row().share_left = 0.93;
  EXPECT_THAT(Notes(), ElementsAre(AllOf(HasSubstr("those that hardly ever wait took 7 %"),
                                         HasSubstr("much smaller than they are"))));
}

// Its samples are of waits.
TEST_F(SurroundingsTest, OtherProgramsAreKnownByTheirOwnTimeWhereWaitsAreUnits) {
  row().speeds_up_waits = true;
  row().busy_cpu_ns = 18 * kSecond / 10;
  row().idle_cpu_ns = 2 * kSecond / 10;
  EXPECT_THAT(Notes(), IsEmpty());
  AddNeighbour("stress", 5 * kSecond, false);
  EXPECT_THAT(Notes(), ElementsAre(HasSubstr("other programs used 25 % of the time")));
}

TEST_F(SurroundingsTest, OtherProgramsWithRoomEnoughDoNotMatter) {
  row().busy_cpu_ns = 14 * kSecond / 10;
  row().idle_cpu_ns = 26 * kSecond / 10;
  EXPECT_THAT(Notes(), IsEmpty());
}

TEST_F(SurroundingsTest, ALoadGeneratorBelongsOnOtherCpus) {
  row().busy_cpu_ns = 18 * kSecond / 10;
  row().idle_cpu_ns = 2 * kSecond / 10;
  AddNeighbour("wrk", 8 * kSecond, true);
  EXPECT_THAT(Notes(), ElementsAre(AllOf(HasSubstr("wrk (0.8 CPUs), which talks to the program"),
                                         HasSubstr("larger than they are"), HasSubstr("taskset"))));
}

TEST_F(SurroundingsTest, QuotaIsSaidWithWhatItTook) {
  session().mutable_machine()->set_cpu_quota(0.5);
  row().quota_throttled_ns = kSecond / 100;
  EXPECT_THAT(Notes(), IsEmpty());
  row().quota_throttled_ns = kSecond;
  EXPECT_THAT(Notes(),
              ElementsAre(AllOf(HasSubstr("a quota of 0.5 CPUs"), HasSubstr("for 50 % of the time"),
                                HasSubstr("docker: --cpus"))));
}

TEST_F(SurroundingsTest, QuotaThatIsTakenIntoAccountIsSaidWithItsPeriods) {
  session().mutable_machine()->set_cpu_quota(1.5);
  row().quota_throttled_ns = kSecond;
  row().share_throttled = 0.5;
  EXPECT_THAT(Notes(), ElementsAre(AllOf(HasSubstr("a quota of 1.5 CPUs"),
                                         HasSubstr("was used up in 50 % of its periods"),
                                         HasSubstr("less sure"), HasSubstr("docker: --cpus"))));
  row().share_throttled = 1;
  EXPECT_THAT(Notes(), ElementsAre(AllOf(HasSubstr("was used up in 100 % of its periods"),
                                         Not(HasSubstr("less sure")))));
}

TEST_F(SurroundingsTest, TimeThatTheHostTookIsSaid) {
  row().stolen_cpu_ns = kSecond / 20;
  EXPECT_THAT(Notes(), IsEmpty());
  row().stolen_cpu_ns = 2 * kSecond;
  EXPECT_THAT(Notes(), ElementsAre(HasSubstr("kept 50 % of the CPU time for itself or others")));
}

TEST_F(SurroundingsTest, HaltingCpusAreSaidWherePausesShowThem) {
  session().mutable_machine()->set_virtual_machine(true);
  session().mutable_machine()->set_idle_driver("haltpoll");
  row().paid_ns = 110;
  row().excess_ns = 5;
  EXPECT_THAT(Notes(), IsEmpty());
  row().excess_ns = 10;
  EXPECT_THAT(Notes(), ElementsAre(AllOf(HasSubstr("(haltpoll), for 50 % of the time"),
                                         HasSubstr("pauses lasted 10 % longer"),
                                         HasSubstr("`sudo coz run --awake`"))));
  session().mutable_machine()->set_idle_driver("none");
  EXPECT_THAT(Notes(), ElementsAre(AllOf(HasSubstr("when they are idle, for 50 % of the time"),
                                         HasSubstr("idle=poll"), Not(HasSubstr("--awake")))));
  session().mutable_options()->set_awake(true);
  EXPECT_THAT(Notes(), IsEmpty());
  session().mutable_options()->set_awake(false);
  session().mutable_machine()->set_virtual_machine(false);
  EXPECT_THAT(Notes(), IsEmpty());
}

TEST_F(SurroundingsTest, CpusThatAreNeverIdleDoNotHalt) {
  session().mutable_machine()->set_virtual_machine(true);
  row().paid_ns = 110;
  row().excess_ns = 10;
  row().idle_cpu_ns = kSecond / 20;
  EXPECT_THAT(Notes(), IsEmpty());
}

TEST_F(SurroundingsTest, RealtimeThreadsAreCounted) {
  row().realtime_threads = 3;
  EXPECT_THAT(Notes(), ElementsAre(AllOf(HasSubstr("3 of the program's threads"),
                                         HasSubstr("chrt --other 0"))));
}

TEST_F(SurroundingsTest, PageFaultsThatWaitForTheDiskAreToldFrom20ASecondOn) {
  const auto add = [this](const std::string& program, uint64_t faults) {
    profile::Process* process = profile_.add_process();
    process->set_program(program);
    process->set_major_faults(faults);
  };
  add("/bin/loader", 90);
  add("/bin/reader", 60);
  EXPECT_THAT(Notes(), IsEmpty()) << "15 a second";
  add("/bin/reader", 60);
  EXPECT_THAT(Notes(), ElementsAre(AllOf(HasSubstr("in 21 page faults a second"),
                                         HasSubstr("most of reader"), HasSubstr("perf record"))));
}

TEST_F(SurroundingsTest, PageFaultsAreThoseOfTheWholeLifeOfTheirProcess) {
  profile::Process* process = profile_.add_process();
  process->set_session(1);
  process->set_start_ns(2 * kSecond);
  process->set_major_faults(100);
  process->set_major_faults_ns(kSecond);
  EXPECT_THAT(Notes(), ElementsAre(HasSubstr("in 80 page faults a second"))) << "8 of 10 s";
  process->set_end_ns(7 * kSecond);
  EXPECT_THAT(Notes(), ElementsAre(HasSubstr("in 50 page faults a second")));
  process->set_major_faults_ns(20 * kSecond);
  EXPECT_THAT(Notes(), IsEmpty()) << "10 a second, not fewer than were counted";
  process->set_major_faults(200);
  EXPECT_THAT(Notes(), ElementsAre(HasSubstr("in 20 page faults a second")));
  process->set_major_faults_ns(kSecond - 1);
  EXPECT_THAT(Notes(), ElementsAre(HasSubstr("in 20 page faults a second")))
      << "its start may have had them all";
}

}  // namespace
}  // namespace coz::report
