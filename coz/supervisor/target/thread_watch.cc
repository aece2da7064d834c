#include "coz/supervisor/target/thread_watch.h"

#include <algorithm>
#include <fstream>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/str_format.h"
#include "coz/base/clock.h"
#include "coz/shared/slot_loops.h"
#include "coz/supervisor/target/shared_text.h"
#include "coz/supervisor/target/tick_length.h"

namespace coz::supervisor {
namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;
constexpr size_t kMostAlone = 1000;
constexpr size_t kMostNames = 1000;
constexpr char kOtherNames[] = "(others)";
// A thread may lose its CPU while it writes its figures. One that is killed there never ends.
constexpr uint64_t kLongestWriteNs = 500 * kNsPerMs;

std::string Text(const shared::ThreadName& name) {
  char text[shared::kThreadNameBytes];
  name.Get(text);
  return text;
}

// Where nobody has measured it.
uint64_t CpuBySamples(const shared::ControlBlock& control, uint64_t samples) {
  return samples * control.sampling_period_ns;
}

// As the kernel counts it; 0: the thread is gone.
uint64_t CpuTimeNs(int32_t pid, int32_t tid) {
  std::ifstream file(absl::StrFormat("/proc/%d/task/%d/schedstat", pid, tid));
  uint64_t cpu_ns = 0;
  file >> cpu_ns;
  return cpu_ns;
}

// What has no room in the result, as a target may write it, is as much as has.
uint64_t Rounded(double ns) {
  constexpr double kEnd = 18446744073709551616.0;  // 2^64
  return ns < kEnd ? static_cast<uint64_t>(ns) : ~uint64_t{0};
}

// `sums_of` gives the sums of a function by its number.
template <typename SumsOf>
std::vector<TimedCalls> TimesOf(const shared::ControlBlock& control, SumsOf sums_of) {
  std::vector<TimedCalls> timed;
  const double ns_per_tick = NsPerTick(control);
  for (uint32_t i = 0; i < shared::kMaxTimedFunctions; ++i) {
    const uint32_t slot = control.timed_functions[i].load(std::memory_order_acquire);
    if (slot == 0) break;
    const shared::CallSums sums = sums_of(i);
    timed.push_back({slot - 1, sums.calls, Rounded(static_cast<double>(sums.ticks) * ns_per_tick),
                     CpuBySamples(control, sums.samples)});
  }
  return timed;
}

ThreadUse Describe(const shared::ControlBlock& control, const shared::EndedThread& ended) {
  ThreadUse thread;
  thread.pid = ended.pid;
  thread.tid = ended.tid;
  thread.name = Text(ended.name);
  thread.start_ns = ended.start_ns;
  thread.end_ns = ended.end_ns;
  thread.samples = ended.samples;
  thread.samples_in_scope = ended.samples_in_scope;
  thread.cpu_ns = ended.cpu_ns != 0 ? ended.cpu_ns : CpuBySamples(control, ended.samples);
  thread.is_in_scope = shared::IsInThreadScope(control.thread_scope, thread.name.c_str());
  thread.visits.assign(std::begin(ended.visits), std::end(ended.visits));
  thread.timed = TimesOf(control, [&ended](uint32_t i) { return ended.times[i]; });
  return thread;
}

// Nothing where the slot passes to another thread or name meanwhile, whose figures are new.
std::optional<ThreadUse> ReadOnce(const shared::ControlBlock& control,
                                  const shared::ThreadSlot& slot) {
  const shared::ThreadFigures& figures = slot.figures;
  const uint32_t changes = figures.changes.load(std::memory_order_acquire);
  if (changes % 2 != 0) return std::nullopt;
  ThreadUse thread;
  thread.pid = slot.pid.load(kRelaxed);
  thread.tid = slot.tid.load(kRelaxed);
  thread.name = Text({{figures.name[0].load(kRelaxed), figures.name[1].load(kRelaxed)}});
  thread.start_ns = figures.start_ns.load(kRelaxed);
  thread.samples = figures.samples.load(kRelaxed);
  thread.samples_in_scope = figures.samples_in_scope.load(kRelaxed);
  thread.is_in_scope = figures.is_in_scope.load(kRelaxed) != 0;
  thread.visits.resize(shared::kMaxPoints);
  for (uint32_t i = 0; i < shared::kMaxPoints; ++i) {
    // The counter first: what was there before never grows under the same thread.
    const uint64_t visits = slot.visits[i].load(kRelaxed);
    thread.visits[i] = visits - figures.visits_before[i].load(kRelaxed);
  }
  thread.timed =
      TimesOf(control, [&slot](uint32_t i) { return shared::CallSumsOf(slot.timers, i); });
  const uint64_t cpu_start_ns = figures.cpu_start_ns.load(kRelaxed);
  std::atomic_thread_fence(std::memory_order_acquire);
  if (figures.changes.load(kRelaxed) != changes) return std::nullopt;
  if (slot.state.load(kRelaxed) != shared::ThreadState::kRunning) return std::nullopt;
  const uint64_t cpu_ns = CpuTimeNs(thread.pid, thread.tid);
  thread.cpu_ns = cpu_ns > cpu_start_ns ? cpu_ns - cpu_start_ns : 0;
  return thread;
}

void ReadRunning(const shared::ControlBlock& control, std::vector<ThreadUse>* threads) {
  constexpr int kMostTries = 3;
  shared::ForEachRunningThread(control, [&](const shared::ThreadSlot& slot) {
    std::optional<ThreadUse> thread;
    for (int i = 0; i < kMostTries && !thread.has_value(); ++i) thread = ReadOnce(control, slot);
    if (!thread.has_value()) return;
    if (thread->cpu_ns == 0) thread->cpu_ns = CpuBySamples(control, thread->samples);
    threads->push_back(*std::move(thread));
  });
}

void Add(const ThreadUse& thread, ThreadUse* sum) {
  sum->threads += thread.threads;
  sum->start_ns = std::min(sum->start_ns, thread.start_ns);
  sum->end_ns = std::max(sum->end_ns, thread.end_ns);
  sum->samples += thread.samples;
  sum->samples_in_scope += thread.samples_in_scope;
  sum->cpu_ns += thread.cpu_ns;
  for (size_t i = 0; i < thread.visits.size(); ++i) sum->visits[i] += thread.visits[i];
  for (size_t i = 0; i < thread.timed.size(); ++i) {
    if (i == sum->timed.size()) sum->timed.push_back({thread.timed[i].counter, 0, 0, 0});
    sum->timed[i].calls += thread.timed[i].calls;
    sum->timed[i].wall_ns += thread.timed[i].wall_ns;
    sum->timed[i].cpu_ns += thread.timed[i].cpu_ns;
  }
}

void AddLost(const shared::EndedThreads& ring, std::vector<ThreadUse>* threads) {
  const uint64_t lost = ring.lost.load(kRelaxed);
  if (lost == 0) return;
  ThreadUse without_room;
  without_room.threads = static_cast<uint32_t>(lost);
  without_room.samples = ring.lost_samples.load(kRelaxed);
  threads->push_back(std::move(without_room));
}

}  // namespace

