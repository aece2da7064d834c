// stdio on pipes and sockets: which threads get credit, and that all else is as in libc.
#include <ext/stdio_filebuf.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdio_ext.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <wchar.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <istream>
#include <memory>
#include <ostream>
#include <string>
#include <thread>

#include "coz/base/raw_syscall.h"
#include "coz/sync/interpose/stdio_tables.h"
#include "coz/sync/interpose/testing/fake_process.h"
#include "coz/sync/interpose/testing/io_channel.h"
#include "coz/sync/interpose/testing/wait_scenario.h"
#include "coz/sync/interpose/thread_sync.h"

namespace coz::interpose {
namespace {

using testing::FakeProcess;
using testing::NamedScenario;
using testing::NewPipe;
using testing::NewStreamPair;
using testing::Scenario;
using testing::SharedChannel;
using testing::WaitUntil;
using testing::WatchedThread;

// The line that goes from one end to the other.
constexpr char kLine[] = "12 words\n";

class Streams {
 public:
  explicit Streams(const SharedChannel& channel) : channel_(channel) {
    in = fdopen(dup(channel->input), "r");
    out = fdopen(dup(channel->output), "w");
    // The streams alone keep the ends open.
    for (int* fd : {&channel->input, &channel->output}) {
      close(*fd);
      *fd = -1;
    }
  }
  ~Streams() {
    for (FILE* stream : {in, out}) {
      if (stream != nullptr) fclose(stream);
    }
  }
  Streams(const Streams&) = delete;
  Streams& operator=(const Streams&) = delete;

  FILE* in;
  FILE* out;

