// Message queues and System V semaphores: which threads get credit, and which do not.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <mqueue.h>
#include <poll.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "coz/base/raw_syscall.h"
#include "coz/sync/interpose/io_object.h"
#include "coz/sync/interpose/testing/fake_process.h"
#include "coz/sync/interpose/testing/wait_scenario.h"
#include "coz/sync/interpose/thread_sync.h"

namespace coz::interpose {
namespace {

using testing::FakeProcess;
using testing::NamedScenario;
using testing::Scenario;

constexpr size_t kMessageBytes = 8;
constexpr timespec kFar = {1L << 33, 0};  // of CLOCK_REALTIME

// A queue with room for one message.
class Queue {
 public:
  Queue() {
    static int count = 0;
    const std::string name =
        "/coz-test-" + std::to_string(getpid()) + "-" + std::to_string(count++);
    mq_attr attributes = {};
    attributes.mq_maxmsg = 1;
    attributes.mq_msgsize = kMessageBytes;
    queue = mq_open(name.c_str(), O_RDWR | O_CREAT | O_EXCL, 0600, &attributes);
    EXPECT_GE(queue, 0);
    mq_unlink(name.c_str());
  }
  ~Queue() { mq_close(queue); }
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  bool Receives() const {
    char message[kMessageBytes];
    return mq_receive(queue, message, sizeof(message), nullptr) == 1;
  }
  bool ReceivesUntilFar() const {
    char message[kMessageBytes];
    unsigned priority = 0;
    return mq_timedreceive(queue, message, sizeof(message), &priority, &kFar) == 1 && priority == 7;
  }
  bool Sends() const { return mq_send(queue, "x", 1, 7) == 0; }
  bool SendsUntilFar() const { return mq_timedsend(queue, "x", 1, 7, &kFar) == 0; }
  void SendFromOutside() const {
    EXPECT_EQ(RawSyscall(SYS_mq_timedsend, queue, "x", 1, 0, nullptr), 0);
  }
  void ReceiveFromOutside() const {
    char message[kMessageBytes];
    EXPECT_EQ(RawSyscall(SYS_mq_timedreceive, queue, message, sizeof(message), nullptr, nullptr),
              1);
  }

  mqd_t queue;
};

// A set of two semaphores with value 0.
class Semaphores {
 public:
  Semaphores() : set(semget(IPC_PRIVATE, 2, 0600)) { EXPECT_GE(set, 0); }
  ~Semaphores() { semctl(set, 0, IPC_RMID); }
  Semaphores(const Semaphores&) = delete;
  Semaphores& operator=(const Semaphores&) = delete;

  bool Changes(short by, unsigned short number = 0) const {
    sembuf operation = {number, by, 0};
    return semop(set, &operation, 1) == 0;
  }
  bool ChangesUntilFar(short by) const {
    sembuf operation = {0, by, 0};
    const timespec long_time = {600, 0};
    return semtimedop(set, &operation, 1, &long_time) == 0;
  }
  void ChangeFromOutside(short by) const {
    sembuf operation = {0, by, 0};
    EXPECT_EQ(RawSyscall(SYS_semop, set, &operation, 1), 0);
  }

  int set;
};

struct Letter {
  long type = 1;
  char text[kMessageBytes] = {};
};

// A System V queue with room for one message of kMessageBytes.
class Mailbox {
 public:
  Mailbox() : queue(msgget(IPC_PRIVATE, 0600)) {
    EXPECT_GE(queue, 0);
    msqid_ds status;
    EXPECT_EQ(msgctl(queue, IPC_STAT, &status), 0);
    status.msg_qbytes = kMessageBytes;
    EXPECT_EQ(msgctl(queue, IPC_SET, &status), 0);
  }
  ~Mailbox() { msgctl(queue, IPC_RMID, nullptr); }
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;

  bool Sends() const {
    const Letter letter;
    return msgsnd(queue, &letter, sizeof(letter.text), 0) == 0;
  }
  bool Receives() const {
    Letter letter;
    return msgrcv(queue, &letter, sizeof(letter.text), 0, 0) == kMessageBytes;
  }
  void SendFromOutside() const {
    const Letter letter;
    EXPECT_EQ(
        RawSyscall(SYS_msgsnd, queue, static_cast<const void*>(&letter), sizeof(letter.text), 0),
        0);
  }
  void ReceiveFromOutside() const {
    Letter letter;
    EXPECT_EQ(RawSyscall(SYS_msgrcv, queue, static_cast<void*>(&letter), sizeof(letter.text), 0, 0),
              static_cast<long>(kMessageBytes));
  }

