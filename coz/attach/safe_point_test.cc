#include "coz/attach/safe_point.h"

#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gtest/gtest.h"

namespace coz::attach {
namespace {

const StackFrame kMain = {0x1000, "server", "main"};
const StackFrame kStart = {0x2000, "libc.so.6", "__libc_start_main"};

ThreadState Waiting(int64_t call, const std::vector<StackFrame>& inner) {
  ThreadState state;
  state.waiting_call = call;
  state.frames = inner;
  state.frames.push_back(kMain);
  state.frames.push_back(kStart);
  state.is_whole = true;
  return state;
}

// With the whole stack given.
ThreadState Running(const std::vector<StackFrame>& frames) {
  ThreadState state;
  state.frames = frames;
  state.is_whole = true;
  return state;
}

TEST(SafePointTest, ThreadThatWaitsForInputIsSafe) {
  EXPECT_TRUE(IsSafe(Waiting(SYS_epoll_wait, {{1, "libc.so.6", "epoll_wait"}})).ok());
  EXPECT_TRUE(IsSafe(Waiting(SYS_read, {{1, "libc.so.6", "read"}})).ok());
}

TEST(SafePointTest, ThreadThatWaitsOnAConditionIsSafe) {
  EXPECT_TRUE(
      IsSafe(Waiting(SYS_futex, {{1, "libc.so.6", ""}, {2, "libc.so.6", "pthread_cond_wait"}}))
          .ok());
}

// What waits in a stripped libc has no name.
TEST(SafePointTest, ThreadThatWaitsForTheEndOfAnotherIsSafe) {
  ThreadState state = Waiting(SYS_futex, {{1, "libc.so.6", ""}, {2, "libc.so.6", ""}});
  EXPECT_FALSE(IsSafe(state).ok());
  state.waits_for_thread = true;
  EXPECT_TRUE(IsSafe(state).ok());
}

TEST(SafePointTest, ThreadThatWaitsForALockIsNot) {
  EXPECT_FALSE(IsSafe(Waiting(SYS_futex,
                              {{1, "libc.so.6", "__lll_lock_wait_private"}, {2, "libc.so.6", ""}}))
                   .ok());
  EXPECT_FALSE(IsSafe(Waiting(SYS_futex, {{1, "libc.so.6", "pthread_mutex_lock"}})).ok());
}

TEST(SafePointTest, ThreadInAnAllocatorIsNotWhoseverItIs) {
  EXPECT_FALSE(IsSafe(Waiting(SYS_nanosleep,
                              {{1, "libc.so.6", "nanosleep"}, {2, "libjemalloc.so.2", "malloc"}}))
                   .ok());
  EXPECT_FALSE(IsSafe(Waiting(-1, {{1, "server", "free"}})).ok());
}

TEST(SafePointTest, ThreadInTheLoaderIsNot) {
  const absl::Status status = IsSafe(Waiting(SYS_read, {{1, "ld-linux-x86-64.so.2", "read"}}));
  EXPECT_FALSE(status.ok());
  EXPECT_NE(status.message().find("ld-linux"), absl::string_view::npos) << status;
}

TEST(SafePointTest, StackThatDoesNotReachItsBeginningIsNot) {
  ThreadState state = Waiting(SYS_epoll_wait, {{1, "libc.so.6", "epoll_wait"}});
  state.is_whole = false;
  EXPECT_FALSE(IsSafe(state).ok());
}

// Of a program with cgo: what calls mstart cannot be unwound.
TEST(SafePointTest, ThreadOfGosRuntimeIsSafeThoughItsStackEndsInCgo) {
  const std::vector<StackFrame> of_go = {{1, "server", "runtime.usleep.abi0"},
                                         {2, "server", "runtime.sysmon"},
                                         {3, "server", "runtime.mstart1"},
                                         {4, "server", "runtime.mstart.abi0"},
                                         {5, "server", ""}};
  ThreadState state = Running(of_go);
  state.is_whole = false;
  state.waiting_call = SYS_nanosleep;
  EXPECT_TRUE(IsSafe(state).ok());
  state.waiting_call = SYS_futex;
  EXPECT_TRUE(IsSafe(state).ok());
  // A goroutine has no beginning there, and C that Go calls may hold any lock.
  state.frames = {of_go[0], of_go[1], {3, "server", "runtime.mcall"}};
  EXPECT_FALSE(IsSafe(state).ok());
  state.frames = of_go;
  state.frames.insert(state.frames.begin(), {0, "libsqlite3.so.0", "sqlite3_step"});
  EXPECT_FALSE(IsSafe(state).ok());
}

// It may hold a lock that our call would wait for: the one around the program's signal actions.
TEST(SafePointTest, ThreadThatRunsInTheRuntimeIsNot) {
  const std::vector<StackFrame> frames = {{1, "libcoz.so", ""}, kMain, kStart};
  const absl::Status status = IsSafe(Running(frames));
  EXPECT_FALSE(status.ok());
  EXPECT_NE(status.message().find("libcoz.so"), absl::string_view::npos) << status;
  ThreadState waiting = Running(frames);
  waiting.waiting_call = SYS_epoll_wait;
  EXPECT_TRUE(IsSafe(waiting).ok());
}

TEST(SafePointTest, RunningThreadIsSafeInTheProgramOnly) {
  EXPECT_TRUE(IsSafe(Waiting(-1, {{1, "server", "compute"}})).ok());
  EXPECT_FALSE(IsSafe(Waiting(-1, {{1, "libc.so.6", "qsort"}, {2, "server", "sort"}})).ok());
  EXPECT_FALSE(IsSafe(Waiting(-1, {{1, "", ""}})).ok());
}

// As libc is installed: without its local symbols.
TEST(SafePointTest, BeginningsOfAStrippedLibcAreKnownByTheirPlace) {
  const StackFrame compute = {1, "server", "compute"};
  const StackFrame unnamed = {2, "libc.so.6", ""};
  const StackFrame starts_main = {3, "libc.so.6", "__libc_start_main"};
  const StackFrame start = {4, "server", "_start"};
  EXPECT_TRUE(IsSafe(Running({compute, unnamed, unnamed})).ok());
  EXPECT_TRUE(IsSafe(Running({compute, unnamed, starts_main, start})).ok());
  // At a thread's end.
  EXPECT_FALSE(IsSafe(Running({compute, unnamed, unnamed, unnamed})).ok());
  EXPECT_FALSE(IsSafe(Running({unnamed, unnamed, unnamed})).ok());
  EXPECT_FALSE(IsSafe(Running({unnamed, unnamed})).ok());
  // Elsewhere on the stack.
  EXPECT_FALSE(IsSafe(Running({compute, unnamed, compute, unnamed, unnamed})).ok());
  EXPECT_FALSE(IsSafe(Running({compute, unnamed, unnamed, start})).ok());
  EXPECT_FALSE(IsSafe(Running({compute, {2, "libc.so.6", "qsort"}, unnamed})).ok());
  EXPECT_FALSE(IsSafe(Running({compute, unnamed})).ok());
}

TEST(SafePointTest, RunningThreadIsNotSafeWhereAnyFunctionMayBeTheAllocators) {
  ThreadState state = Waiting(-1, {{1, "server", "compute"}});
  state.has_other_malloc = true;
  EXPECT_FALSE(IsSafe(state).ok());
}

TEST(SafePointTest, SystemCallThatAnAllocatorMakesIsNoWaitForOutside) {
  EXPECT_FALSE(IsSafe(Waiting(SYS_munmap, {{1, "libc.so.6", "munmap"}})).ok());
  EXPECT_FALSE(IsWaitForOutside(SYS_madvise));
  EXPECT_TRUE(IsWaitForOutside(SYS_epoll_wait));
}

// What is below the stack pointer of a goroutine or a fiber belongs to another, or to nobody.
TEST(SafePointTest, StackThatTheProgramHasMadeIsNotTheThreadsOwn) {
  const std::vector<Mapping> mappings = ParseMappings(
      "c000000000-c000400000 rw-p 00000000 00:00 0 \n"
      "7f0000000000-7f0000001000 ---p 00000000 00:00 0 \n"
      "7f0000001000-7f0000803000 rw-p 00000000 00:00 0 \n"
      "7ffc00000000-7ffc00021000 rw-p 00000000 00:00 0 [stack]\n");
  constexpr uint64_t kThread = 0x7f00008006c0;
  EXPECT_TRUE(IsOnOwnStack(mappings, kThread - 0x100, kThread, false));
  EXPECT_FALSE(IsOnOwnStack(mappings, 0xc000112f18, kThread, false));
  // Of the same mapping, but above the thread's control block.
  EXPECT_FALSE(IsOnOwnStack(mappings, kThread + 0x1000, kThread, false));
  EXPECT_FALSE(IsOnOwnStack(mappings, 0x1000, kThread, false));
}

// It has its stack from the kernel, and its control block may lie beside other memory.
TEST(SafePointTest, StackOfTheFirstThreadIsTheKernelsOrThatOfTheThreadThatForked) {
  const std::vector<Mapping> mappings = ParseMappings(
      "7f0000001000-7f0000803000 rw-p 00000000 00:00 0 \n"
      "7f1000000000-7f1000001000 ---p 00000000 00:00 0 \n"
      "7f1000001000-7f1000803000 rw-p 00000000 00:00 0 \n"
      "7ffc00000000-7ffc00021000 rw-p 00000000 00:00 0 [stack]\n");
  EXPECT_TRUE(IsOnOwnStack(mappings, 0x7ffc0001f000, 0x7f00008006c0, true));
  EXPECT_FALSE(IsOnOwnStack(mappings, 0x7f0000800000, 0x7f00008006c0, true));
  EXPECT_TRUE(IsOnOwnStack(mappings, 0x7f1000800000, 0x7f10008006c0, true));
  EXPECT_FALSE(IsOnOwnStack(mappings, 0x7ffc0001f000, 0x7f00008006c0, false));
}

// As of one that was killed just now. libdw would assert in the second walk.
TEST(SafePointTest, ThreadWhoseRegistersCannotBeReadIsUnsafeEachTime) {
  const pid_t pid = fork();
  if (pid == 0) {
    for (;;) pause();
  }
  SafePoints points(pid);
  // The child's stack is where this one is.
  const auto stack = reinterpret_cast<uint64_t>(__builtin_frame_address(0));
  for (int i = 0; i < 2; ++i) EXPECT_FALSE(points.Check({pid, stack, 0, SYS_pause, false}).ok());
  kill(pid, SIGKILL);
  waitpid(pid, nullptr, 0);
}

}  // namespace
}  // namespace coz::attach
