#include "coz/supervisor/target/live_target.h"

#include <fcntl.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <iterator>

#include "absl/strings/str_format.h"
#include "coz/base/clock.h"
#include "coz/base/unique_fd.h"
#include "coz/shared/charged_pairs.h"

namespace coz::supervisor {
namespace {

constexpr size_t kRecentSamples = 4096;
// A thread may lose its CPU between taking its place in the ring and storing the sample.
constexpr uint64_t kLongestWriteNs = 500 * kNsPerMs;
// Reading a thread's state costs some microseconds, so that many are looked at at a time, this often.
constexpr uint32_t kStatesPerLook = 16;
constexpr uint64_t kStateLookNs = 20 * kNsPerMs;

// The state letter of a thread in /proc/PID/task/TID/stat, or 0 where it is gone.
char ThreadStateLetter(pid_t pid, pid_t tid) {
  const std::string path = absl::StrFormat("/proc/%d/task/%d/stat", pid, tid);
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  char text[256];
  const ssize_t length = fd.ok() ? read(fd.get(), text, sizeof(text) - 1) : -1;
  if (length <= 0) return 0;
  text[length] = '\0';
  // The name in parentheses may contain anything, even parentheses.
  const char* end_of_name = strrchr(text, ')');
  return end_of_name != nullptr && end_of_name[1] == ' ' ? end_of_name[2] : 0;
}

// ns for which the machine was suspended since boot.
uint64_t SuspendedNs() {
  timespec boot;
  clock_gettime(CLOCK_BOOTTIME, &boot);
  const uint64_t boot_ns =
      static_cast<uint64_t>(boot.tv_sec) * kNsPerSecond + static_cast<uint64_t>(boot.tv_nsec);
  const uint64_t now_ns = MonotonicNowNs();
  return boot_ns > now_ns ? boot_ns - now_ns : 0;
}

// Threads of the whole machine that are on a CPU or wait for one, without this one; 0 where it cannot be read.
int RunnableOnMachine() {
  const UniqueFd fd(open("/proc/loadavg", O_RDONLY | O_CLOEXEC));
  char text[128];
  const ssize_t length = fd.ok() ? read(fd.get(), text, sizeof(text) - 1) : -1;
  if (length <= 0) return 0;
  text[length] = '\0';
  int runnable = 0;
  return sscanf(text, "%*s %*s %*s %d", &runnable) == 1 ? std::max(0, runnable - 1) : 0;
}

template <typename Visit>
void ForEachThread(const shared::ControlBlock& control, Visit visit) {
  const uint32_t used =
      std::min(control.threads_high_water.load(std::memory_order_acquire), shared::kMaxThreads);
  for (uint32_t i = 0; i < used; ++i) visit(control.threads[i]);
}

// The threads of a process that is in an exec are about to be gone.
bool IsRunning(const shared::ControlBlock& control, const shared::ThreadSlot& slot) {
  if (slot.state.load(std::memory_order_acquire) != shared::ThreadState::kRunning) return false;
  const shared::ProcessState process =
      control.processes[slot.process % shared::kMaxProcesses].state.load(std::memory_order_relaxed);
  return process != shared::ProcessState::kChanging;
}

}  // namespace

LiveTarget::LiveTarget(shared::ControlBlock* control) : control_(*control), sampling_(control) {
  // This process's CPUs, which the target has inherited: what its threads do with them is their own affair.
  cpu_set_t cpus;
  if (sched_getaffinity(0, sizeof(cpus), &cpus) == 0) cpus_ = CPU_COUNT(&cpus);
}

void LiveTarget::Poll() {
  control_.heartbeat_ns.store(MonotonicNowNs(), std::memory_order_relaxed);
  DiscoverPoints();
  DrainRing();
}

// Whether the writer of the next sample, which has taken the index and not yet stored the sample, is to be waited for. It may have
// been killed; then it holds up those that came later.
bool LiveTarget::AwaitsSample(uint64_t written) {
  if (written - ring_read_ == 1) return true;
  const uint64_t now_ns = MonotonicNowNs();
  if (ring_stuck_ns_ == 0) ring_stuck_ns_ = now_ns;
  return now_ns < ring_stuck_ns_ + kLongestWriteNs;
}

void LiveTarget::DrainRing() {
  shared::SampleRing& ring = control_.ring;
  const uint64_t written = ring.next.load(std::memory_order_acquire);
  if (written - ring_read_ > shared::kSampleRingEntries) {
    lost_in_ring_ += written - ring_read_ - shared::kSampleRingEntries;
    ring_read_ = written - shared::kSampleRingEntries;
  }
  for (; ring_read_ < written; ++ring_read_) {
    const uint64_t entry =
        ring.entries[ring_read_ % shared::kSampleRingEntries].load(std::memory_order_acquire);
    const uint64_t lap = (ring_read_ / shared::kSampleRingEntries + 1) & 0xffffff;
    if (entry >> 40 != lap && AwaitsSample(written)) break;
    ring_stuck_ns_ = 0;
    if (entry >> 40 != lap) {
      ++lost_in_ring_;
      continue;
    }
    const uint64_t weight = (entry >> 32) & 0xff;
    const experiment::UnitId unit = static_cast<experiment::UnitId>(entry);
    total_samples_[unit] += weight;
    new_samples_[unit] += weight;
    if (unit == given_unit_) continue;
    if (recent_.size() < kRecentSamples) {
      recent_.push_back(unit);
    } else {
      recent_[recent_next_++ % kRecentSamples] = unit;
    }
  }
}

void LiveTarget::SpeedUpAlways(experiment::UnitId unit, uint64_t delay_per_sample_ns) {
  given_unit_ = unit;
  given_delay_ns_ = delay_per_sample_ns;
  control_.given.store(shared::PackSelection(unit, static_cast<uint32_t>(delay_per_sample_ns)),
                       std::memory_order_relaxed);
}

void LiveTarget::DiscoverPoints() {
  bool any_new = false;
  // Slots are taken in order, but a process may be killed while it writes one.
  for (uint32_t i = 0; i < shared::kMaxPoints; ++i) {
    const shared::PointSlot& slot = control_.points[i];
    const shared::PointState state = slot.state.load(std::memory_order_acquire);
    if (state == shared::PointState::kFree) break;
    if (state != shared::PointState::kReady || discovered_[i]) continue;
    discovered_[i] = true;
    const bool is_latency = slot.kind != shared::PointKind::kThroughput;
    uint32_t id = 0;
    while (id < points_.size() &&
           !(points_[id].is_latency == is_latency && points_[id].name == slot.name &&
             points_[id].counted_by.empty())) {
      ++id;
    }
    if (id == points_.size()) {
      points_.push_back({slot.name, is_latency, OutsideKind::kNone, "", 0, "", ""});
    }
    sources_.push_back({id, slot.kind, i});
    any_new = true;
  }
  if (any_new) ChargePairs();
}

std::optional<uint32_t> LiveTarget::SlotOf(uint32_t point, shared::PointKind kind) const {
  for (const PointSource& source : sources_) {
    if (source.point == point && source.kind == kind) return source.slot;
  }
  return std::nullopt;
}

std::optional<uint32_t> LiveTarget::SlotOfMark(const std::string& name) const {
  for (const PointSource& source : sources_) {
    if (source.kind == shared::PointKind::kThroughput &&
        control_.points[source.slot].name == name) {
      return source.slot;
    }
  }
  return std::nullopt;
}

std::optional<uint32_t> LiveTarget::ChargedEnd(uint32_t point, shared::PairEnd end) const {
  const bool is_begin = end == shared::PairEnd::kBegin;
  const std::string& mark = is_begin ? points_[point].begin_mark : points_[point].end_mark;
  if (!mark.empty()) return SlotOfMark(mark);
  if (!points_[point].counted_by.empty()) return shared::kAtPlaces;
  return SlotOf(point, is_begin ? shared::PointKind::kBegin : shared::PointKind::kEnd);
}

void LiveTarget::ChargePairs() {
  for (uint32_t id = 0; id < points_.size() && charged_.size() < shared::kMaxChargedPairs; ++id) {
    const Point& point = points_[id];
    if (!point.is_latency || std::count(charged_.begin(), charged_.end(), id) != 0) continue;
    const std::optional<uint32_t> begin = ChargedEnd(id, shared::PairEnd::kBegin);
    const std::optional<uint32_t> end = ChargedEnd(id, shared::PairEnd::kEnd);
    if (!begin.has_value() || !end.has_value()) continue;
    shared::ChargedPair& pair = control_.charged_pairs[charged_.size()];
    pair.begin = *begin;
    pair.end = *end;
    pair.point = id;
    charged_.push_back(id);
    control_.charged_pairs_used.store(static_cast<uint32_t>(charged_.size()),
                                      std::memory_order_release);
  }
}

void LiveTarget::ReadCharges(std::vector<experiment::PointCounts>* counts) const {
  for (size_t i = 0; i < charged_.size(); ++i) {
    experiment::PointCounts& point = (*counts)[charged_[i]];
    // Visits with times are not among those that are charged.
    if (point.timed_arrivals + point.timed_departures != 0) continue;
    const shared::ChargedPair& pair = control_.charged_pairs[i];
    point.charged_delay_ns = pair.delay_ns.load(std::memory_order_relaxed);
    point.charged_in_flight_ns = pair.delay_in_flight_ns.load(std::memory_order_relaxed);
  }
}

void LiveTarget::ReadLatencies() {
  latencies_.assign(points_.size(), {});
  std::vector<bool> taken(shared::kMaxTimedPoints + 1);
  for (const PointSource& source : sources_) {
    if (source.kind != shared::PointKind::kEnd) continue;
    const uint32_t cell = control_.points[source.slot].timed_cell.load(std::memory_order_relaxed);
    if (cell == 0 || cell > shared::kMaxTimedPoints || taken[cell]) continue;
    taken[cell] = true;
    const auto& buckets = control_.latencies[cell - 1].requests;
    std::vector<uint64_t>& requests = latencies_[source.point];
    requests.resize(std::size(buckets));
    for (size_t i = 0; i < requests.size(); ++i) {
      requests[i] += buckets[i].load(std::memory_order_relaxed);
    }
  }
}

LiveTarget::TimedVisits LiveTarget::ReadTimed(uint32_t slot) const {
  TimedVisits sum;
  const uint32_t cell = control_.points[slot].timed_cell.load(std::memory_order_relaxed);
  if (cell == 0 || cell > shared::kMaxTimedPoints) return sum;
  ForEachThread(control_, [&](const shared::ThreadSlot& thread) {
    const shared::TimedCell& timed = thread.timed[cell - 1];
    uint64_t visits = 0;
    uint64_t time_sum_ns = 0;
    // Not for ever: a thread may be stopped or killed between its two stores.
    for (int tries = 0; tries < 1000; ++tries) {
      const uint64_t changes = timed.changes.load(std::memory_order_acquire);
      visits = timed.visits.load(std::memory_order_relaxed);
      time_sum_ns = timed.time_sum_ns.load(std::memory_order_relaxed);
      std::atomic_thread_fence(std::memory_order_acquire);
      if (changes % 2 == 0 && timed.changes.load(std::memory_order_relaxed) == changes) break;
    }
    sum.visits += visits;
    sum.time_sum_ns += time_sum_ns;
  });
  return sum;
}

void LiveTarget::CountPoints(std::vector<experiment::PointCounts>* counts) const {
  counts->assign(points_.size(), experiment::PointCounts());
  for (const OutsideSource& source : outside_sources_) {
    experiment::PointCounts& point = (*counts)[source.point];
    if (source.departures == nullptr) {
      point.visits = source.visits_or_arrivals();
      continue;
    }
    // In this order, lest a request that ends meanwhile seem to have left before it came.
    point.departures = source.departures();
    point.arrivals = source.visits_or_arrivals();
  }
  for (const PointSource& source : sources_) {
    experiment::PointCounts& point = (*counts)[source.point];
    switch (source.kind) {
      case shared::PointKind::kThroughput:
        point.visits = shared::UntimedVisits(control_, source.slot);
        break;
      case shared::PointKind::kBegin: {
        const TimedVisits timed = ReadTimed(source.slot);
        point.timed_arrivals = timed.visits;
        point.arrival_time_sum_ns = timed.time_sum_ns;
        point.arrivals = shared::UntimedVisits(control_, source.slot) + timed.visits;
        break;
      }
      case shared::PointKind::kEnd: {
        const TimedVisits timed = ReadTimed(source.slot);
        point.timed_departures = timed.visits;
        point.departure_time_sum_ns = timed.time_sum_ns;
        point.departures = shared::UntimedVisits(control_, source.slot) + timed.visits;
        break;
      }
    }
  }
  ReadCharges(counts);
}

uint32_t LiveTarget::AddPoint(const Point& point, CountVisits visits_or_arrivals,
                              CountVisits departures) {
  const auto id = static_cast<uint32_t>(points_.size());
  outside_sources_.push_back({id, std::move(visits_or_arrivals), std::move(departures)});
  points_.push_back(point);
  ChargePairs();
  return id;
}

uint64_t LiveTarget::VisitsOfMark(const std::string& name) const {
  const std::optional<uint32_t> slot = SlotOfMark(name);
  return slot.has_value() ? shared::UntimedVisits(control_, *slot) : 0;
}

std::vector<std::string> LiveTarget::Marks() const {
  std::vector<std::string> names;
  for (const PointSource& source : sources_) {
    if (source.kind == shared::PointKind::kThroughput) {
      names.emplace_back(control_.points[source.slot].name);
    }
  }
  return names;
}

absl::flat_hash_map<experiment::UnitId, uint64_t> LiveTarget::TakeUnitSamples() {
  absl::flat_hash_map<experiment::UnitId, uint64_t> taken;
  std::swap(taken, new_samples_);
  return taken;
}

int LiveTarget::threads_started() const {
  return static_cast<int>(control_.threads_started.load(std::memory_order_relaxed));
}

uint64_t LiveTarget::NowNs() { return MonotonicNowNs(); }

void LiveTarget::Select(experiment::UnitId unit, uint64_t delay_per_sample_ns,
                        uint64_t deadline_ns) {
  // A thread pays at most for this experiment and the one before.
  const uint64_t delay_ns = control_.ledger.global_delay_ns.load(std::memory_order_relaxed);
  control_.ledger.forgiven_below_ns.store(selection_start_delay_ns_, std::memory_order_relaxed);
  selection_start_delay_ns_ = delay_ns;
  control_.selection_deadline_ns.store(deadline_ns, std::memory_order_relaxed);
  control_.ledger.selection.store(
      shared::PackSelection(unit, static_cast<uint32_t>(delay_per_sample_ns)),
      std::memory_order_release);
}

void LiveTarget::Extend(uint64_t deadline_ns) {
  control_.selection_deadline_ns.store(deadline_ns, std::memory_order_relaxed);
}

void LiveTarget::StopDelays() { control_.ledger.selection.store(0, std::memory_order_release); }

bool LiveTarget::SleepsInKernel(const shared::ThreadSlot& slot) const {
  if (slot.ledger.pausing.load(std::memory_order_relaxed) != 0) return false;
  const char state = ThreadStateLetter(slot.pid, slot.tid);
  return state != 'R';
}

LiveTarget::Debts LiveTarget::ReadDebts() const {
  Debts debts;
  const uint64_t required = control_.ledger.global_delay_ns.load(std::memory_order_acquire);
  const uint64_t floor = control_.ledger.forgiven_below_ns.load(std::memory_order_relaxed);
  ForEachThread(control_, [&](const shared::ThreadSlot& slot) {
    const uint32_t blocked = slot.ledger.blocked.load(std::memory_order_relaxed);
    if (!IsRunning(control_, slot) || blocked == delay::kBlockedByThread) return;
    const uint64_t local =
        std::max(floor, slot.ledger.local_delay_ns.load(std::memory_order_relaxed));
    if (local >= required) return;
    if (blocked == delay::kBlockedByClock) {
      const bool has_run = local > selection_start_delay_ns_;
      if (has_run) debts.max_asleep_ns = std::max(debts.max_asleep_ns, required - local);
      return;
    }
    if (SleepsInKernel(slot)) return;
    debts.sum_ns += required - local;
    debts.max_ns = std::max(debts.max_ns, required - local);
  });
  return debts;
}

bool LiveTarget::Settled() { return ReadDebts().max_ns == 0; }

void LiveTarget::CountRunnable(uint64_t now_ns) {
  if (now_ns < runnable_read_ns_ + kStateLookNs) return;
  runnable_read_ns_ = now_ns;
  std::vector<const shared::ThreadSlot*> threads;
  ForEachThread(control_, [&](const shared::ThreadSlot& slot) {
    if (IsRunning(control_, slot)) threads.push_back(&slot);
  });
  live_ = static_cast<int>(threads.size());
  const uint32_t looks = std::min<uint32_t>(kStatesPerLook, threads.size());
  uint32_t running = 0;
  for (uint32_t i = 0; i < looks; ++i) {
    const shared::ThreadSlot& slot = *threads[runnable_cursor_++ % threads.size()];
    if (ThreadStateLetter(slot.pid, slot.tid) == 'R') ++running;
  }
  const int own = looks == 0 ? 0 : static_cast<int>((running * threads.size() + looks / 2) / looks);
  // Other programs find room on the CPUs that the target may not use, and compete for the rest.
  const int others = std::max(0, RunnableOnMachine() - own);
  const int elsewhere = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)) - cpus_;
  runnable_ = own + std::max(0, others - elsewhere);
}