std::vector<ThreadCounter> ThreadCounters(const shared::ControlBlock& control) {
  std::vector<ThreadCounter> counters;
  std::set<std::string> progress;
  for (const shared::PointSlot& point : control.points) {
    if (point.state.load(std::memory_order_acquire) != shared::PointState::kReady) break;
    const bool is_counted =
        point.is_released.load(std::memory_order_relaxed) == 0 &&
        (point.kind == shared::PointKind::kThroughput || point.kind == shared::PointKind::kPlace ||
         point.kind == shared::PointKind::kApi);
    ThreadCounter& counter = counters.emplace_back();
    counter.ends_in_jump = point.ends_in_jump.load(kRelaxed) != 0;
    if (!is_counted) continue;
    counter.name = SharedText(point.name);
    if (point.kind == shared::PointKind::kThroughput) progress.insert(counter.name);
  }
  // A function that is progress and ends a pair, too, has two counters for the same visits. Of two
  // places the first is kept: times of calls are of that one.
  std::set<std::string> places;
  for (size_t i = 0; i < counters.size(); ++i) {
    std::string& name = counters[i].name;
    if (control.points[i].kind != shared::PointKind::kPlace || name.empty()) continue;
    const bool is_second = !places.insert(name).second;
    if (is_second || progress.count(name) != 0) name.clear();
  }
  for (const std::atomic<uint32_t>& function : control.timed_functions) {
    const uint32_t point = function.load(kRelaxed);
    if (point != 0 && point <= counters.size()) counters[point - 1].is_timed = true;
  }
  return counters;
}