 private:
  SharedChannel channel_;
};

void SendFromOutside(Streams& s) {
  const long bytes = sizeof(kLine) - 1;
  EXPECT_EQ(RawSyscall(SYS_write, fileno(s.out), kLine, bytes), bytes);
}
void Print(Streams& s) {
  EXPECT_EQ(fputs(kLine, s.out), 1);
  EXPECT_EQ(fflush(s.out), 0);
}
bool GetsLine(Streams& s) {
  char line[64];
  return fgets(line, sizeof(line), s.in) != nullptr && std::string(line) == kLine;
}

NamedScenario Wait(const char* name, bool (*wait)(Streams&), void (*wake)(Streams&) = Print,
                   SharedChannel (*make)() = NewPipe) {
  return {name, [=] {
            const auto streams = std::make_shared<Streams>(make());
            return Scenario([=] { return wait(*streams); }, [=](std::thread&) { wake(*streams); });
          }};
}

const NamedScenario kCredited[] = {
    Wait("fgets", GetsLine),
    Wait("fgets_of_socket", GetsLine, Print, NewStreamPair),
    Wait("getc", [](Streams& s) { return getc(s.in) == '1'; }),
    Wait("getc_unlocked", [](Streams& s) { return getc_unlocked(s.in) == '1'; }),
    Wait("fread",
         [](Streams& s) {
           char bytes[sizeof(kLine) - 1];
           return fread(bytes, sizeof(bytes), 1, s.in) == 1;
         }),
    Wait("fread_unbuffered",
         [](Streams& s) {
           setvbuf(s.in, nullptr, _IONBF, 0);
           char bytes[sizeof(kLine) - 1];
           return fread(bytes, sizeof(bytes), 1, s.in) == 1;
         }),
    Wait("fscanf",
         [](Streams& s) {
           int number = 0;
           return fscanf(s.in, "%d", &number) == 1 && number == 12;
         }),
    Wait("getline",
         [](Streams& s) {
           char* line = nullptr;
           size_t capacity = 0;
           const ssize_t length = getline(&line, &capacity, s.in);
           const bool is_line = length == sizeof(kLine) - 1 && std::string(line) == kLine;
           free(line);
           return is_line;
         }),
    Wait("fgetwc", [](Streams& s) { return fgetwc(s.in) == L'1'; }),
    Wait("fprintf", GetsLine,
         [](Streams& s) {
           setvbuf(s.out, nullptr, _IOLBF, 0);
           EXPECT_EQ(fprintf(s.out, "%d %s\n", 12, "words"), 9);
         }),
    Wait("fwrite_unbuffered", GetsLine,
         [](Streams& s) {
           setvbuf(s.out, nullptr, _IONBF, 0);
           EXPECT_EQ(fwrite(kLine, sizeof(kLine) - 1, 1, s.out), 1u);
         }),
    Wait("putc_and_fflush_of_all", GetsLine,
         [](Streams& s) {
           for (const char* c = kLine; *c != '\0'; ++c) EXPECT_EQ(putc(*c, s.out), *c);
           EXPECT_EQ(fflush(nullptr), 0);
         }),
    Wait("dprintf", GetsLine,
         [](Streams& s) { EXPECT_EQ(dprintf(fileno(s.out), "%d %s\n", 12, "words"), 9); }),
    Wait("fputws", GetsLine,
         [](Streams& s) {
           EXPECT_GE(fputws(L"12 words\n", s.out), 0);
           EXPECT_EQ(fflush(s.out), 0);
         }),
    Wait("fclose_with_output", GetsLine,
         [](Streams& s) {
           EXPECT_EQ(fputs(kLine, s.out), 1);
           EXPECT_EQ(fclose(s.out), 0);
           s.out = nullptr;
         }),
    Wait(
        "fclose", [](Streams& s) { return getc(s.in) == EOF && feof(s.in) != 0; },
        [](Streams& s) {
          EXPECT_EQ(fclose(s.out), 0);
          s.out = nullptr;
        }),
    // libstdc++ calls read and write.
    Wait("istream",
         [](Streams& s) {
           __gnu_cxx::stdio_filebuf<char> buffer(fileno(s.in), std::ios::in);
           std::istream in(&buffer);
           int number = 0;
           return (in >> number) && number == 12;
         }),
    Wait("ostream", GetsLine,
         [](Streams& s) {
           __gnu_cxx::stdio_filebuf<char> buffer(dup(fileno(s.out)), std::ios::out);
           std::ostream out(&buffer);
           out << kLine << std::flush;
           EXPECT_TRUE(out.good());
         }),
};

// A stream whose child ends once it has read a byte that the outside sends.
NamedScenario ChildWait(const char* name, int (*close_stream)(FILE*)) {
  return {name, [=] {
            const SharedChannel channel = NewPipe();
            const std::string command =
                "exec head -c 1 <&" + std::to_string(channel->input) + " >/dev/null";
            FILE* const stream = popen(command.c_str(), "w");
            EXPECT_NE(stream, nullptr);
            return Scenario([=] { return close_stream(stream) == 0; },
                            [=](std::thread&) { testing::SendFromOutside(channel->output); });
          }};
}

const NamedScenario kFromOutside[] = {
    Wait("fgets", GetsLine, SendFromOutside),
    Wait("fgets_of_socket", GetsLine, SendFromOutside, NewStreamPair),
    ChildWait("pclose", pclose),
    ChildWait("fclose_of_child", fclose),
};

class StdioProcess {
 public:
  StdioProcess() { WrapStdio(); }
  ~StdioProcess() { UnwrapStdio(); }
  StdioProcess(const StdioProcess&) = delete;
  StdioProcess& operator=(const StdioProcess&) = delete;

  FakeProcess process;
};

class StdioWaitTest : public ::testing::TestWithParam<NamedScenario> {
 protected:
  StdioProcess stdio_;
};
TEST_P(StdioWaitTest, ReaderIsCreditedAndWriterHasPaid) {
  ExpectWakerPaysAndWaiterIsCredited(stdio_.process, GetParam());
}
INSTANTIATE_TEST_SUITE_P(All, StdioWaitTest, ::testing::ValuesIn(kCredited),
                         [](const auto& scenario) { return std::string(scenario.param.name); });

class OutsideStdioTest : public ::testing::TestWithParam<NamedScenario> {
 protected:
  StdioProcess stdio_;
};
TEST_P(OutsideStdioTest, WaiterPays) { ExpectWaiterPays(stdio_.process, GetParam()); }
INSTANTIATE_TEST_SUITE_P(All, OutsideStdioTest, ::testing::ValuesIn(kFromOutside),
                         [](const auto& scenario) { return std::string(scenario.param.name); });

class StdioTest : public ::testing::Test {
 protected:
  FakeProcess& process() { return stdio_.process; }

