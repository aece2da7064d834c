// Locks on files: which threads get credit, and which do not. Locks of fcntl and lockf belong to
// processes; process_test.cc has them.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "coz/base/raw_syscall.h"
#include "coz/sync/interpose/testing/fake_process.h"
#include "coz/sync/interpose/testing/wait_scenario.h"
#include "coz/sync/interpose/thread_sync.h"

namespace coz::interpose {
namespace {

using testing::FakeProcess;
using testing::NamedScenario;
using testing::Scenario;

// Two openings of one file.
struct File {
  File() : held(memfd_create("test", 0)) {
    wanted = open(("/proc/self/fd/" + std::to_string(held)).c_str(), O_RDWR);
    EXPECT_GE(wanted, 0);
  }
  ~File() {
    if (held >= 0) close(held);
    close(wanted);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  int held;
  int wanted;
};

int LockRange(int fd, int command, short type) {
  struct flock lock = {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  return fcntl(fd, command, &lock);
}

void ReleaseFlock(File& file) { EXPECT_EQ(flock(file.held, LOCK_UN), 0); }
void Close(File& file) {
  close(file.held);
  file.held = -1;
}

// A thread waits for a lock of flock, which is held in the way of `operation`.
NamedScenario Flock(const char* name, int operation, int wanted, void (*release)(File&)) {
  return {name, [=] {
            const auto file = std::make_shared<File>();
            EXPECT_EQ(flock(file->held, operation), 0);
            return Scenario([=] { return flock(file->wanted, wanted) == 0; },
                            [=](std::thread&) { release(*file); });
          }};
}

// The same for a lock of fcntl that belongs to an opening.
NamedScenario Range(const char* name, short wanted, void (*release)(File&)) {
  return {name, [=] {
            const auto file = std::make_shared<File>();
            EXPECT_EQ(LockRange(file->held, F_OFD_SETLKW, F_WRLCK), 0);
            return Scenario([=] { return LockRange(file->wanted, F_OFD_SETLKW, wanted) == 0; },
                            [=](std::thread&) { release(*file); });
          }};
}

const NamedScenario kCredited[] = {
    Flock("flock", LOCK_EX, LOCK_EX, ReleaseFlock),
    Flock("flock_shared", LOCK_EX, LOCK_SH, ReleaseFlock),
    Flock("flock_owned_of_shared", LOCK_SH, LOCK_EX, ReleaseFlock),
    Flock("flock_to_shared", LOCK_EX, LOCK_SH,
          [](File& file) { EXPECT_EQ(flock(file.held, LOCK_SH), 0); }),
    Flock("flock_close", LOCK_EX, LOCK_EX, Close),
    Flock("flock_dup2", LOCK_EX, LOCK_EX,
          [](File& file) {
            const int other = memfd_create("other", 0);
            EXPECT_EQ(dup2(other, file.held), file.held);
            close(other);
          }),
    Range("fcntl", F_WRLCK,
          [](File& file) { EXPECT_EQ(LockRange(file.held, F_OFD_SETLKW, F_UNLCK), 0); }),
    Range("fcntl_unlock_by_setlk", F_RDLCK,
          [](File& file) { EXPECT_EQ(LockRange(file.held, F_OFD_SETLK, F_UNLCK), 0); }),
    Range("fcntl_to_shared", F_RDLCK,
          [](File& file) { EXPECT_EQ(LockRange(file.held, F_OFD_SETLK, F_RDLCK), 0); }),
    Range("fcntl_close", F_WRLCK, Close),
};

const NamedScenario kFromOutside[] = {
    Flock("flock", LOCK_EX, LOCK_EX,
          [](File& file) { EXPECT_EQ(RawSyscall(SYS_flock, file.held, LOCK_UN), 0); }),
    Range("fcntl", F_WRLCK,
          [](File& file) {
            struct flock lock = {};
            lock.l_type = F_UNLCK;
            EXPECT_EQ(RawSyscall(SYS_fcntl, file.held, F_OFD_SETLK, &lock), 0);
          }),
    // A lock of another file does not count.
    Flock("flock_of_another", LOCK_EX, LOCK_EX,
          [](File& file) {
            const File other;
            EXPECT_EQ(flock(other.held, LOCK_EX), 0);
            EXPECT_EQ(flock(other.held, LOCK_UN), 0);
            EXPECT_EQ(RawSyscall(SYS_flock, file.held, LOCK_UN), 0);
          }),
};

class FileLockTest : public ::testing::TestWithParam<NamedScenario> {
 protected:
  FakeProcess process_;
};
TEST_P(FileLockTest, WaiterIsCreditedAndHolderHasPaid) {
  ExpectWakerPaysAndWaiterIsCredited(process_, GetParam());
}
INSTANTIATE_TEST_SUITE_P(All, FileLockTest, ::testing::ValuesIn(kCredited),
                         [](const auto& scenario) { return std::string(scenario.param.name); });

class OutsideFileLockTest : public ::testing::TestWithParam<NamedScenario> {
 protected:
  FakeProcess process_;
};
TEST_P(OutsideFileLockTest, WaiterPays) { ExpectWaiterPays(process_, GetParam()); }
INSTANTIATE_TEST_SUITE_P(All, OutsideFileLockTest, ::testing::ValuesIn(kFromOutside),
                         [](const auto& scenario) { return std::string(scenario.param.name); });

class FileLockCallTest : public ::testing::Test {
 protected:
  FakeProcess process_;
};

int ErrorOf(long result) { return result == -1 ? errno : static_cast<int>(result); }

TEST_F(FileLockCallTest, ResultsAreLibcs) {
  const auto results = [] {
    const File file;
    EXPECT_EQ(flock(file.held, LOCK_EX), 0);
    EXPECT_EQ(LockRange(file.held, F_OFD_SETLK, F_WRLCK), 0);
    struct flock found = {};
    found.l_type = F_WRLCK;
    const int seals = F_SEAL_SHRINK;
    std::vector<int> all = {
        ErrorOf(flock(file.wanted, LOCK_EX | LOCK_NB)),
        ErrorOf(flock(file.wanted, 77)),
        ErrorOf(flock(-1, LOCK_EX)),
        ErrorOf(LockRange(file.wanted, F_OFD_SETLK, F_RDLCK)),
        ErrorOf(LockRange(-1, F_SETLKW, F_WRLCK)),
        ErrorOf(fcntl(file.held, F_SETLK, reinterpret_cast<void*>(64))),
        ErrorOf(fcntl(file.held, F_SETLKW, nullptr)),
        ErrorOf(fcntl(file.wanted, F_OFD_GETLK, &found)),
        found.l_type,
        ErrorOf(fcntl(file.held, F_GETFL)),
        ErrorOf(fcntl(file.held, F_SETFD, FD_CLOEXEC)),
        ErrorOf(fcntl(file.held, F_GETFD)),
        ErrorOf(fcntl(file.held, F_ADD_SEALS, seals)),
        ErrorOf(fcntl(file.held, 12345, 0)),
        ErrorOf(lockf(file.held, F_TEST, 0)),
        ErrorOf(lockf(-1, F_LOCK, 0)),
        ErrorOf(lockf(file.held, 99, 0)),
    };
    const int copy = fcntl(file.held, F_DUPFD, 100);
    all.push_back(copy >= 100 ? 1 : 0);
    close(copy);
    return all;
  };
  delay::ThreadLedger* const ledger = LeaveThreadSync();
  const std::vector<int> of_libc = results();
  EnterThreadSync(ledger, process_.global().global_delay_ns);
  EXPECT_EQ(of_libc[0], EWOULDBLOCK);
  EXPECT_EQ(of_libc[5], EFAULT);
  process_.Impose(kNsPerMs);
  EXPECT_EQ(results(), of_libc);
  EXPECT_GT(ledger->pauses, 0u);
}

TEST_F(FileLockCallTest, WhoeverTriesALockPaysFirst) {
  const File file;
  const auto paid_by = [&](auto call) {
    process_.ImposeBeyondExcess(kNsPerMs);
    const uint64_t before_ns = process_.main_ledger().paused_ns;
    EXPECT_EQ(call(), 0);
    return process_.main_ledger().paused_ns - before_ns;
  };
  EXPECT_GE(paid_by([&] { return flock(file.held, LOCK_EX | LOCK_NB); }), kNsPerMs);
  EXPECT_GE(paid_by([&] { return LockRange(file.held, F_SETLK, F_WRLCK); }), kNsPerMs);
  EXPECT_GE(paid_by([&] { return lockf(file.held, F_TLOCK, 0); }), kNsPerMs);
  EXPECT_GE(paid_by([&] { return lockf(file.held, F_ULOCK, 0); }), kNsPerMs);
  EXPECT_EQ(paid_by([&] { return fcntl(file.held, F_SETFD, 0); }), 0u);
}

}  // namespace
}  // namespace coz::interpose
