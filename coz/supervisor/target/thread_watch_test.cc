#include "coz/supervisor/target/thread_watch.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "coz/base/clock.h"
#include "coz/shared/thread_records.h"
#include "coz/shared/thread_slots.h"
#include "coz/testing/zeroed_control.h"
#include "gtest/gtest.h"

namespace coz::supervisor {
namespace {

using shared::ThreadSlot;

class ThreadWatchTest : public ::testing::Test {
 protected:
  ThreadWatchTest() {
    control_->sampling_period_ns = 1'000'000;
    AddPoint("pair", shared::PointKind::kBegin);
    AddPoint("requests", shared::PointKind::kThroughput);
  }

  void AddPoint(const char* name, shared::PointKind kind) {
    shared::PointSlot& point = control_->points[points_++];
    point.kind = kind;
    snprintf(point.name, sizeof(point.name), "%s", name);
    point.state = shared::PointState::kReady;
  }

  ThreadSlot& StartThread(const char* name, uint64_t samples, uint64_t visits) {
    prctl(PR_SET_NAME, name);
    ThreadSlot& slot = *shared::ReserveThreadSlot(*control_, 0, getpid());
    slot.tid = gettid();
    shared::BeginFigures(*control_, slot);
    slot.state = shared::ThreadState::kRunning;
    shared::NoteSample(*control_, slot, samples);
    slot.visits[1] += visits;
    return slot;
  }
  void EndThread(ThreadSlot& slot) { shared::FreeThreadSlot(*control_, slot); }