  int queue;
};

// A scenario with one object, after `prepare`.
template <typename Object>
NamedScenario With(const char* name, bool (*wait)(Object&), void (*wake)(Object&),
                   void (*prepare)(Object&) = nullptr) {
  return {name, [=] {
            const auto object = std::make_shared<Object>();
            if (prepare != nullptr) prepare(*object);
            return Scenario([=] { return wait(*object); }, [=](std::thread&) { wake(*object); });
          }};
}

bool IsReadyByPoll(const Queue& q, short events) {
  pollfd ready = {q.queue, events, 0};
  return poll(&ready, 1, -1) == 1 && ready.revents == events;
}

void Fill(Queue& q) { EXPECT_TRUE(q.Sends()); }
void FillBox(Mailbox& m) { EXPECT_TRUE(m.Sends()); }
void RaiseFirst(Semaphores& s) { EXPECT_TRUE(s.Changes(1)); }

const NamedScenario kCredited[] = {
    With<Queue>(
        "mq_receive", [](auto& q) { return q.Receives(); },
        [](auto& q) { EXPECT_TRUE(q.Sends()); }),
    With<Queue>(
        "mq_timedreceive", [](auto& q) { return q.ReceivesUntilFar(); },
        [](auto& q) { EXPECT_TRUE(q.SendsUntilFar()); }),
    With<Queue>(
        "mq_send", [](auto& q) { return q.Sends(); }, [](auto& q) { EXPECT_TRUE(q.Receives()); },
        Fill),
    With<Queue>(
        "mq_timedsend", [](auto& q) { return q.SendsUntilFar(); },
        [](auto& q) { EXPECT_TRUE(q.ReceivesUntilFar()); }, Fill),
    With<Queue>(
        "mq_poll", [](auto& q) { return IsReadyByPoll(q, POLLIN); },
        [](auto& q) { EXPECT_TRUE(q.Sends()); },
        [](Queue& q) {
          Fill(q);
          EXPECT_TRUE(q.Receives());
        }),
    With<Semaphores>(
        "semop_down", [](auto& s) { return s.Changes(-1); },
        [](auto& s) { EXPECT_TRUE(s.Changes(1)); }),
    With<Semaphores>(
        "semop_to_zero", [](auto& s) { return s.Changes(0); },
        [](auto& s) { EXPECT_TRUE(s.Changes(-1)); }, RaiseFirst),
    With<Semaphores>(
        "semop_setval", [](auto& s) { return s.Changes(-2); },
        [](auto& s) { EXPECT_EQ(semctl(s.set, 0, SETVAL, 2), 0); }),
    With<Semaphores>(
        "semtimedop", [](auto& s) { return s.ChangesUntilFar(-1); },
        [](auto& s) { EXPECT_TRUE(s.ChangesUntilFar(1)); }),
    With<Mailbox>(
        "msgrcv", [](auto& m) { return m.Receives(); }, [](auto& m) { EXPECT_TRUE(m.Sends()); }),
    With<Mailbox>(
        "msgsnd", [](auto& m) { return m.Sends(); }, [](auto& m) { EXPECT_TRUE(m.Receives()); },
        FillBox),
};

const NamedScenario kFromOutside[] = {
    With<Queue>(
        "mq_receive", [](auto& q) { return q.Receives(); }, [](auto& q) { q.SendFromOutside(); }),
    With<Queue>(
        "mq_timedsend", [](auto& q) { return q.SendsUntilFar(); },
        [](auto& q) { q.ReceiveFromOutside(); }, Fill),
    With<Semaphores>(
        "semop", [](auto& s) { return s.Changes(-1); }, [](auto& s) { s.ChangeFromOutside(1); }),
    // Another semaphore of the set does not count.
    With<Semaphores>(
        "semop_other", [](auto& s) { return s.Changes(-1); },
        [](auto& s) {
          EXPECT_TRUE(s.Changes(1, 1));
          s.ChangeFromOutside(1);
        }),
    With<Mailbox>(
        "msgrcv", [](auto& m) { return m.Receives(); }, [](auto& m) { m.SendFromOutside(); }),
    With<Mailbox>(
        "msgsnd", [](auto& m) { return m.Sends(); }, [](auto& m) { m.ReceiveFromOutside(); },
        FillBox),
};

class MessageWaitTest : public ::testing::TestWithParam<NamedScenario> {
 protected:
  FakeProcess process_;
};
TEST_P(MessageWaitTest, WaiterIsCreditedAndWakerHasPaid) {
  ExpectWakerPaysAndWaiterIsCredited(process_, GetParam());
}
INSTANTIATE_TEST_SUITE_P(All, MessageWaitTest, ::testing::ValuesIn(kCredited),
                         [](const auto& scenario) { return std::string(scenario.param.name); });

class OutsideMessageTest : public ::testing::TestWithParam<NamedScenario> {
 protected:
  FakeProcess process_;
};
TEST_P(OutsideMessageTest, WaiterPays) { ExpectWaiterPays(process_, GetParam()); }
INSTANTIATE_TEST_SUITE_P(All, OutsideMessageTest, ::testing::ValuesIn(kFromOutside),
                         [](const auto& scenario) { return std::string(scenario.param.name); });

class MessageCallTest : public ::testing::Test {
 protected:
  FakeProcess process_;
};

// errno where a call has failed, else its result.
int ErrorOf(long result) { return result == -1 ? errno : static_cast<int>(result); }

TEST_F(MessageCallTest, ErrorsAreLibcs) {
  const Queue queue;
  const Semaphores semaphores;
  const Mailbox mailbox;
  const auto results = [&] {
    char message[kMessageBytes];
    const timespec invalid = {0, -1};
    const timespec past = {1, 0};
    const timespec none = {0, 0};
    sembuf down_now = {0, -1, IPC_NOWAIT};
    sembuf down = {0, -1, 0};
    sembuf beyond = {2, 1, 0};
    auto* const bad = reinterpret_cast<sembuf*>(64);
    Letter letter;
    return std::vector<int>{
        ErrorOf(mq_send(-1, "x", 1, 0)),
        ErrorOf(mq_send(queue.queue, "x", kMessageBytes + 1, 0)),
        ErrorOf(mq_receive(queue.queue, message, 1, nullptr)),
        ErrorOf(mq_timedreceive(queue.queue, message, sizeof(message), nullptr, &invalid)),
        ErrorOf(mq_timedreceive(queue.queue, message, sizeof(message), nullptr, &past)),
        ErrorOf(semop(semaphores.set, &down_now, 1)),
        ErrorOf(semtimedop(semaphores.set, &down_now, 1, &none)),
        ErrorOf(semtimedop(semaphores.set, &down, 1, &none)),
        ErrorOf(semop(semaphores.set, &beyond, 1)),
        ErrorOf(semop(semaphores.set, bad, 1)),
        ErrorOf(semop(semaphores.set, nullptr, 0)),
        ErrorOf(semop(semaphores.set, &down, 100'000)),
        ErrorOf(semctl(-1, 0, SETVAL, 1)),
        ErrorOf(semctl(semaphores.set, 0, GETVAL)),
        ErrorOf(msgrcv(mailbox.queue, &letter, sizeof(letter.text), 0, IPC_NOWAIT)),
        ErrorOf(msgsnd(mailbox.queue, &letter, 1 << 20, 0)),
        ErrorOf(msgsnd(-1, &letter, 1, 0)),
    };
  };
  delay::ThreadLedger* const ledger = LeaveThreadSync();
  const std::vector<int> of_libc = results();
  EnterThreadSync(ledger, process_.global().global_delay_ns);
  EXPECT_EQ(of_libc,
            (std::vector<int>{EBADF, EMSGSIZE, EMSGSIZE, EINVAL, ETIMEDOUT, EAGAIN, EAGAIN, EAGAIN,
                              EFBIG, EFAULT, EINVAL, E2BIG, EINVAL, 0, ENOMSG, EINVAL, EINVAL}));
  process_.Impose(kNsPerMs);
  EXPECT_EQ(results(), of_libc);
  EXPECT_GT(ledger->pauses, 0u);
}

TEST_F(MessageCallTest, SuccessLeavesErrnoAlone) {
  const Queue queue;
  const Semaphores semaphores;
  const Mailbox mailbox;
  process_.Impose(kNsPerMs);
  errno = ERANGE;
  EXPECT_TRUE(queue.Sends());
  EXPECT_TRUE(queue.Receives());
  EXPECT_TRUE(semaphores.Changes(1));
  EXPECT_TRUE(semaphores.Changes(-1));
  EXPECT_TRUE(mailbox.Sends());
  EXPECT_TRUE(mailbox.Receives());
  EXPECT_EQ(errno, ERANGE);
}

TEST_F(MessageCallTest, AFileIsNoQueue) {
  const int file = memfd_create("test", 0);
  ASSERT_GE(file, 0);
  EXPECT_EQ(mq_send(file, "x", 1, 0), -1);
  EXPECT_EQ(errno, EBADF);
  EXPECT_EQ(FindIoKeys(file, IoSide::kInput).waits[0], 0u);
  const Queue queue;
  EXPECT_TRUE(queue.Sends());
  EXPECT_NE(FindIoKeys(queue.queue, IoSide::kInput).waits[0], 0u);
  EXPECT_EQ(FindIoKeys(file, IoSide::kInput).waits[0], 0u);
  close(file);
}

}  // namespace
}  // namespace coz::interpose
