#include "coz/attach/call_filter.h"

#include <linux/audit.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>

#include "gtest/gtest.h"

namespace coz::attach {
namespace {

constexpr auto kNumber = static_cast<uint32_t>(offsetof(seccomp_data, nr));
constexpr auto kThird = static_cast<uint32_t>(offsetof(seccomp_data, args[2]));

seccomp_data CallOf(int number, uint64_t third = 0) {
  seccomp_data call = {};
  call.nr = number;
  call.arch = AUDIT_ARCH_X86_64;
  call.args[2] = third;
  return call;
}

// `answer` to the call of this number, else it may be made.
CallFilter OnlyFor(int number, uint32_t answer) {
  return {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kNumber),
          BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<uint32_t>(number), 0, 1),
          BPF_STMT(BPF_RET | BPF_K, answer), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
}

// As systemd's MemoryDenyWriteExecute.
CallFilter NoCodeByMprotect(uint32_t answer) {
  return {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kNumber),
          BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mprotect, 0, 3),
          BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kThird),
          BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 0, 1),
          BPF_STMT(BPF_RET | BPF_K, answer),
          BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
}

TEST(CallFilterTest, NumberAndArgumentsAreLookedAt) {
  const CallFilter filter = NoCodeByMprotect(SECCOMP_RET_ERRNO | EPERM);
  EXPECT_EQ(AnswerOf(filter, CallOf(SYS_mprotect, PROT_READ | PROT_EXEC)),
            SECCOMP_RET_ERRNO | EPERM);
  EXPECT_EQ(AnswerOf(filter, CallOf(SYS_mprotect, PROT_READ)), SECCOMP_RET_ALLOW);
  EXPECT_EQ(AnswerOf(filter, CallOf(SYS_mmap, PROT_EXEC)), SECCOMP_RET_ALLOW);
}

TEST(CallFilterTest, InstructionsCalculateAsTheKernelDoes) {
  // ((number * 6 - 4) / 2 ^ 0xff) << 3 | 1, by way of memory and of the other register.
  const CallFilter filter = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kNumber),
                             BPF_STMT(BPF_LDX | BPF_W | BPF_IMM, 6),
                             BPF_STMT(BPF_ALU | BPF_MUL | BPF_X, 0),
                             BPF_STMT(BPF_ALU | BPF_SUB | BPF_K, 4),
                             BPF_STMT(BPF_ALU | BPF_DIV | BPF_K, 2),
                             BPF_STMT(BPF_ST, 5),
                             BPF_STMT(BPF_LD | BPF_IMM, 0xff),
                             BPF_STMT(BPF_LDX | BPF_MEM, 5),
                             BPF_STMT(BPF_ALU | BPF_XOR | BPF_X, 0),
                             BPF_STMT(BPF_MISC | BPF_TAX, 0),
                             BPF_STMT(BPF_LD | BPF_IMM, 0),
                             BPF_STMT(BPF_MISC | BPF_TXA, 0),
                             BPF_STMT(BPF_ALU | BPF_LSH | BPF_K, 3),
                             BPF_STMT(BPF_ALU | BPF_OR | BPF_K, 1),
                             BPF_STMT(BPF_RET | BPF_A, 0)};
  EXPECT_EQ(AnswerOf(filter, CallOf(10)),
            static_cast<uint32_t>(((10 * 6 - 4) / 2 ^ 0xff) << 3 | 1));
}

// The kernel says what this process gets for a call, and so does the filter.
TEST(CallFilterTest, AnswersAsTheKernelDoes) {
  const pid_t child = fork();
  if (child == 0) {
    CallFilter filter = OnlyFor(SYS_getppid, SECCOMP_RET_ERRNO | 77);
    const sock_fprog program = {static_cast<uint16_t>(filter.size()), filter.data()};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
      _exit(1);
    }
    _exit(syscall(SYS_getppid) == -1 && errno == 77 && syscall(SYS_getpid) > 0 ? 0 : 2);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  const CallFilter filter = OnlyFor(SYS_getppid, SECCOMP_RET_ERRNO | 77);
  EXPECT_EQ(AnswerOf(filter, CallOf(SYS_getppid)), SECCOMP_RET_ERRNO | 77);
  EXPECT_EQ(AnswerOf(filter, CallOf(SYS_getpid)), SECCOMP_RET_ALLOW);
}

TEST(CallFilterTest, ProgramThatLeavesItsBoundsKills) {
  EXPECT_EQ(AnswerOf({}, CallOf(SYS_mmap)), SECCOMP_RET_KILL_PROCESS);
  EXPECT_EQ(AnswerOf({BPF_STMT(BPF_LD | BPF_W | BPF_ABS, sizeof(seccomp_data))}, CallOf(SYS_mmap)),
            SECCOMP_RET_KILL_PROCESS);
  EXPECT_EQ(AnswerOf({BPF_STMT(BPF_ST, BPF_MEMWORDS)}, CallOf(SYS_mmap)), SECCOMP_RET_KILL_PROCESS);
  EXPECT_EQ(AnswerOf({BPF_STMT(BPF_ALU | BPF_DIV | BPF_X, 0)}, CallOf(SYS_mmap)),
            SECCOMP_RET_KILL_PROCESS);
}

TEST(CallFilterTest, CallsThatFailAreSafeAndThoseThatEndTheProcessAreNot) {
  EXPECT_EQ(UnsafeCall({}), "");
  EXPECT_EQ(UnsafeCall({OnlyFor(SYS_membarrier, SECCOMP_RET_ERRNO | EPERM)}), "");
  EXPECT_EQ(UnsafeCall({OnlyFor(SYS_membarrier, SECCOMP_RET_KILL_THREAD)}), "membarrier");
  EXPECT_EQ(UnsafeCall({OnlyFor(SYS_membarrier, SECCOMP_RET_TRAP)}), "membarrier");
  EXPECT_EQ(UnsafeCall({OnlyFor(SYS_membarrier, SECCOMP_RET_USER_NOTIF)}), "");
  EXPECT_EQ(UnsafeCall({OnlyFor(SYS_reboot, SECCOMP_RET_KILL_PROCESS)}), "");
  // The set @system-service of systemd lacks it.
  EXPECT_EQ(UnsafeCall({OnlyFor(SYS_mincore, SECCOMP_RET_KILL_PROCESS)}), "");
  EXPECT_EQ(UnsafeCall({NoCodeByMprotect(SECCOMP_RET_KILL_PROCESS)}), "mprotect");
}

// A sandbox lets calls be made with some arguments, and asks by a signal what others are for.
TEST(CallFilterTest, ArgumentsOfCozAreAsked) {
  const CallFilter others = OnlyFor(SYS_prctl, SECCOMP_RET_TRAP);
  const CallFilter slack = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args)),
                            BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PR_GET_TIMERSLACK, 0, 1),
                            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
                            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  EXPECT_EQ(UnsafeCall({others}), "prctl");
  EXPECT_EQ(UnsafeCall({slack}), "prctl");
  EXPECT_EQ(UnsafeCall({OnlyFor(SYS_kill, SECCOMP_RET_TRAP)}), "kill");
}

TEST(CallFilterTest, HarshestAnswerCounts) {
  const CallFilter fails = OnlyFor(SYS_futex, SECCOMP_RET_ERRNO | EPERM);
  const CallFilter kills = OnlyFor(SYS_futex, SECCOMP_RET_KILL_PROCESS);
  EXPECT_EQ(UnsafeCall({fails, kills}), "futex");
  EXPECT_EQ(UnsafeCall({kills, fails}), "futex");
}

}  // namespace
}  // namespace coz::attach
