// A wrapped call notes where the program goes on, so stretches behind calls at different places of
// a program are different kinds.
#include <gtest/gtest.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <threads.h>
#include <unistd.h>

#include <type_traits>

#include "coz/sync/interpose/testing/fake_process.h"
#include "coz/sync/interpose/thread_sync.h"

namespace coz::interpose {
namespace {

using testing::FakeProcess;

const void* Site() { return CurrentThreadLedger()->stretches.site(); }

// Gives two places in the program for each `Call`, which is a type so that the call is inlined.
template <typename Call, int place>
[[gnu::noinline]] const void* SiteAfter() {
  Call()();
  asm volatile("" ::"i"(place));  // keeps the functions distinct, and the call from being a jump
  return Site();
}

pthread_mutex_t g_mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t g_condition = PTHREAD_COND_INITIALIZER;
pthread_rwlock_t g_rwlock = PTHREAD_RWLOCK_INITIALIZER;
pthread_spinlock_t g_spinlock;
pthread_barrier_t g_barrier;
sem_t g_semaphore;
mtx_t g_mtx;
cnd_t g_cnd;
int g_pair[2];
char g_byte;

struct MutexLock {
  void operator()() { pthread_mutex_lock(&g_mutex); }
};
struct MutexUnlock {
  void operator()() { pthread_mutex_unlock(&g_mutex); }
};
struct ConditionSignal {
  void operator()() { pthread_cond_signal(&g_condition); }
};
struct ConditionBroadcast {
  void operator()() { pthread_cond_broadcast(&g_condition); }
};
struct ReadLock {
  void operator()() { pthread_rwlock_rdlock(&g_rwlock); }
};
struct ReadUnlock {
  void operator()() { pthread_rwlock_unlock(&g_rwlock); }
};
struct SpinLock {
  void operator()() { pthread_spin_lock(&g_spinlock); }
};
struct SpinUnlock {
  void operator()() { pthread_spin_unlock(&g_spinlock); }
};
struct BarrierWait {
  void operator()() { pthread_barrier_wait(&g_barrier); }
};
struct SemaphorePost {
  void operator()() { sem_post(&g_semaphore); }
};
struct SemaphoreWait {
  void operator()() { sem_wait(&g_semaphore); }
};
struct C11Lock {
  void operator()() { mtx_lock(&g_mtx); }
};
struct C11Unlock {
  void operator()() { mtx_unlock(&g_mtx); }
};
struct C11Signal {
  void operator()() { cnd_signal(&g_cnd); }
};
struct CreateThread {
  void operator()() {
    pthread_create(
        &g_thread, nullptr, [](void* value) { return value; }, nullptr);
  }
  static pthread_t g_thread;
};
pthread_t CreateThread::g_thread;
struct JoinThread {
  void operator()() { pthread_join(CreateThread::g_thread, nullptr); }
};
struct Write {
  void operator()() { EXPECT_EQ(write(g_pair[0], &g_byte, 1), 1); }
};
struct Read {
  void operator()() { EXPECT_EQ(read(g_pair[1], &g_byte, 1), 1); }
};
struct Send {
  void operator()() { EXPECT_EQ(send(g_pair[0], &g_byte, 1, 0), 1); }
};
struct Receive {
  void operator()() { EXPECT_EQ(recv(g_pair[1], &g_byte, 1, 0), 1); }
};
struct Poll {
  void operator()() { poll(nullptr, 0, 0); }
};
struct FutexWake {
  void operator()() {
    static int word = 0;
    syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
  }
};

struct FutexWait {
  void operator()() {
    static int word = 1;
    syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, nullptr, nullptr, 0);  // returns at once
  }
};

template <typename Call>
class InterposeSiteTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(pthread_spin_init(&g_spinlock, PTHREAD_PROCESS_PRIVATE), 0);
    ASSERT_EQ(pthread_barrier_init(&g_barrier, nullptr, 1), 0);
    ASSERT_EQ(sem_init(&g_semaphore, 0, 0), 0);
    ASSERT_EQ(mtx_init(&g_mtx, mtx_plain), thrd_success);
    ASSERT_EQ(cnd_init(&g_cnd), thrd_success);
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, g_pair), 0);
  }
  void TearDown() override {
    close(g_pair[0]);
    close(g_pair[1]);
  }
  FakeProcess process_;
};

// A call and the call that undoes it, each at two places.
template <typename Do, typename Undo>
struct Both {
  using First = Do;
  using Second = Undo;
};
struct Nothing {
  void operator()() {}
};

// Calls `Do` and then `Undo` at place `place`. Gives where the program goes on behind each.
template <typename Do, typename Undo, int place>
void SitesOfBoth(const void* sites[2]) {
  sites[0] = SiteAfter<Do, place>();
  sites[1] = SiteAfter<Undo, place>();
}

TYPED_TEST_SUITE_P(InterposeSiteTest);

TYPED_TEST_P(InterposeSiteTest, NotesWhereTheProgramGoesOn) {
  using Do = typename TypeParam::First;
  using Undo = typename TypeParam::Second;
  const void* first[2];
  const void* second[2];
  const void* again[2];
  SitesOfBoth<Do, Undo, 1>(first);
  SitesOfBoth<Do, Undo, 2>(second);
  SitesOfBoth<Do, Undo, 1>(again);
  EXPECT_NE(first[0], nullptr);
  EXPECT_NE(first[0], second[0]) << "the call";
  EXPECT_EQ(first[0], again[0]);
  if (std::is_same_v<Undo, Nothing>) return;
  EXPECT_NE(first[1], second[1]) << "what undoes it";
  EXPECT_NE(first[0], first[1]);
}

REGISTER_TYPED_TEST_SUITE_P(InterposeSiteTest, NotesWhereTheProgramGoesOn);

using Calls =
    ::testing::Types<Both<MutexLock, MutexUnlock>, Both<ConditionSignal, ConditionBroadcast>,
                     Both<ReadLock, ReadUnlock>, Both<SpinLock, SpinUnlock>,
                     Both<BarrierWait, Nothing>, Both<SemaphorePost, SemaphoreWait>,
                     Both<C11Lock, C11Unlock>, Both<C11Signal, Nothing>,
                     Both<CreateThread, JoinThread>, Both<Write, Read>, Both<Send, Receive>,
                     Both<Poll, Nothing>, Both<FutexWake, FutexWait>>;
INSTANTIATE_TYPED_TEST_SUITE_P(All, InterposeSiteTest, Calls);

}  // namespace
}  // namespace coz::interpose
