// Time, CPUs, samples and delays. The instructions are in simulator_calls.cc.
#include "coz/testing/sim/simulator.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "coz/testing/sim/simulator_state.h"

namespace coz::sim {
namespace {

constexpr uint64_t kNever = std::numeric_limits<uint64_t>::max();

// With more threads than this, an event for each sample is cheaper than to find out after each
// delay whose samples matter now.
constexpr uint32_t kCrowd = 100;

template <typename T>
std::vector<std::unique_ptr<T>> MakeObjects(size_t count) {
  std::vector<std::unique_ptr<T>> objects;
  for (size_t i = 0; i < count; ++i) objects.push_back(std::make_unique<T>());
  return objects;
}

}  // namespace

// The seam by which delay::TakeSample calls the simulator.
class Simulator::SampleSeam {
 public:
  SampleSeam(Simulator* simulator, Thread* thread, bool spins)
      : simulator_(*simulator), thread_(*thread), spins_(spins) {}

  uint64_t NowNs() const { return simulator_.now_ns_; }
  static void BeforeImposing(uint64_t) {}
  bool Spins() const { return spins_; }
  bool TakesSpinProbes() const { return thread_.takes_spin_probes; }
  bool BeginSpinProbes() {
    if (!simulator_.options_.spin_probes) return false;
    thread_.takes_spin_probes = true;
    thread_.until_spin_probe_ns = simulator_.random_.ExponentialTime(
        delay::SpinShare::kPeriodsBetweenProbes * simulator_.options_.sampling_period_ns);
    return true;
  }

