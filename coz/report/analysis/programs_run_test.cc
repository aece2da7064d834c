#include "coz/report/analysis/programs_run.h"

#include <string>

#include "gtest/gtest.h"

namespace coz::report {
namespace {

constexpr uint64_t kSession = 5;
constexpr uint64_t kMs = 1'000'000;

class ProgramsRunTest : public ::testing::Test {
 protected:
  ProgramsRunTest() {
    profile::Session* session = profile_.add_session();
    session->set_id(kSession);
    session->add_command("/opt/mpi/mpirun");
    session->add_command("./solver");
    session->mutable_options()->set_min_experiment_ns(500 * kMs);
    session->mutable_options()->set_follow("all");
    end_ = profile_.add_session_end();
    end_->set_session(kSession);
    end_->set_reason(profile::END_REASON_TARGET_EXITED);
    end_->set_run_time_ns(100 * kMs);
  }

  // A process that runs the program from then on, and its main thread.
  profile::Thread* Add(int32_t pid, const std::string& program, uint64_t start_ms,
                       uint64_t cpu_ms) {
    profile::Process* process = profile_.add_process();
    process->set_session(kSession);
    process->set_pid(pid);
    process->set_program(program);
    process->set_start_ns(start_ms * kMs);
    profile::Thread* thread = profile_.add_thread();
    thread->set_session(kSession);
    thread->set_pid(pid);
    thread->set_start_ns(start_ms * kMs + 1);
    thread->set_cpu_ns(cpu_ms * kMs);
    return thread;
  }

  std::string Worker() const { return FindProgramsRun(profile_).worker; }

  profile::Profile profile_;
  profile::SessionEnd* end_;
};

TEST_F(ProgramsRunTest, ProgramWithTheMostCpuTimeIsTheWorker) {
  Add(1, "/opt/mpi/orterun", 0, 30);
  Add(2, "/home/me/solver", 10, 50);
  Add(3, "/home/me/solver", 10, 50);
  Add(4, "/usr/bin/gzip", 10, 70);
  const ProgramsRun run = FindProgramsRun(profile_);
  EXPECT_EQ(run.started, "mpirun");
  EXPECT_EQ(run.worker, "solver");
  EXPECT_TRUE(run.others_ran);
}

TEST_F(ProgramsRunTest, ProgramThatDoesMostOfTheWorkItselfHasNoWorker) {
  Add(1, "/srv/server", 0, 900);
  Add(2, "/bin/date", 10, 20);
  EXPECT_EQ(Worker(), "");
  EXPECT_TRUE(FindProgramsRun(profile_).others_ran);
}

TEST_F(ProgramsRunTest, ProgramThatForksHasNoWorker) {
  Add(1, "/srv/server", 0, 10);
  Add(2, "/srv/server", 10, 20);
  EXPECT_EQ(Worker(), "");
  EXPECT_FALSE(FindProgramsRun(profile_).others_ran);
}

TEST_F(ProgramsRunTest, ExecMakesAProcessAnotherProgram) {
  Add(1, "/bin/sh", 0, 5);
  Add(1, "/home/me/solver", 10, 50);
  EXPECT_EQ(Worker(), "solver");
}

TEST_F(ProgramsRunTest, OtherSessionsTellNothing) {
  Add(1, "/bin/sh", 0, 5);
  profile::Thread* thread = Add(1, "/home/me/solver", 10, 50);
  thread->set_session(kSession + 1);
  EXPECT_EQ(Worker(), "");
  thread->set_session(kSession);
  EXPECT_EQ(Worker(), "solver");
  profile_.mutable_process(1)->set_session(kSession + 1);
  EXPECT_EQ(Worker(), "");
  EXPECT_EQ(FindProgramsRun({}).worker, "");
}

TEST_F(ProgramsRunTest, FailureIsEarlyBeforeAnExperimentHasHadTime) {
  Add(1, "/home/me/solver", 0, 5);
  profile_.mutable_session(0)->mutable_options()->clear_follow();
  EXPECT_FALSE(FailedEarly(profile_)) << "it has not failed";
  end_->set_exit_status(1);
  EXPECT_TRUE(FailedEarly(profile_));
  end_->set_exit_status(0);
  end_->set_exit_signal(11);
  EXPECT_TRUE(FailedEarly(profile_));
  end_->set_run_time_ns(600 * kMs);
  EXPECT_FALSE(FailedEarly(profile_));
}

TEST_F(ProgramsRunTest, FailureIsEarlyWhereALauncherHasStartedNothing) {
  Add(1, "/opt/mpi/orterun", 0, 5);
  end_->set_exit_status(1);
  end_->set_run_time_ns(60'000 * kMs);
  EXPECT_TRUE(FailedEarly(profile_));
  profile::ProgressPoint* point = profile_.add_progress_point();
  point->set_session(kSession);
  EXPECT_FALSE(FailedEarly(profile_)) << "it is no mere launcher";
  profile_.clear_progress_point();
  Add(2, "/home/me/solver", 10, 50);
  EXPECT_FALSE(FailedEarly(profile_));
}

TEST_F(ProgramsRunTest, EndThatWasAskedForIsNoFailure) {
  Add(1, "/opt/mpi/orterun", 0, 5);
  end_->set_exit_status(1);
  end_->set_reason(profile::END_REASON_INTERRUPTED);
  EXPECT_FALSE(FailedEarly(profile_));
  EXPECT_FALSE(FailedEarly({}));
}

}  // namespace
}  // namespace coz::report
