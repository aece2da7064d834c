// Opening of FIFOs, calls that few programs make, calls by number, and asynchronous input and
// output: which threads get credit, and which do not.
#include <aio.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "coz/base/raw_syscall.h"
#include "coz/sync/interpose/io_object.h"
#include "coz/sync/interpose/testing/fake_process.h"
#include "coz/sync/interpose/testing/io_channel.h"
#include "coz/sync/interpose/testing/wait_scenario.h"
#include "coz/sync/interpose/thread_sync.h"

// libc's headers declare these only to programs that are built with _FORTIFY_SOURCE.
extern "C" {
int __open_2(const char* path, int flags);
int __openat_2(int folder, const char* path, int flags);
int __open64_2(const char* path, int flags);
int __openat64_2(int folder, const char* path, int flags);
}

namespace coz::interpose {
namespace {

using testing::FakeProcess;
using testing::kBytes;
using testing::kMessage;
using testing::LoopbackOf;
using testing::NamedScenario;
using testing::NewPipe;
using testing::NewUdp;
using testing::Receives;
using testing::Scenario;
using testing::Send;
using testing::SendFromOutside;
using testing::SharedChannel;

class Fifo {
 public:
  Fifo() {
    const char* const base = getenv("TEST_TMPDIR");
    std::string name = std::string(base != nullptr ? base : "/tmp") + "/coz-fifo-XXXXXX";
    EXPECT_NE(mkdtemp(name.data()), nullptr);
    folder = name;
    path = name + "/fifo";
  }
  ~Fifo() {
    for (const int fd : opened) RawSyscall(SYS_close, fd);
    unlink(path.c_str());
    rmdir(folder.c_str());
  }
  Fifo(const Fifo&) = delete;
  Fifo& operator=(const Fifo&) = delete;

  // By the program, or by another one.
  void Make() const { EXPECT_EQ(mkfifo(path.c_str(), 0600), 0); }
  void MakeFromOutside() const {
    EXPECT_EQ(RawSyscall(SYS_mknodat, AT_FDCWD, path.c_str(), S_IFIFO | 0600, 0), 0);
  }
  bool Keep(int fd) {
    opened.push_back(fd);
    return fd >= 0;
  }
  bool OpenFromOutside(int flags) {
    return Keep(static_cast<int>(RawSyscall(SYS_openat, AT_FDCWD, path.c_str(), flags, 0)));
  }