 private:
  Simulator& simulator_;
  Thread& thread_;
  const bool spins_;
};

Simulator::Simulator(const Program& program, const MachineOptions& options)
    : program_(program),
      options_(options),
      random_(options.seed, kNever),
      cpus_(options.cpus, options.scheduling),
      ledger_(new delay::GlobalLedger()),
      monitors_(new delay::ReleaseTable()),
      posts_(new delay::ReleaseTable()),
      barrier_rounds_(new delay::BarrierTable()),
      mutexes_(MakeObjects<Mutex>(program.mutexes)),
      conditions_(MakeObjects<Condition>(program.conditions)),
      barriers_(MakeObjects<Barrier>(program.barriers.size())),
      semaphores_(MakeObjects<Semaphore>(program.semaphores.size())),
      rwlocks_(MakeObjects<RwLock>(program.rwlocks)),
      input_ready_(program.inputs.size()),
      input_waiters_(program.inputs.size()),
      variables_(program.variables),
      points_(program.points),
      line_cpu_ns_(program.lines),
      line_samples_(program.lines),
      all_line_samples_(program.lines) {
  for (size_t i = 0; i < barriers_.size(); ++i) {
    barriers_[i]->wanted = program.barriers[i];
    barrier_rounds_->Add(barriers_[i].get(), program.barriers[i]);
  }
  for (size_t i = 0; i < semaphores_.size(); ++i) semaphores_[i]->value = program.semaphores[i];
  for (uint32_t i = 0; i < program.inputs.size(); ++i) PushInput(i);
  for (const uint32_t code : program.threads) NewThread(code, 0);
}

Simulator::~Simulator() = default;

void Simulator::RunUntil(uint64_t time_ns) {
  Dispatch();
  while (!events_.empty() && events_.top().time_ns <= time_ns) {
    const Event event = events_.top();
    events_.pop();
    LookForCrowd(event.time_ns);
    now_ns_ = event.time_ns;
    if (event.thread == nullptr) {
      OnInput(static_cast<uint32_t>(event.generation_or_input));
    } else if (event.generation_or_input != event.thread->generation) {
      continue;
    } else if (event.thread->state == ThreadState::kRunning) {
      OnCpuEvent(*event.thread);
    } else {
      OnTimer(*event.thread);
    }
    Dispatch();
  }
  now_ns_ = std::max(now_ns_, time_ns);
}

bool Simulator::deadlocked() const {
  return program_.inputs.empty() &&
         std::all_of(threads_.begin(), threads_.end(), [](const auto& thread) {
           return thread->state == ThreadState::kDone ||
                  (thread->state == ThreadState::kWaiting && thread->waits_on == nullptr);
         });
}

Simulator::Thread& Simulator::NewThread(uint32_t code, uint64_t inherited_local_delay_ns) {
  Thread* thread = nullptr;
  if (joined_.empty()) {
    threads_.push_back(std::make_unique<Thread>(options_.seed, threads_.size()));
    threads_.back()->ledger.number = static_cast<uint32_t>(threads_.size());
    thread = threads_.back().get();
  } else {
    thread = joined_.back();
    joined_.pop_back();
  }
  thread->code = &program_.codes.at(code);
  thread->pc = thread->phase = 0;
  thread->joiner = nullptr;
  thread->children.clear();
  std::fill(std::begin(thread->locals), std::end(thread->locals), 0);
  thread->ledger.local_delay_ns.store(inherited_local_delay_ns);
  thread->ledger.stretches.Reset();
  if (options_.sampling_period_ns > 0) {
    thread->until_sample_ns = 1 + random_.Below(options_.sampling_period_ns);
  }
  ++live_threads_;
  thread->ledger.cpu_share.Reset();
  thread->is_new = true;
  thread->created_ns = now_ns_;
  MakeReady(*thread);
  return *thread;
}

void Simulator::Push(uint64_t time_ns, Thread& thread) {
  thread.event_ns = time_ns;
  events_.push({time_ns, next_event_++, &thread, ++thread.generation});
}

void Simulator::PushInput(uint32_t input) {
  const Input& source = program_.inputs[input];
  const double spread = static_cast<double>(source.spread_permille) / 1000;
  const double factor = 1 + spread * (2 * random_.Fraction() - 1);
  const uint64_t interval_ns =
      static_cast<uint64_t>(std::llround(static_cast<double>(source.interval_ns) * factor));
  events_.push({now_ns_ + std::max<uint64_t>(interval_ns, 1), next_event_++, nullptr, input});
}

void Simulator::OnInput(uint32_t input) {
  PushInput(input);
  if (input_waiters_[input].empty()) {
    ++input_ready_[input];
    return;
  }
  Thread& thread = *input_waiters_[input].front();
  input_waiters_[input].pop_front();
  Wake(thread);
}

void Simulator::MakeReady(Thread& thread) {
  const bool is_woken = thread.state != ThreadState::kRunning;
  thread.state = ThreadState::kReady;
  thread.ready_since_ns = now_ns_;
  Runnable* preempted = cpus_.Add(thread, is_woken, now_ns_);
  if (preempted != nullptr) preempted_.push_back(static_cast<Thread*>(preempted));
}

// After the step in which a wake preempted it: no thread loses its CPU in the middle of a step.
void Simulator::Preempt(Thread& thread) {
  if (thread.state != ThreadState::kRunning) return;
  if (Account(thread)) CountSamples(thread, LineOf(thread), Spins(thread), 1);
  YieldCpu(thread);
}

void Simulator::YieldCpu(Thread& thread) {
  LeaveCpu(thread, ThreadState::kRunning);
  MakeReady(thread);
}

void Simulator::Wake(Thread& thread) {
  thread.waits_on = nullptr;
  if (options_.wake_latency_ns == 0) {
    ++thread.generation;  // overtakes a time-out
    MakeReady(thread);
    return;
  }
  thread.state = ThreadState::kSleeping;
  Push(now_ns_ + random_.Below(options_.wake_latency_ns + 1), thread);
}

void Simulator::Dispatch() {
  for (;;) {
    std::vector<Thread*> preempted;
    preempted.swap(preempted_);
    for (Thread* thread : preempted) Preempt(*thread);
    Runnable* const next = cpus_.Take(now_ns_);
    if (next == nullptr) return;
    RunOnCpu(*static_cast<Thread*>(next));
  }
}

void Simulator::RunOnCpu(Thread& thread) {
  thread.state = ThreadState::kRunning;
  thread.running_since_ns = now_ns_;
  thread.queued_ns += now_ns_ - thread.ready_since_ns;
  thread.slice_left_ns = options_.time_slice_ns;
  if (thread.is_new) {
    thread.is_new = false;
    if (KnowsQueue()) {
      delay::CreditOwed(*ledger_, thread.ledger, now_ns_ - thread.created_ns);
      delay::TakeCpu(*ledger_, thread.ledger, thread.cpu, now_ns_, now_ns_ - thread.created_ns);
      delay::GoOnFromCpu(*ledger_, thread.ledger);
    }
  }
  if (thread.hold_left_ns > 0) {
    if (!KnowsQueue() || delay::HasKeptCpu(*ledger_, thread.ledger)) {
      return ScheduleCpuEvent(thread);
    }
    EndPause(thread, thread.owed_ns - std::exchange(thread.hold_left_ns, 0));
  }
  if (thread.pausing) {
    EndPause(thread, now_ns_ - thread.pause_start_ns - options_.pause_cost_ns);
    TakeCpu(thread);
  }
  Continue(thread);
}

// As the supervisor does.
void Simulator::LookForCrowd(uint64_t until_ns) {
  for (; next_crowd_look_ns_ <= until_ns; next_crowd_look_ns_ += delay::CrowdWatch::kLookNs) {
    const auto sleeps_to_pay = [](const std::unique_ptr<Thread>& thread) {
      return thread->state == ThreadState::kPausing && !thread->pause_is_wait;
    };
    const auto pausing = std::count_if(threads_.begin(), threads_.end(), sleeps_to_pay);
    const bool is_crowd =
        crowd_.Look(static_cast<int>(live_threads_),
                    static_cast<int>(cpus_.running() + cpus_.queued()) + static_cast<int>(pausing),
                    static_cast<int>(options_.cpus));
    ledger_->cpus_of_crowd = is_crowd ? options_.cpus : 0;
  }
}

bool Simulator::KnowsQueue() const {
  return options_.credit_queued && delay::MayBeCrowded(*ledger_);
}

uint64_t Simulator::LookAtQueue(Thread& thread) {
  if (!KnowsQueue()) return 0;
  return delay::LookAtQueueInStretch(*ledger_, thread.ledger, {now_ns_, thread.queued_ns});
}

void Simulator::GoOnHere(Thread& thread) {
  if (!KnowsQueue()) return;
  LookAtQueue(thread);
  delay::GoOnHere(*ledger_, thread.ledger, thread.cpu, now_ns_);
}

uint64_t Simulator::TakeCpu(Thread& thread) {
  if (!KnowsQueue()) return 0;
  const uint64_t queued_ns = LookAtQueue(thread);
  delay::TakeCpu(*ledger_, thread.ledger, thread.cpu, now_ns_, queued_ns);
  return queued_ns;
}

void Simulator::EndPause(Thread& thread, uint64_t paused_ns) {
  thread.pausing = false;
  delay::RecordPause(thread.ledger, thread.owed_ns, paused_ns);
  delay::ResumeStretch(thread.ledger, now_ns_);
}

void Simulator::LeaveCpu(Thread& thread, ThreadState state) {
  cpus_.Leave(thread, now_ns_);
  ++thread.generation;
  thread.state = state;
}

void Simulator::ScheduleCpuEvent(Thread& thread) {
  uint64_t left_ns = thread.work_left_ns > 0 ? thread.work_left_ns : kNever;
  if (thread.hold_left_ns > 0) {
    left_ns = thread.hold_left_ns;
  } else if (SampleMatters(thread)) {
    left_ns = std::min(left_ns, thread.until_sample_ns);
  } else if (!thread.without_sample_event && options_.sampling_period_ns > 0) {
    thread.without_sample_event = true;
    without_sample_event_.push_back(&thread);
  }
  if (live_threads_ > options_.cpus) left_ns = std::min(left_ns, thread.slice_left_ns);
  ++thread.generation;
  if (left_ns != kNever) Push(now_ns_ + left_ns, thread);
}

uint32_t Simulator::LineOf(const Thread& thread) const { return (*thread.code)[thread.pc].a; }

bool Simulator::IsGiven(uint32_t line) const {
  return selected_ && options_.given_by > 0 && line == options_.given_line;
}

delay::SampledUnit Simulator::UnitOf(uint32_t line) const {
  if (selected_ && (line == selected_line_ || delay::DelaysEverybody(*ledger_))) {
    return delay::SampledUnit::kSelected;
  }
  return IsGiven(line) ? delay::SampledUnit::kGiven : delay::SampledUnit::kOther;
}

bool Simulator::SampleMatters(const Thread& thread) const {
  if (options_.sampling_period_ns == 0) return false;
  // With that many threads delays are imposed so often that every sample may find one.
  if (selected_ && live_threads_ > kCrowd) return true;
  const uint32_t line = LineOf(thread);
  return UnitOf(line) != delay::SampledUnit::kOther || delay::IsBehind(*ledger_, thread.ledger) ||
         delay::Accrues(thread.ledger);
}

void Simulator::ReviewSchedules() {
  std::vector<Thread*> threads;
  threads.swap(without_sample_event_);
  for (Thread* thread : threads) thread->without_sample_event = false;
  for (Thread* thread : threads) {
    // A thread at the end of its work or of its slice has an event at exactly this moment.
    if (thread->state != ThreadState::kRunning || thread->event_ns == now_ns_) continue;
    if (thread->hold_left_ns > 0) continue;
    if (Account(*thread)) CountSamples(*thread, LineOf(*thread), Spins(*thread), 1);
    ScheduleCpuEvent(*thread);
  }
}

bool Simulator::Account(Thread& thread) {
  const uint64_t ran_ns = now_ns_ - thread.running_since_ns;
  if (ran_ns == 0) return false;
  thread.running_since_ns = now_ns_;
  thread.slice_left_ns -= std::min(ran_ns, thread.slice_left_ns);
  if (thread.hold_left_ns > 0) {
    thread.hold_left_ns -= ran_ns;
    if (KnowsQueue()) delay::PayForCpu(*ledger_, thread.ledger, ran_ns);
    if (thread.hold_left_ns == 0) EndPause(thread, thread.owed_ns);
    return false;
  }
  if (thread.work_left_ns > 0) thread.work_left_ns -= ran_ns;
  const uint32_t line = LineOf(thread);
  line_cpu_ns_[line] += ran_ns;
  const bool spins = Spins(thread);
  if (thread.takes_spin_probes) TakeSpinProbes(thread, ran_ns, spins);
  if (ran_ns < thread.until_sample_ns || options_.sampling_period_ns == 0) {
    thread.until_sample_ns -= std::min(ran_ns, thread.until_sample_ns);
    return false;
  }
  const uint64_t past_ns = ran_ns - thread.until_sample_ns;
  const uint64_t samples = 1 + past_ns / options_.sampling_period_ns;
  if (spins) spinning_samples_ += samples;
  CountSamples(line, samples);
  thread.until_sample_ns = options_.sampling_period_ns - past_ns % options_.sampling_period_ns;
  if (past_ns == 0) return true;
  CountSamples(thread, line, spins, samples);
  return false;
}

bool Simulator::Spins(const Thread& thread) const {
  return options_.spins_are_seen && (*thread.code)[thread.pc].kind == OpKind::kSpinUntil;
}

void Simulator::CountSamples(Thread& thread, uint32_t line, bool spins, uint64_t samples) {
  SampleSeam seam(this, &thread, spins);
  thread.ledger.releases.NoteSample(1);
  for (uint64_t i = 0; i < std::min<uint64_t>(samples, 64); ++i) {
    delay::NoteSpinAtSample(thread.ledger, spins, seam);
    thread.ledger.spinning.Earn(options_.sampling_period_ns);
    if (selected_) thread.ledger.stretches.Count(UnitOf(line), selected_line_);
  }
}

void Simulator::TakeSpinProbes(Thread& thread, uint64_t ran_ns, bool spins) {
  while (thread.until_spin_probe_ns <= ran_ns) {
    ran_ns -= thread.until_spin_probe_ns;
    thread.takes_spin_probes = thread.ledger.spinning.NoteProbe(spins);
    thread.until_spin_probe_ns = random_.ExponentialTime(delay::SpinShare::kPeriodsBetweenProbes *
                                                         options_.sampling_period_ns);
  }
  thread.until_spin_probe_ns -= ran_ns;
}

void Simulator::OnCpuEvent(Thread& thread) {
  if (Account(thread)) Sample(thread);
  if (thread.state != ThreadState::kRunning) return;
  if (thread.slice_left_ns == 0) {
    if (cpus_.MustYield(thread, now_ns_)) return YieldCpu(thread);
    thread.slice_left_ns = options_.time_slice_ns;
  }
  if (thread.hold_left_ns > 0) return ScheduleCpuEvent(thread);
  Continue(thread);
}

void Simulator::OnTimer(Thread& thread) {
  if (thread.waits_on != nullptr) {  // a time-out
    if (options_.extend_timeouts && ExtendTimeout(thread)) return;
    auto& waiters = thread.waits_on->waiters;
    waiters.erase(std::find(waiters.begin(), waiters.end(), &thread));
    thread.waits_on = nullptr;
  }
  MakeReady(thread);
}

void Simulator::ImposeSum(Thread& thread, uint64_t delay_ns) {
  thread.ledger.local_delay_ns += delay_ns;
  thread.ledger.imposed_ns += delay_ns;
  ledger_->global_delay_ns += delay_ns;
}

bool Simulator::ExtendTimeout(Thread& thread) {
  const uint64_t served_ns = thread.extended_ns;
  const uint64_t inserted_ns = delay::OwedDelay(*ledger_, thread.ledger);
  if (inserted_ns > served_ns) {
    thread.extended_ns = inserted_ns;
    Push(now_ns_ + inserted_ns - served_ns, thread);
    return true;
  }
  // The time by which the wait went on counts as a pause.
  if (served_ns > 0) delay::RecordPause(thread.ledger, served_ns, served_ns);
  return false;
}

void Simulator::NoteCall(Thread& thread) {
  const void* const site = thread.code->data() + thread.pc;
  GoOnHere(thread);
  Imposing([&] {
    const auto now = [this] { return now_ns_; };
    delay::NoteCallAt(*ledger_, thread.ledger, site, now, delay::CallsThatEnd::kMany,
                      options_.spread);
  });
}

// Counts as _coz_timed_visit does.
void Simulator::CountTimed(Thread& thread, uint64_t experiment::PointCounts::*visits,
                           uint64_t experiment::PointCounts::*timed,
                           uint64_t experiment::PointCounts::*time_sum_ns,
                           experiment::PointCounts* counts) {
  if (delay::Accrues(thread.ledger)) {
    Imposing([&] { delay::ImposeAccrued(*ledger_, thread.ledger, now_ns_, options_.spread); });
  }
  ++(counts->*visits);
  ++(counts->*timed);
  counts->*time_sum_ns += now_ns_ - thread.ledger.local_delay_ns.load();
}

delay::SampleInput Simulator::InputOf(uint32_t line) const {
  delay::SampleInput input = {};
  input.selection = ledger_->selection.load();
  input.selected_unit = selected_line_;
  input.selected_delay_ns = delay_per_sample_ns_;
  input.unit = UnitOf(line);
  if (input.unit == delay::SampledUnit::kSelected) {
    input.delay_ns = delay_per_sample_ns_;
  } else if (input.unit == delay::SampledUnit::kGiven) {
    input.delay_ns = static_cast<uint64_t>(
        std::llround(options_.given_by * static_cast<double>(options_.sampling_period_ns)));
  }
  input.period_ns = options_.sampling_period_ns;
  input.deadline_ns = deadline_ns_;
  input.periods = 1;
  return input;
}

void Simulator::Sample(Thread& thread) {
  GoOnHere(thread);
  const delay::SampleInput input = InputOf(LineOf(thread));
  const uint64_t sum_ns = !options_.cancel_delays && now_ns_ <= deadline_ns_ ? input.delay_ns : 0;
  SampleSeam seam(this, &thread, Spins(thread));
  Imposing([&] {
    // Without cancelling, ImposeSum imposes, and nothing accrues.
    delay::SampleInput taken = input;
    if (!options_.cancel_delays) taken.unit = delay::SampledUnit::kOther;
    if (!options_.cancel_delays) taken.delay_ns = 0;
    const delay::SampleResult result =
        delay::TakeSample(*ledger_, thread.ledger, shared_delay_, taken, seam, options_.spread);
    if (sum_ns != 0) ImposeSum(thread, sum_ns);
    if (input.unit == delay::SampledUnit::kSelected) ++selected_samples_;
    if (input.unit == delay::SampledUnit::kGiven && result.imposes) {
      given_imposed_ns_ += input.delay_ns;
    }
  });
  Pay(thread);
}

bool Simulator::Pay(Thread& thread) {
  if (!thread.pays_for_wait) GoOnHere(thread);
  if (!delay::IsBehind(*ledger_, thread.ledger)) return false;
  delay::CreditSpinning(*ledger_, thread.ledger);
  const uint64_t owed_ns = delay::OwedDelay(*ledger_, thread.ledger);
  if (owed_ns == 0) return false;
  const auto by = thread.pays_for_wait ? delay::PauseBy::kSleep : delay::PauseBy::kWhatIsBest;
  if (delay::IsCarriedOn(*ledger_, thread.ledger, owed_ns, by)) return false;
  if (options_.hold_cpu_in_pauses && !thread.pays_for_wait && delay::IsCrowded(*ledger_, now_ns_)) {
    HoldCpu(thread, owed_ns);
  } else {
    Pause(thread, owed_ns);
  }
  return true;
}

void Simulator::HoldCpu(Thread& thread, uint64_t owed_ns) {
  thread.pausing = true;
  thread.ledger.stretches.Stop(now_ns_);
  thread.owed_ns = thread.hold_left_ns = owed_ns;
  ScheduleCpuEvent(thread);
}

void Simulator::Pause(Thread& thread, uint64_t owed_ns) {
  thread.pausing = true;
  thread.ledger.stretches.Stop(now_ns_);
  thread.pause_is_wait = thread.pays_for_wait;
  thread.pause_start_ns = now_ns_;
  thread.owed_ns = owed_ns;
  if (KnowsQueue()) delay::LeaveCpuWithDebt(*ledger_, thread.ledger, thread.cpu, now_ns_);
  LeaveCpu(thread, ThreadState::kPausing);
  Push(now_ns_ + owed_ns + random_.Below(options_.pause_overshoot_ns + 1) + options_.pause_cost_ns,
       thread);
}

void Simulator::PublishBeforeWake(Thread& waker, const void* object) {
  if (options_.publish_excess) delay::PublishExcess(*ledger_, waker.ledger, object);
}

void Simulator::StartWait(Thread& thread) {
  if (KnowsQueue()) {
    delay::LeaveCpu(*ledger_, thread.ledger, thread.cpu, now_ns_);
  }
  thread.wait = delay::BeginWait(thread.ledger, now_ns_);
}

void Simulator::EndWait(Thread& thread, bool by_thread, const void* object) {
  delay::ResumeStretch(thread.ledger, now_ns_);
  const uint64_t queued_ns = TakeCpu(thread);
  if (by_thread) {
    const bool has_blocked = !options_.keep_excess_without_wait || now_ns_ != thread.wait.start_ns;
    delay::EndWaitCredited(*ledger_, thread.ledger, thread.wait, now_ns_,
                           ledger_->wakes.Find(object), has_blocked);
    delay::GoOnFromCpu(*ledger_, thread.ledger);
  } else {
    delay::EndUncreditedWaitOfQueued(*ledger_, thread.ledger, thread.wait, now_ns_, queued_ns);
    thread.wait.left_ns = 0;  // a pause may follow, and this comes again
  }
}

void Simulator::DelayAll(uint64_t delay_per_sample_ns, uint64_t deadline_ns) {
  constexpr experiment::UnitId kNoLine = 0xfffffffe;
  Select(kNoLine, delay_per_sample_ns, deadline_ns);
  ledger_->delays_everybody = 1;
}

void Simulator::Select(experiment::UnitId line, uint64_t delay_per_sample_ns,
                       uint64_t deadline_ns) {
  selected_ = true;
  ledger_->delays_everybody = 0;
  ledger_->selection = (uint64_t{line} + 1) << 32 | delay_per_sample_ns;
  selected_line_ = line;
  selection_start_ns_ = now_ns_;
  selection_start_delay_ns_ = ledger_->global_delay_ns.load();
  delay_per_sample_ns_ = delay_per_sample_ns;
  ledger_->cpus.ForgetPreempted();
  deadline_ns_ = deadline_ns;
  ReviewSchedules();
}

void Simulator::CountSamples(uint32_t line, uint64_t samples) {
  total_samples_ += samples;
  line_samples_[line] += samples;
  all_line_samples_[line] += samples;
}

void Simulator::StopDelays() {
  selected_ = false;
  ledger_->selection = 0;
}

namespace {

bool MustPay(ThreadState state) {
  return state == ThreadState::kReady || state == ThreadState::kRunning ||
         state == ThreadState::kPausing;
}

}  // namespace

bool Simulator::Settled() const {
  return std::none_of(threads_.begin(), threads_.end(), [this](const auto& thread) {
    return MustPay(thread->state) && thread->ledger.blocked.load() == 0 &&
           delay::IsBehind(*ledger_, thread->ledger);
  });
}

experiment::TargetSnapshot Simulator::Snapshot() const {
  experiment::TargetSnapshot snapshot;
  snapshot.now_ns = now_ns_;
  snapshot.global_delay_ns = ledger_->global_delay_ns.load();
  snapshot.selected_wait_ns = selected_wait_ns_;
  snapshot.selected_samples = selected_samples_;
  if (selected_wait_ns_ != 0) {
    snapshot.selected_samples += selected_wait_ns_ / options_.sampling_period_ns;
  }
  snapshot.total_samples = total_samples_;
  snapshot.spinning_samples = spinning_samples_;
  for (const auto& thread : threads_) {
    const uint64_t local_ns = thread->ledger.local_delay_ns.load();
    const bool slept_since_it_ran = thread->ledger.blocked.load() == delay::kBlockedByClock &&
                                    local_ns > selection_start_delay_ns_ &&
                                    local_ns < snapshot.global_delay_ns;
    if (slept_since_it_ran) {
      snapshot.max_owed_asleep_ns =
          std::max(snapshot.max_owed_asleep_ns, snapshot.global_delay_ns - local_ns);
    }
    if (MustPay(thread->state) && local_ns < snapshot.global_delay_ns) {
      const uint64_t owed_ns = snapshot.global_delay_ns - local_ns;
      snapshot.owed_ns += owed_ns;
      snapshot.max_owed_ns = std::max(snapshot.max_owed_ns, owed_ns);
    }
    snapshot.paid_ns += thread->ledger.paused_ns.load();
    snapshot.credited_ns += thread->ledger.credited_ns.load();
    snapshot.imposed_ns += thread->ledger.imposed_ns.load();
  }
  snapshot.imposed_ns -= std::min(snapshot.imposed_ns, given_imposed_ns_);
  snapshot.live_threads = static_cast<int>(live_threads_);
  snapshot.runnable_threads = static_cast<int>(cpus_.running() + cpus_.queued());
  snapshot.cpus = static_cast<int>(options_.cpus);
  snapshot.points = points_;
  return snapshot;
}

std::vector<uint64_t> Simulator::TakeLineSamples() {
  std::vector<uint64_t> samples(line_samples_.size());
  samples.swap(line_samples_);
  return samples;
}

}  // namespace coz::sim