  testing::OwnedControl control_ = testing::ZeroedControl();
  ThreadWatch watch_{control_.get()};
  int points_ = 0;
};

TEST_F(ThreadWatchTest, TellsEndedAndRunningThreadsApart) {
  EndThread(StartThread("ended", 3, 10));
  StartThread("running", 2, 20);
  for (const std::vector<ThreadUse>& threads :
       {watch_.Threads(), watch_.Threads(), ReadThreads(*control_)}) {
    ASSERT_EQ(threads.size(), 2u);
    const ThreadUse& ended = threads[threads[0].end_ns != 0 ? 0 : 1];
    const ThreadUse& running = threads[threads[0].end_ns != 0 ? 1 : 0];
    EXPECT_EQ(ended.name, "ended");
    EXPECT_EQ(ended.samples, 3u);
    EXPECT_EQ(ended.visits[1], 10u);
    EXPECT_EQ(running.name, "running");
    EXPECT_EQ(running.end_ns, 0u);
    EXPECT_EQ(running.samples, 2u);
    EXPECT_EQ(running.visits[1], 20u);
    EXPECT_EQ(running.pid, getpid());
  }
}

TEST_F(ThreadWatchTest, TimesOfCallsAreInNanoseconds) {
  control_->start_ns = MonotonicNowNs() - 1'000'000'000;
  control_->start_ticks = __builtin_ia32_rdtsc() - 2'000'000'000;  // two ticks in a nanosecond
  control_->timed_functions[0] = 2;                                // of "requests"
  ThreadSlot& slot = StartThread("t", 0, 3);
  shared::BeginCall(slot.timers, 0, 0, 0x9000, 1'000'000, 0x8000);
  shared::NoteSample(*control_, slot, 2);
  shared::EndCall(slot.timers, 0, 0x9000, 3'000'000, 0x8000);
  const std::vector<ThreadUse> running = watch_.Threads();
  EndThread(slot);
  const std::vector<ThreadUse> ended = watch_.Threads();
  for (const std::vector<ThreadUse>& threads : {running, ended}) {
    ASSERT_EQ(threads.size(), 1u);
    ASSERT_EQ(threads[0].timed.size(), 1u);
    EXPECT_EQ(threads[0].timed[0].counter, 1u);
    EXPECT_EQ(threads[0].timed[0].calls, 1u);
    EXPECT_EQ(threads[0].timed[0].cpu_ns, 2'000'000u);
    // Both clocks run on while the test does, from the same time.
    EXPECT_GT(threads[0].timed[0].wall_ns, 100'000u);
    EXPECT_LT(threads[0].timed[0].wall_ns, 10'000'000u);
  }
}

TEST_F(ThreadWatchTest, WithoutAMeasureCpuTimeIsThatOfTheSamples) {
  EndThread(StartThread("killed", 3, 0));
  EXPECT_EQ(watch_.Threads().at(0).cpu_ns, 3'000'000u);
}

TEST_F(ThreadWatchTest, ReadingForALookChangesNothing) {
  EndThread(StartThread("ended", 3, 10));
  ReadThreads(*control_);
  EXPECT_EQ(control_->ended_threads.read, 0u);
  EXPECT_EQ(watch_.Threads().size(), 1u);
}

TEST_F(ThreadWatchTest, ManyShortThreadsArePutTogetherByName) {
  constexpr int kThreads = 3000;
  for (int i = 0; i < kThreads; ++i) {
    EndThread(StartThread(i % 3 == 0 ? "a" : "b", 2, 5));
    if (i % 1000 == 0) watch_.Poll();
  }
  const std::vector<ThreadUse> threads = watch_.Threads();
  EXPECT_EQ(threads.size(), 1002u);
  uint64_t count = 0;
  uint64_t samples = 0;
  uint64_t visits_of_a = 0;
  for (const ThreadUse& thread : threads) {
    count += thread.threads;
    samples += thread.samples;
    if (thread.name == "a") visits_of_a += thread.visits[1];
    EXPECT_EQ(thread.tid == 0, thread.threads > 1);
  }
  EXPECT_EQ(count, uint64_t{kThreads});
  EXPECT_EQ(samples, uint64_t{2} * kThreads);
  EXPECT_EQ(visits_of_a, uint64_t{5} * kThreads / 3);
}

TEST_F(ThreadWatchTest, ThreadsThatFoundNoRoomHaveAnEntryWithoutAName) {
  control_->ended_threads.lost = 4;
  control_->ended_threads.lost_samples = 40;
  const std::vector<ThreadUse> threads = watch_.Threads();
  ASSERT_EQ(threads.size(), 1u);
  EXPECT_EQ(threads[0].name, "");
  EXPECT_EQ(threads[0].threads, 4u);
  EXPECT_EQ(threads[0].samples, 40u);
}

TEST_F(ThreadWatchTest, AnEntryThatIsBeingWrittenIsAwaited) {
  control_->ended_threads.next = 1;  // whoever took the first has not written it
  EndThread(StartThread("later", 1, 0));
  watch_.Poll();
  EXPECT_EQ(control_->ended_threads.read, 0u);
  control_->ended_threads.threads[0].written = 1;
  watch_.Poll();
  EXPECT_EQ(control_->ended_threads.read, 2u);
}

std::vector<std::string> CounterNames(const shared::ControlBlock& control) {
  std::vector<std::string> names;
  for (const ThreadCounter& counter : ThreadCounters(control)) names.push_back(counter.name);
  return names;
}

TEST_F(ThreadWatchTest, PairsAreNoCounters) {
  EXPECT_EQ(CounterNames(*control_), (std::vector<std::string>{"", "requests"}));
}

// Where a pair ends at a progress point, both count its visits.
TEST_F(ThreadWatchTest, APlaceThatIsProgressIsOneCounter) {
  AddPoint("begin", shared::PointKind::kPlace);
  AddPoint("requests", shared::PointKind::kPlace);
  EXPECT_EQ(CounterNames(*control_), (std::vector<std::string>{"", "requests", "begin", ""}));
}

// As with --progress=end and --latency=begin,end.
TEST_F(ThreadWatchTest, AProgressPlaceThatEndsAPairIsOneCounter) {
  AddPoint("end", shared::PointKind::kPlace);
  AddPoint("begin", shared::PointKind::kPlace);
  AddPoint("end", shared::PointKind::kPlace);
  EXPECT_EQ(CounterNames(*control_),
            (std::vector<std::string>{"", "requests", "end", "begin", ""}));
}

TEST_F(ThreadWatchTest, AFunctionIsTimedWhetherItsCallsHaveEndedOrNot) {
  AddPoint("f", shared::PointKind::kPlace);
  AddPoint("g", shared::PointKind::kPlace);
  control_->timed_functions[0] = 2 + 1;
  control_->points[2].ends_in_jump = 1;
  control_->timed_functions[1] = 999;  // hostile
  const std::vector<ThreadCounter> counters = ThreadCounters(*control_);
  ASSERT_EQ(counters.size(), 4u);
  EXPECT_TRUE(counters[2].is_timed);
  EXPECT_TRUE(counters[2].ends_in_jump);
  EXPECT_FALSE(counters[3].is_timed);
  EXPECT_FALSE(counters[3].ends_in_jump);
}

TEST_F(ThreadWatchTest, KnowsItselfHowFarItHasRead) {
  EndThread(StartThread("once", 3, 10));
  watch_.Poll();
  control_->ended_threads.read = 0;  // the target may write that
  EXPECT_EQ(watch_.Threads().size(), 1u);
  EXPECT_EQ(control_->ended_threads.read, 1u);
}

// The target may write any sum. Here a tick lasts for years.
TEST_F(ThreadWatchTest, ATimeThatHasNoRoomIsAsLongAsHas) {
  control_->start_ns = MonotonicNowNs() + 3'600'000'000'000;
  control_->timed_functions[0] = 2;
  ThreadSlot& slot = StartThread("t", 0, 0);
  slot.timers.times[0].calls = 1;
  slot.timers.times[0].ticks = ~uint64_t{0};
  const std::vector<ThreadUse> threads = watch_.Threads();
  ASSERT_EQ(threads.size(), 1u);
  ASSERT_EQ(threads[0].timed.size(), 1u);
  EXPECT_EQ(threads[0].timed[0].wall_ns, ~uint64_t{0});
}

// The target may write any number of functions, at any time.
TEST_F(ThreadWatchTest, ThreadsOfOneNameMayHaveMoreTimesThanTheFirst) {
  constexpr int kAlone = 1000;
  for (int i = 0; i <= kAlone; ++i) EndThread(StartThread("t", 0, 0));
  watch_.Poll();
  for (auto& function : control_->timed_functions) function = 2;
  control_->api.count = 2;  // it lies behind the table
  ThreadSlot& slot = StartThread("t", 0, 0);
  slot.timers.times[shared::kMaxTimedFunctions - 1].calls += 7;
  EndThread(slot);
  const std::vector<ThreadUse> threads = watch_.Threads();
  ASSERT_EQ(threads.size(), kAlone + 1u);
  EXPECT_EQ(threads.back().threads, 2u);
  ASSERT_EQ(threads.back().timed.size(), shared::kMaxTimedFunctions);
  EXPECT_EQ(threads.back().timed.back().calls, 7u);
}

// The last entry, in the place of the first, is still being written.
TEST_F(ThreadWatchTest, ALookSeesNoMoreEntriesThanTheRingHas) {
  control_->ended_threads.threads[0].written = 1;
  control_->ended_threads.next = shared::kMaxEndedThreads + 1;
  EXPECT_TRUE(ReadThreads(*control_).empty());
}

shared::EndedThreads* ring_to_write;
void* last_page;

void WriteFirstEntryAgain(int) {
  mprotect(last_page, 4096, PROT_READ | PROT_WRITE);
  ring_to_write->threads[0].written = shared::kMaxEndedThreads + 1;
}

// A hostile target runs ahead of the supervisor: it writes an entry anew as soon as that was read,
// here when the last one is. The supervisor must come back from its look.
TEST_F(ThreadWatchTest, ALookTakesNoMoreEntriesThanTheRingHas) {
  shared::EndedThreads& ring = control_->ended_threads;
  for (uint32_t i = 0; i < shared::kMaxEndedThreads; ++i) ring.threads[i].written = i + 1;
  ring.next = uint64_t{1} << 63;
  ring_to_write = &ring;
  const auto last = reinterpret_cast<uintptr_t>(&ring.threads[shared::kMaxEndedThreads - 1]);
  last_page = reinterpret_cast<void*>(last / 4096 * 4096);
  const auto before = signal(SIGSEGV, WriteFirstEntryAgain);
  ASSERT_EQ(mprotect(last_page, 4096, PROT_NONE), 0);
  watch_.Poll();
  signal(SIGSEGV, before);
  ASSERT_EQ(ring.threads[0].written, shared::kMaxEndedThreads + 1u) << "nothing was read";
  EXPECT_EQ(ring.read, uint64_t{shared::kMaxEndedThreads});
  watch_.Poll();
  EXPECT_EQ(ring.read, shared::kMaxEndedThreads + 1u);
}

TEST_F(ThreadWatchTest, ANameWithoutAnEndIsNoLongerThanItsRoom) {
  memset(&control_->points[1].name[0], 'a', sizeof(control_->points[1].name));
  control_->points[1].shared.count = 0x6161616161616161;
  EXPECT_EQ(CounterNames(*control_)[1], std::string(shared::kPointNameBytes, 'a'));
}

}  // namespace
}  // namespace coz::supervisor
