#include "coz/attach/refusals.h"

#include <elf.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace coz::attach {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kLibrary[] = "/usr/lib/coz/libcoz.so";

std::string ElfHead(unsigned char elf_class, uint16_t machine) {
  Elf64_Ehdr head = {};
  memcpy(head.e_ident, ELFMAG, SELFMAG);
  head.e_ident[EI_CLASS] = elf_class;
  head.e_machine = machine;
  return {reinterpret_cast<const char*>(&head), sizeof(head)};
}

Mapping File(const std::string& path) {
  Mapping mapping;
  mapping.begin = 0x1000;
  mapping.end = 0x2000;
  mapping.inode = 7;
  mapping.path = path;
  return mapping;
}

// A process that can be attached to.
Facts Server() {
  Facts facts;
  facts.pid = 4711;
  facts.status = {{"Name", "server"},
                  {"State", "S (sleeping)"},
                  {"Tgid", "4711"},
                  {"PPid", "1"},
                  {"TracerPid", "0"},
                  {"VmSize", "100 kB"},
                  {"Uid", "1000\t1000\t1000\t1000"},
                  {"Seccomp", "0"}};
  facts.executable = "/usr/bin/server";
  facts.elf_head = ElfHead(ELFCLASS64, EM_X86_64);
  facts.mappings = {File("/usr/bin/server"), File("/lib/x86_64-linux-gnu/libc.so.6")};
  facts.may_trace = true;
  facts.our_uid = 1000;
  return facts;
}

std::string Refusal(const Facts& facts) {
  return std::string(WhyNotAttach(facts, kLibrary).message());
}

TEST(RefusalsTest, PlainProcessIsNotRefused) {
  EXPECT_TRUE(WhyNotAttach(Server(), kLibrary).ok()) << Refusal(Server());
}

TEST(RefusalsTest, StateIsToldWithTheNextCommand) {
  Facts facts = Server();
  facts.status.clear();
  EXPECT_THAT(Refusal(facts), HasSubstr("there is none of this number; list them with: ps -e"));
  facts = Server();
  facts.status["State"] = "Z (zombie)";
  EXPECT_THAT(Refusal(facts), HasSubstr("it has ended"));
  facts.status["State"] = "T (stopped)";
  EXPECT_THAT(Refusal(facts), HasSubstr("kill -CONT 4711"));
  facts = Server();
  facts.status["Tgid"] = "4000";
  EXPECT_THAT(Refusal(facts), HasSubstr("type: coz attach 4000"));
  facts = Server();
  facts.status.erase("VmSize");
  EXPECT_THAT(Refusal(facts), HasSubstr("it is about to end; list what runs with: ps -e"));
  facts.status["PPid"] = "2";
  EXPECT_THAT(Refusal(facts), HasSubstr("part of the kernel"));
  facts = Server();
  facts.status["TracerPid"] = "99";
  EXPECT_THAT(Refusal(facts), HasSubstr("process 99 traces it"));
}

TEST(RefusalsTest, RightsAreToldWithTheFix) {
  Facts facts = Server();
  facts.may_trace = false;
  facts.our_uid = 1001;
  EXPECT_THAT(Refusal(facts), HasSubstr("belongs to user 1000 and you are user 1001; type: sudo"));
  facts.our_uid = 1000;
  facts.yama_scope = 1;
  EXPECT_THAT(Refusal(facts), HasSubstr("kernel.yama.ptrace_scope is 1"));
  EXPECT_THAT(Refusal(facts), HasSubstr("sudo sysctl kernel.yama.ptrace_scope=0"));
  facts.yama_scope = 3;
  EXPECT_THAT(Refusal(facts), HasSubstr("after a restart of the machine"));
  facts.yama_scope.reset();
  EXPECT_THAT(Refusal(facts), HasSubstr("does not let you trace it"));
  facts = Server();
  facts.status["Uid"] = "1000\t0\t0\t0";
  EXPECT_THAT(Refusal(facts), HasSubstr("rights of two users (1000 and 0)"));
  facts.status["Uid"] = "33\t33\t0\t33";  // a service that root has started
  EXPECT_THAT(Refusal(facts), HasSubstr("rights of two users (33 and 0)"));
}

TEST(RefusalsTest, RootIsNotToldToTypeSudo) {
  Facts facts = Server();
  facts.may_trace = false;
  facts.our_uid = 0;
  facts.our_capabilities = 0x1fffefffffff;
  facts.status["CapPrm"] = "00001fffffffffff";
  EXPECT_THAT(Refusal(facts),
              HasSubstr("capabilities that you lack, though you are root (0x10000000)"));
  EXPECT_THAT(Refusal(facts), Not(HasSubstr("sudo")));
  facts.status["CapPrm"] = "0000000000000000";
  EXPECT_THAT(Refusal(facts), HasSubstr("forbids even root"));
  EXPECT_THAT(Refusal(facts), Not(HasSubstr("sudo")));
  facts.yama_scope = 3;
  EXPECT_THAT(Refusal(facts), HasSubstr("ptrace_scope is 3"));
}