std::vector<ThreadUse> ReadThreads(const shared::ControlBlock& control) {
  std::vector<ThreadUse> threads;
  ReadRunning(control, &threads);
  const shared::EndedThreads& ring = control.ended_threads;
  const uint64_t end = ring.next.load(std::memory_order_acquire);
  const uint64_t begin = end - std::min<uint64_t>(end, shared::kMaxEndedThreads);
  for (uint64_t number = begin; number < end; ++number) {
    const shared::EndedThread& ended = ring.threads[number % shared::kMaxEndedThreads];
    if (ended.written.load(std::memory_order_acquire) != number + 1) continue;
    ThreadUse thread = Describe(control, ended);
    if (ended.written.load(std::memory_order_acquire) == number + 1) {
      threads.push_back(std::move(thread));
    }
  }
  AddLost(ring, &threads);
  return threads;
}

ThreadWatch::ThreadWatch(shared::ControlBlock* control)
    : control_(*control), read_(control->ended_threads.read.load(kRelaxed)) {
  control_.ended_threads.has_reader.store(1, kRelaxed);
}

void ThreadWatch::Keep(ThreadUse thread) {
  if (alone_.size() < kMostAlone) {
    alone_.push_back(std::move(thread));
    return;
  }
  std::string name = thread.name;
  if (by_name_.size() >= kMostNames && by_name_.count(name) == 0) name = kOtherNames;
  const auto known = by_name_.find(name);
  if (known != by_name_.end()) return Add(thread, &known->second);
  thread.name = name;
  thread.tid = 0;
  thread.pid = 0;
  by_name_.emplace(std::move(name), std::move(thread));
}

bool ThreadWatch::GiveUp(uint64_t now_ns) {
  if (stuck_since_ns_ == 0) stuck_since_ns_ = now_ns;
  return now_ns >= stuck_since_ns_ + kLongestWriteNs;
}

void ThreadWatch::Poll() {
  shared::EndedThreads& ring = control_.ended_threads;
  // So many have room. More there are not, whatever the target has written.
  const uint64_t written = ring.next.load(std::memory_order_acquire) - read_;
  const uint64_t end = read_ + std::min<uint64_t>(written, shared::kMaxEndedThreads);
  for (; read_ < end; ++read_) {
    const shared::EndedThread& ended = ring.threads[read_ % shared::kMaxEndedThreads];
    if (ended.written.load(std::memory_order_acquire) == read_ + 1) {
      Keep(Describe(control_, ended));
    } else if (!GiveUp(MonotonicNowNs())) {
      break;
    }
    stuck_since_ns_ = 0;
  }
  ring.read.store(read_, std::memory_order_release);
}

std::vector<ThreadUse> ThreadWatch::Threads() {
  std::vector<ThreadUse> running;
  ReadRunning(control_, &running);
  Poll();
  std::vector<ThreadUse> threads = alone_;
  for (const auto& [name, thread] : by_name_) threads.push_back(thread);
  // One that has ended meanwhile is there already.
  std::set<std::tuple<int32_t, int32_t, uint64_t>> ended;
  for (const ThreadUse& thread : threads) ended.emplace(thread.pid, thread.tid, thread.start_ns);
  for (ThreadUse& thread : running) {
    if (ended.count({thread.pid, thread.tid, thread.start_ns}) == 0) {
      threads.push_back(std::move(thread));
    }
  }
  AddLost(control_.ended_threads, &threads);
  return threads;
}

}  // namespace coz::supervisor