  std::string folder;
  std::string path;
  std::vector<int> opened;  // of two threads, the second one after the first has gone on
};

struct Ends {
  Fifo fifo;
  int waiting = -1;
  ~Ends() {
    if (waiting >= 0) close(waiting);
  }
};

NamedScenario Opening(const char* name, const std::function<int(const Fifo&)>& wait,
                      const std::function<bool(Fifo&)>& wake) {
  return {name, [=] {
            const auto ends = std::make_shared<Ends>();
            ends->fifo.Make();
            return Scenario([=] { return (ends->waiting = wait(ends->fifo)) >= 0; },
                            [=](std::thread&) { EXPECT_TRUE(wake(ends->fifo)); });
          }};
}

int OpenToRead(const Fifo& f) { return open(f.path.c_str(), O_RDONLY); }
int OpenToWrite(const Fifo& f) { return open(f.path.c_str(), O_WRONLY); }
bool WriterComes(Fifo& f) { return f.Keep(OpenToWrite(f)); }
bool ReaderComes(Fifo& f) { return f.Keep(OpenToRead(f)); }

int OpenByStdio(const Fifo& f, const char* mode) {
  FILE* const stream = fopen(f.path.c_str(), mode);
  if (stream == nullptr) return -1;
  const int fd = dup(fileno(stream));
  fclose(stream);
  return fd;
}

NamedScenario PipeWait(const char* name, const std::function<bool(int)>& wait,
                       const std::function<void(int)>& wake) {
  return {name, [=] {
            const SharedChannel channel = NewPipe();
            return Scenario([=] { return wait(channel->input); },
                            [=](std::thread&) { wake(channel->output); });
          }};
}

bool ReceivesByPreadv2(int fd) {
  uint64_t message = 0;
  const iovec part = {&message, sizeof(message)};
  return preadv2(fd, &part, 1, -1, 0) == kBytes && message == kMessage;
}
void SendByPwritev2(int fd) {
  uint64_t message = kMessage;
  const iovec part = {&message, sizeof(message)};
  EXPECT_EQ(pwritev2(fd, &part, 1, -1, 0), kBytes);
}
bool ReceivesByVmsplice(int fd) {
  uint64_t message = 0;
  const iovec part = {&message, sizeof(message)};
  return vmsplice(fd, &part, 1, 0) == kBytes && message == kMessage;
}
void SendByVmsplice(int fd) {
  static uint64_t message = kMessage;
  const iovec part = {&message, sizeof(message)};
  EXPECT_EQ(vmsplice(fd, &part, 1, 0), kBytes);
}
bool ReceivesByTee(int fd) {
  const SharedChannel copy = NewPipe();
  return tee(fd, copy->output, kBytes, 0) == kBytes && Receives(copy->input) && Receives(fd);
}
void SendByTee(int fd) {
  const SharedChannel from = NewPipe();
  Send(from->output);
  EXPECT_EQ(tee(from->input, fd, kBytes, 0), kBytes);
}
bool ReceivesByAio(int fd) {
  uint64_t message = 0;
  aiocb request = {};
  request.aio_fildes = fd;
  request.aio_buf = &message;
  request.aio_nbytes = sizeof(message);
  if (aio_read(&request) != 0) return false;
  const aiocb* const list[] = {nullptr, &request};
  return aio_suspend(list, 2, nullptr) == 0 && aio_return(&request) == kBytes &&
         message == kMessage;
}
void SendByAio(int fd) {
  uint64_t message = kMessage;
  aiocb request = {};
  request.aio_fildes = fd;
  request.aio_buf = &message;
  request.aio_nbytes = sizeof(message);
  EXPECT_EQ(aio_write(&request), 0);
  const aiocb* const list[] = {&request};
  EXPECT_EQ(aio_suspend(list, 1, nullptr), 0);
  EXPECT_EQ(aio_return(&request), kBytes);
}

bool ReceivesBySyscall(int fd) {
  uint64_t message = 0;
  return syscall(SYS_read, fd, &message, sizeof(message)) == kBytes && message == kMessage;
}
void SendBySyscall(int fd) {
  const uint64_t message = kMessage;
  EXPECT_EQ(syscall(SYS_write, fd, &message, sizeof(message)), kBytes);
}

// Datagrams to an address, by calls without a name in libc.
NamedScenario DatagramsBySyscall() {
  return {"datagrams_by_syscall", [] {
            const SharedChannel channel = NewUdp(/*sender_connects=*/false,
                                                 /*receiver_connects=*/false);
            const auto call = [](long number, int fd, sockaddr_in* address) {
              uint64_t message = kMessage;
              iovec part = {&message, sizeof(message)};
              mmsghdr header = {};
              header.msg_hdr.msg_iov = &part;
              header.msg_hdr.msg_iovlen = 1;
              header.msg_hdr.msg_name = address;
              header.msg_hdr.msg_namelen = sizeof(*address);
              return syscall(number, fd, &header, 1, 0, nullptr) == 1 && message == kMessage;
            };
            return Scenario(
                [=] {
                  sockaddr_in from = {};
                  return call(SYS_recvmmsg, channel->input, &from);
                },
                [=](std::thread&) {
                  sockaddr_in to = LoopbackOf(channel->input);
                  EXPECT_TRUE(call(SYS_sendmmsg, channel->output, &to));
                });
          }};
}

const NamedScenario kCredited[] = {
    Opening("open_to_read", OpenToRead, WriterComes),
    Opening("open_to_write", OpenToWrite, ReaderComes),
    Opening("open_for_both", OpenToRead,
            [](Fifo& f) { return f.Keep(open(f.path.c_str(), O_RDWR)); }),
    Opening("open_nonblocking", OpenToRead,
            [](Fifo& f) { return f.Keep(open(f.path.c_str(), O_WRONLY | O_NONBLOCK)); }),
    Opening(
        "openat", [](auto& f) { return openat(AT_FDCWD, f.path.c_str(), O_RDONLY); },
        [](Fifo& f) { return f.Keep(openat(AT_FDCWD, f.path.c_str(), O_WRONLY)); }),
    Opening(
        "open_2", [](auto& f) { return __open_2(f.path.c_str(), O_RDONLY); },
        [](Fifo& f) { return f.Keep(__open64_2(f.path.c_str(), O_WRONLY)); }),
    Opening(
        "openat_2", [](auto& f) { return __openat_2(AT_FDCWD, f.path.c_str(), O_RDONLY); },
        [](Fifo& f) { return f.Keep(__openat64_2(AT_FDCWD, f.path.c_str(), O_WRONLY)); }),
    Opening("creat", OpenToRead, [](Fifo& f) { return f.Keep(creat(f.path.c_str(), 0600)); }),
    Opening(
        "fopen", [](auto& f) { return OpenByStdio(f, "r"); },
        [](Fifo& f) { return f.Keep(OpenByStdio(f, "w")); }),
    PipeWait("preadv2", ReceivesByPreadv2, Send),
    PipeWait("pwritev2", Receives, SendByPwritev2),
    PipeWait("wait_by_vmsplice", ReceivesByVmsplice, Send),
    PipeWait("wake_by_vmsplice", Receives, SendByVmsplice),
    PipeWait("wait_by_tee", ReceivesByTee, Send),
    PipeWait("wake_by_tee", Receives, SendByTee),
    PipeWait("aio_suspend", ReceivesByAio, Send),
    PipeWait("aio_write", Receives, SendByAio),
    PipeWait("wait_by_syscall", ReceivesBySyscall, Send),
    PipeWait("wake_by_syscall", Receives, SendBySyscall),
    DatagramsBySyscall(),
};

const NamedScenario kFromOutside[] = {
    Opening("open", OpenToRead, [](Fifo& f) { return f.OpenFromOutside(O_WRONLY); }),
    Opening(
        "fopen", [](auto& f) { return OpenByStdio(f, "w"); },
        [](Fifo& f) { return f.OpenFromOutside(O_RDONLY); }),
    PipeWait("preadv2", ReceivesByPreadv2, SendFromOutside),
    PipeWait("vmsplice", ReceivesByVmsplice, SendFromOutside),
    PipeWait("tee", ReceivesByTee, SendFromOutside),
    PipeWait("aio_suspend", ReceivesByAio, SendFromOutside),
    PipeWait("syscall", ReceivesBySyscall, SendFromOutside),
};

class RareIoTest : public ::testing::TestWithParam<NamedScenario> {
 protected:
  FakeProcess process_;
};
TEST_P(RareIoTest, WaiterIsCreditedAndWakerHasPaid) {
  ExpectWakerPaysAndWaiterIsCredited(process_, GetParam());
}
INSTANTIATE_TEST_SUITE_P(All, RareIoTest, ::testing::ValuesIn(kCredited),
                         [](const auto& scenario) { return std::string(scenario.param.name); });

class OutsideRareIoTest : public ::testing::TestWithParam<NamedScenario> {
 protected:
  FakeProcess process_;
};
TEST_P(OutsideRareIoTest, WaiterPays) { ExpectWaiterPays(process_, GetParam()); }
INSTANTIATE_TEST_SUITE_P(All, OutsideRareIoTest, ::testing::ValuesIn(kFromOutside),
                         [](const auto& scenario) { return std::string(scenario.param.name); });

class RareIoCallTest : public ::testing::Test {
 protected:
  FakeProcess process_;
};

int ErrorOf(long result) { return result == -1 ? errno : static_cast<int>(result); }

TEST_F(RareIoCallTest, AFifoOfAnotherProgramIsKnownOnceAThreadHasWaitedForIt) {
  std::atomic<uint32_t>& has_fifos = TheIoTables().has_fifos;
  has_fifos = 0;
  process_.Impose(kNsPerMs);
  PayIfBehind();
  Fifo fifo;
  fifo.MakeFromOutside();
  const pid_t waiter = gettid();
  std::thread other([&] {
    testing::WaitUntil("the thread waits", [&] { return testing::SleepsInKernel(waiter); });
    EXPECT_TRUE(fifo.OpenFromOutside(O_WRONLY));
  });
  const int fd = OpenToRead(fifo);
  other.join();
  EXPECT_GE(fd, 0);
  close(fd);
  EXPECT_EQ(has_fifos, 1u);
}

TEST_F(RareIoCallTest, FilesAreOpenedWithoutPay) {
  Fifo fifo;
  fifo.Make();
  const std::string file = fifo.folder + "/file";
  process_.Impose(kNsPerMs);
  const uint64_t before_ns = process_.main_ledger().paused_ns;
  const int fd = open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL, 0640);
  EXPECT_GE(fd, 0);
  struct stat status;
  EXPECT_EQ(fstat(fd, &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0640u & ~0022u);
  EXPECT_EQ(process_.main_ledger().paused_ns, before_ns);
  close(fd);
  unlink(file.c_str());
}

// Ends a read by a message from outside.
long EndOf(aiocb* pending, int output) {
  SendFromOutside(output);
  while (aio_error(pending) == EINPROGRESS) RawSyscall(SYS_sched_yield);
  return aio_return(pending);
}

TEST_F(RareIoCallTest, ResultsAreLibcs) {
  Fifo fifo;
  fifo.Make();
  const auto results = [&] {
    const timespec brief = {0, 1000};
    uint64_t message = 0;
    const iovec part = {&message, sizeof(message)};
    const SharedChannel channel = NewPipe();
    EXPECT_EQ(fcntl(channel->input, F_SETFL, O_NONBLOCK), 0);
    const SharedChannel idle = NewPipe();
    aiocb pending = {};
    pending.aio_fildes = idle->input;
    pending.aio_buf = &message;
    pending.aio_nbytes = sizeof(message);
    EXPECT_EQ(aio_read(&pending), 0);
    const aiocb* const list[] = {&pending};
    return std::vector<int>{
        ErrorOf(open("/nowhere/at/all", O_RDONLY)),
        ErrorOf(open(reinterpret_cast<const char*>(64), O_RDONLY)),
        ErrorOf(openat(-1, "relative", O_RDONLY)),
        ErrorOf(open(fifo.path.c_str(), O_WRONLY | O_NONBLOCK)),
        ErrorOf(open(fifo.path.c_str(), O_RDONLY | O_DIRECTORY)),
        ErrorOf(mkfifo(fifo.path.c_str(), 0600)),
        ErrorOf(mkfifoat(-1, "relative", 0600)),
        fopen("/nowhere/at/all", "r") == nullptr ? errno : 0,
        ErrorOf(preadv2(channel->input, &part, 1, -1, 0)),
        ErrorOf(preadv2(channel->input, &part, 1, 0, 0)),
        ErrorOf(tee(channel->input, channel->output, 1, SPLICE_F_NONBLOCK)),
        ErrorOf(tee(-1, channel->output, 1, 0)),
        ErrorOf(vmsplice(-1, &part, 1, 0)),
        ErrorOf(aio_suspend(list, 1, &brief)),
        ErrorOf(EndOf(&pending, idle->output)),
        ErrorOf(aio_suspend(list, 1, &brief)),
    };
  };
  delay::ThreadLedger* const ledger = LeaveThreadSync();
  const std::vector<int> of_libc = results();
  EnterThreadSync(ledger, process_.global().global_delay_ns);
  EXPECT_EQ(of_libc[0], ENOENT);
  EXPECT_EQ(of_libc[1], EFAULT);
  EXPECT_EQ(of_libc[3], ENXIO);
  EXPECT_EQ(of_libc[8], EAGAIN);
  EXPECT_EQ(of_libc[9], ESPIPE);
  EXPECT_EQ(of_libc[13], EAGAIN);
  EXPECT_EQ(of_libc[14], kBytes);
  EXPECT_EQ(of_libc[15], 0);
  process_.Impose(kNsPerMs);
  EXPECT_EQ(results(), of_libc);
  EXPECT_GT(ledger->pauses, 0u);
}

}  // namespace
}  // namespace coz::interpose