TEST(RefusalsTest, ProgramThatCannotLoadTheLibraryIsRefused) {
  Facts facts = Server();
  facts.elf_head = ElfHead(ELFCLASS32, EM_386);
  EXPECT_THAT(Refusal(facts), HasSubstr("not a 64-bit program"));
  facts = Server();
  facts.mappings = {File("/usr/bin/server")};
  EXPECT_THAT(Refusal(facts), HasSubstr("statically linked"));
  facts.mappings = {File("/usr/bin/server"), File("/lib/ld-musl-x86_64.so.1")};
  EXPECT_THAT(Refusal(facts), HasSubstr("musl"));
  facts = Server();
  facts.mappings.push_back(File("/usr/lib/x86_64-linux-gnu/libasan.so.8"));
  EXPECT_THAT(Refusal(facts), HasSubstr("sanitizer"));
  facts = Server();
  facts.mappings.push_back(File("/opt/coz/libcoz.so"));
  EXPECT_THAT(Refusal(facts), HasSubstr("another libcoz.so (/opt/coz/libcoz.so)"));
}

TEST(RefusalsTest, SurroundingsAreRefused) {
  Facts facts = Server();
  facts.is_in_our_pid_namespace = false;
  EXPECT_THAT(Refusal(facts), HasSubstr("another PID namespace"));
  facts = Server();
  facts.sees_library = false;
  EXPECT_THAT(Refusal(facts), HasSubstr("does not see /usr/lib/coz/libcoz.so"));
  facts.root = "/srv/empty";
  EXPECT_THAT(Refusal(facts), HasSubstr("its root folder to /srv/empty (chroot), where it cannot "
                                        "load /usr/lib/coz/libcoz.so; start it with: coz run"));
  facts = Server();
  facts.status["Seccomp"] = "2";
  EXPECT_THAT(Refusal(facts), HasSubstr("Seccomp: 2"));
  facts.status["Seccomp_filters"] = "2";
  facts.container_filters = 1;
  EXPECT_THAT(Refusal(facts), HasSubstr("Seccomp: 2"));
  facts.status["Seccomp_filters"] = "1";
  EXPECT_TRUE(WhyNotAttach(facts, kLibrary).ok()) << Refusal(facts);
  facts.container_filters = 0;
  EXPECT_THAT(Refusal(facts), HasSubstr("sudo coz attach 4711"));
  facts.may_read_filters = true;
  EXPECT_TRUE(WhyNotAttach(facts, kLibrary).ok()) << Refusal(facts);
  facts.status["Seccomp"] = "1";
  EXPECT_THAT(Refusal(facts), HasSubstr("Seccomp: 1"));
  facts = Server();
  facts.status["x86_Thread_features"] = "shstk wrss";
  EXPECT_THAT(Refusal(facts), HasSubstr("shadow stack"));
}

// It has memory to give back first, so its end takes a while. Nobody has asked how it ended.
TEST(RefusalsTest, TracerThatIsKilledIsWaitedFor) {
  int traced_by[2];
  ASSERT_EQ(pipe(traced_by), 0);
  const pid_t tracer = fork();
  if (tracer == 0) {
    std::vector<char> memory(size_t{256} << 20, 'x');
    pid_t child = fork();
    while (child == 0) pause();
    if (ptrace(PTRACE_SEIZE, child, nullptr, nullptr) != 0) child = 0;
    (void)!write(traced_by[1], &child, sizeof(child));
    for (;;) pause();
  }
  pid_t traced = 0;
  EXPECT_EQ(read(traced_by[0], &traced, sizeof(traced)), static_cast<ssize_t>(sizeof(traced)));
  EXPECT_GT(traced, 0);
  EXPECT_EQ(GatherFacts(traced, kLibrary).status["TracerPid"], std::to_string(tracer))
      << "one that stays";
  kill(tracer, SIGKILL);
  EXPECT_EQ(GatherFacts(traced, kLibrary).status["TracerPid"], "0");
  if (traced > 0) kill(traced, SIGKILL);
  waitpid(tracer, nullptr, 0);
  close(traced_by[0]);
  close(traced_by[1]);
}

TEST(ProcessViewTest, ReadsStatusAndMappings) {
  const StatusFields status = ParseStatus("Name:\ta b\nSigBlk:\t0000000000000010\nThreads:\t3\n");
  EXPECT_EQ(status.at("Name"), "a b");
  EXPECT_EQ(NumberIn(status, "Threads", 0), 3);
  EXPECT_EQ(NumberIn(status, "Missing", -7), -7);
  EXPECT_EQ(SignalsIn(status, "SigBlk"), 0x10u);
  const std::vector<Mapping> mappings = ParseMappings(
      "1000-2000 r-xp 00000000 fe:00 42                /lib/libc.so.6\n"
      "2000-3000 rw-p 00000000 00:00 0 \n"
      "torn li\n");
  ASSERT_EQ(mappings.size(), 2u);
  EXPECT_TRUE(mappings[0].is_executable);
  EXPECT_EQ(mappings[0].inode, 42u);
  EXPECT_TRUE(mappings[1].is_writable);
  EXPECT_EQ(mappings[1].path, "");
  EXPECT_EQ(FileNamed(mappings, "libc.so.6"), &mappings[0]);
  EXPECT_EQ(FileNamed(mappings, "c.so.6"), nullptr);
  EXPECT_EQ(MappingAt(mappings, 0x2fff), &mappings[1]);
  EXPECT_EQ(MappingAt(mappings, 0x3000), nullptr);
}

}  // namespace
}  // namespace coz::attach