experiment::TargetSnapshot LiveTarget::Read() {
  Poll();
  experiment::TargetSnapshot snapshot;
  // Clock and delay first and together: everything after is a little late for all experiments alike.
  snapshot.now_ns = MonotonicNowNs();
  snapshot.global_delay_ns = control_.ledger.global_delay_ns.load(std::memory_order_acquire);
  CountPoints(&snapshot.points);
  ReadLatencies();
  const shared::SampleCounters& samples = control_.samples;
  snapshot.selected_samples = samples.selected.load(std::memory_order_relaxed);
  snapshot.unmapped_samples = samples.unmapped.load(std::memory_order_relaxed);
  snapshot.total_samples = samples.in_scope.load(std::memory_order_relaxed) +
                           samples.out_of_scope.load(std::memory_order_relaxed) +
                           snapshot.unmapped_samples;
  snapshot.spinning_samples = samples.spinning.load(std::memory_order_relaxed);
  snapshot.lost_samples = control_.dropped_samples.load(std::memory_order_relaxed) + lost_in_ring_;
  snapshot.lost_periods = control_.lost_periods.load(std::memory_order_relaxed);
  snapshot.unsampled_ns = control_.unsampled_ns.load(std::memory_order_relaxed);
  const Debts debts = ReadDebts();
  snapshot.owed_ns = debts.sum_ns;
  snapshot.max_owed_ns = debts.max_ns;
  snapshot.max_owed_asleep_ns = debts.max_asleep_ns;
  uint64_t asked_ns = 0;
  ForEachThread(control_, [&](const shared::ThreadSlot& slot) {
    snapshot.paid_ns += slot.ledger.paused_ns.load(std::memory_order_relaxed);
    snapshot.credited_ns += slot.ledger.credited_ns.load(std::memory_order_relaxed);
    snapshot.imposed_ns += slot.ledger.imposed_ns.load(std::memory_order_relaxed);
    asked_ns += slot.ledger.asked_ns.load(std::memory_order_relaxed);
  });
  // What speaks for the selected unit's speedup is its own share.
  const uint64_t given_ns = samples.given.load(std::memory_order_relaxed) * given_delay_ns_;
  snapshot.imposed_ns -= std::min(snapshot.imposed_ns, given_ns);
  snapshot.excess_ns = snapshot.paid_ns > asked_ns ? snapshot.paid_ns - asked_ns : 0;
  CountRunnable(snapshot.now_ns);
  snapshot.live_threads = live_;
  snapshot.runnable_threads = runnable_;
  snapshot.interruptions = stops_ + SuspendedNs() / kNsPerMs;
  snapshot.cpus = cpus_;
  last_read_ = snapshot;
  return snapshot;
}

std::optional<experiment::UnitId> LiveTarget::RandomSampledUnit(Random& random) {
  DrainRing();
  if (recent_.empty()) return std::nullopt;
  const experiment::UnitId unit = recent_[random.Below(recent_.size())];
  recent_.clear();
  recent_next_ = 0;
  return unit;
}

}  // namespace coz::supervisor
