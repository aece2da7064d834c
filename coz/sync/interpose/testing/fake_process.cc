#include "coz/sync/interpose/testing/fake_process.h"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include "coz/base/clock.h"
#include "coz/base/raw_syscall.h"
#include "coz/sync/interpose/thread_exit.h"
#include "coz/sync/interpose/thread_sync.h"
#include "coz/sync/interpose/wrapped_calls.h"

namespace coz::testing {
namespace {

constexpr int kLedgers = 4096;

struct State {
  delay::GlobalLedger global;
  delay::ThreadLedger ledgers[kLedgers];
  std::atomic<int> used;
  std::atomic<int> reserved;
  std::atomic<int> cancelled;
  std::atomic<int> exited;
  std::atomic<int> without_ledger;
  std::atomic<bool> refuses;
  std::atomic<uint64_t> stack_bytes;
};
State* g_state = nullptr;  // of the current test; never freed, since threads may outlive a test

delay::ThreadLedger* Reserve() {
  if (g_state->refuses) return nullptr;
  ++g_state->reserved;
  const int index = g_state->used++;
  if (index >= kLedgers) abort();
  g_state->ledgers[index].number = static_cast<uint32_t>(index) + 1;
  return &g_state->ledgers[index];
}

// A sample in a hook goes to the thread's current ledger. Where there is none, the sample takes
// another ledger for good.
void CheckCurrent(delay::ThreadLedger* ledger) {
  if (ledger != nullptr && interpose::CurrentThreadLedger() != ledger) ++g_state->without_ledger;
}

void Start(delay::ThreadLedger* ledger, uint64_t stack_bytes) {
  CheckCurrent(ledger);
  g_state->stack_bytes = stack_bytes;
}

void Exit(delay::ThreadLedger* ledger) {
  CheckCurrent(ledger);
  ++g_state->exited;
}

uint64_t HighestLocalDelay(uint64_t now_ns) {
  uint64_t highest_ns = 0;
  for (int i = 0; i < g_state->used; ++i) {
    highest_ns =
        std::max(highest_ns, delay::LocalDelayAt(g_state->global, g_state->ledgers[i], now_ns));
  }
  return highest_ns;
}

}  // namespace

FakeProcess::FakeProcess() {
  static const bool have_exit_key = interpose::InitThreadExit();
  if (!have_exit_key) abort();
  interpose::ResolveRealCalls();
  // The global delay never goes back in a process, because values of it that threads have left
  // would then be wrong.
  const uint64_t start_ns = g_state == nullptr ? 0 : g_state->global.global_delay_ns.load();
  g_state = new State();
  g_state->global.global_delay_ns = start_ns;
  interpose::ThreadHooks hooks = {Reserve, [](delay::ThreadLedger*) { ++g_state->cancelled; },
                                  Start, Exit};
  hooks.highest_local_delay = HighestLocalDelay;
  interpose::InitThreadSync(&g_state->global, hooks);
  interpose::EnterThreadSync(Reserve(), start_ns);
  g_state->reserved = 0;
}

FakeProcess::~FakeProcess() { interpose::LeaveThreadSync(); }

delay::GlobalLedger& FakeProcess::global() { return g_state->global; }
delay::ThreadLedger& FakeProcess::main_ledger() { return g_state->ledgers[0]; }

void FakeProcess::Impose(uint64_t delay_ns) { g_state->global.global_delay_ns += delay_ns; }

void FakeProcess::ImposeBeyondExcess(uint64_t delay_ns) {
  uint64_t most_ns = g_state->global.global_delay_ns;
  for (int i = 0; i < g_state->used; ++i) {
    most_ns = std::max<uint64_t>(most_ns, g_state->ledgers[i].local_delay_ns);
  }
  g_state->global.global_delay_ns = most_ns + delay_ns;
}

void FakeProcess::RunInSelectedLine() {
  g_state->global.selection = 1;
  delay::ThreadLedger& ledger = *Reserve();
  ledger.local_delay_ns = g_state->global.global_delay_ns.load();
  ledger.stretches.SetInProgressForTest(1, delay::Stretches::kWholeRate / 2,
                                        MonotonicNowNs() - delay::Stretches::kMostInProgressNs);
}

uint64_t FakeProcess::PausedByOthers(const delay::ThreadLedger& ledger) {
  uint64_t sum_ns = 0;
  for (int i = 0; i < g_state->used; ++i) {
    const delay::ThreadLedger& other = g_state->ledgers[i];
    if (&other != &ledger) sum_ns += other.paused_ns;
  }
  return sum_ns;
}

void FakeProcess::RefuseLedgers(bool refuse) { g_state->refuses = refuse; }
uint64_t FakeProcess::newest_stack_bytes() const { return g_state->stack_bytes; }
int FakeProcess::reserved() const { return g_state->reserved; }
int FakeProcess::cancelled() const { return g_state->cancelled; }
int FakeProcess::exited() const { return g_state->exited; }
int FakeProcess::without_ledger() const { return g_state->without_ledger; }

void WaitUntil(const char* what, const std::function<bool()>& condition) {
  const uint64_t give_up_ns = MonotonicNowNs() + 60 * kNsPerSecond;
  while (!condition()) {
    if (MonotonicNowNs() > give_up_ns) {
      fprintf(stderr, "gave up waiting until %s\n", what);
      abort();
    }
    RawSyscall(SYS_sched_yield);
  }
}

bool SleepsInKernel(pid_t tid) {
  if (tid == 0) return false;
  // The state in .../stat is not enough: a thread may be marked asleep and be woken before it
  // sleeps.
  std::ifstream file("/proc/self/task/" + std::to_string(tid) + "/syscall");
  std::string call;
  return std::getline(file, call) && call != "running";
}

void WatchedThread::Announce() {
  tid = static_cast<pid_t>(RawSyscall(SYS_gettid));
  ledger = interpose::CurrentThreadLedger();
}

bool WatchedThread::IsBlocked(bool asleep) const {
  const delay::ThreadLedger* watched = ledger;
  if (watched == nullptr || watched->blocked == 0) return false;
  return !asleep || SleepsInKernel(tid);
}

}  // namespace coz::testing