  StdioProcess stdio_;
};

// Nobody waits for a file. Who writes one pays elsewhere, without the stream's lock.
TEST_F(StdioTest, OutputIntoAFileDoesNotPay) {
  FILE* const file = fdopen(memfd_create("test", 0), "w+");
  ASSERT_NE(file, nullptr);
  process().Impose(kNsPerMs);
  EXPECT_EQ(fputs(kLine, file), 1);
  EXPECT_EQ(fflush(file), 0);
  rewind(file);
  char line[64];
  ASSERT_NE(fgets(line, sizeof(line), file), nullptr);
  EXPECT_STREQ(line, kLine);
  EXPECT_EQ(fclose(file), 0);
  EXPECT_EQ(process().main_ledger().paused_ns, 0u);
}

TEST_F(StdioTest, ErrorsAreLibcs) {
  process().Impose(kNsPerMs);
  Streams streams(NewPipe());
  errno = 0;
  EXPECT_EQ(fputc('x', streams.in), EOF);
  EXPECT_EQ(errno, EBADF);
  ASSERT_EQ(fcntl(fileno(streams.in), F_SETFL, O_NONBLOCK), 0);
  errno = 0;
  EXPECT_EQ(fgetc(streams.in), EOF);
  EXPECT_EQ(errno, EAGAIN);
  EXPECT_NE(ferror(streams.in), 0);
  clearerr(streams.in);
  errno = ERANGE;
  Print(streams);
  EXPECT_TRUE(GetsLine(streams));
  EXPECT_EQ(errno, ERANGE);
  FILE* const closed = fdopen(dup(STDIN_FILENO), "r");
  close(fileno(closed));
  EXPECT_EQ(fclose(closed), EOF);
  EXPECT_EQ(errno, EBADF);
}

TEST_F(StdioTest, StatusOfAChildIsLibcs) {
  process().Impose(kNsPerMs);
  FILE* const stream = popen("echo words; exit 3", "r");
  ASSERT_NE(stream, nullptr);
  char word[16];
  EXPECT_EQ(fscanf(stream, "%15s", word), 1);
  EXPECT_STREQ(word, "words");
  const int status = pclose(stream);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 3);
}

TEST_F(StdioTest, AWaitIsACancellationPointAndLeavesTheStreamUnlocked) {
  Streams streams(NewPipe());
  WatchedThread watched;
  std::atomic<bool> returned{false};
  std::thread thread([&] {
    watched.Announce();
    process().Impose(kNsPerMs);
    PayIfBehind();
    fgetc(streams.in);
    returned = true;
  });
  WaitUntil("the thread waits", [&] { return watched.IsBlocked(true); });
  pthread_cancel(thread.native_handle());
  thread.join();
  EXPECT_FALSE(returned);
  EXPECT_EQ(ftrylockfile(streams.in), 0);
  funlockfile(streams.in);
}

// As after a detach.
TEST_F(StdioTest, NothingIsWrappedAfterwards) {
  UnwrapStdio();
  Streams streams(NewPipe());
  process().Impose(kNsPerMs);
  Print(streams);
  EXPECT_TRUE(GetsLine(streams));
  EXPECT_EQ(process().main_ledger().paused_ns, 0u);
  WrapStdio();
  Print(streams);
  EXPECT_GE(process().main_ledger().paused_ns, kNsPerMs);
}

}  // namespace
}  // namespace coz::interpose
