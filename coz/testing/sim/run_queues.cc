#include "coz/testing/sim/run_queues.h"

#include <algorithm>

namespace coz::sim {
namespace {

bool IsBefore(const Runnable* a, const Runnable* b) {
  return a->virtual_run_ns < b->virtual_run_ns;
}

// Of a thread that has a CPU.
uint64_t VirtualRunAt(const Runnable& running, uint64_t now_ns) {
  return running.virtual_run_ns + (now_ns - running.on_cpu_since_ns);
}

}  // namespace

RunQueues::RunQueues(uint32_t cpus, Scheduling scheduling) : scheduling_(scheduling), cpus_(cpus) {
  for (uint32_t cpu = cpus; cpu > 0; --cpu) idle_.push_back(cpu - 1);
}

Runnable* RunQueues::Add(Runnable& thread, bool is_woken, uint64_t now_ns) {
  if (scheduling_ == Scheduling::kFifo) {
    fifo_.push_back(&thread);
    return nullptr;
  }
  if (is_woken) MoveTo(thread, ChooseCpu(thread));
  Cpu& cpu = cpus_[thread.cpu];
  Advance(cpu, now_ns);
  // A sleeper gets no credit for its sleep.
  thread.virtual_run_ns = std::max(thread.virtual_run_ns, cpu.least_virtual_run_ns);
  cpu.queue.push_back(&thread);
  Runnable* const running = cpu.running;
  const bool preempts = is_woken && running != nullptr &&
                        now_ns - running->on_cpu_since_ns >= kProtectedNs &&
                        thread.virtual_run_ns < VirtualRunAt(*running, now_ns);
  return preempts ? running : nullptr;
}

uint32_t RunQueues::ChooseCpu(const Runnable& thread) const {
  if (cpus_[thread.cpu].load() == 0) return thread.cpu;
  uint32_t best = thread.cpu;
  for (uint32_t cpu = 0; cpu < cpus_.size(); ++cpu) {
    if (cpus_[cpu].load() < cpus_[best].load()) best = cpu;
  }
  return best;
}

void RunQueues::MoveTo(Runnable& thread, uint32_t cpu) {
  if (cpu == thread.cpu) return;
  const uint64_t from_ns = cpus_[thread.cpu].least_virtual_run_ns;
  const uint64_t ahead_ns = thread.virtual_run_ns > from_ns ? thread.virtual_run_ns - from_ns : 0;
  thread.virtual_run_ns = cpus_[cpu].least_virtual_run_ns + ahead_ns;
  thread.cpu = cpu;
}

Runnable* RunQueues::Take(uint64_t now_ns) {
  if (scheduling_ == Scheduling::kFair) return TakeFair(now_ns);
  if (idle_.empty() || fifo_.empty()) return nullptr;
  Runnable* const thread = fifo_.front();
  fifo_.pop_front();
  thread->cpu = idle_.back();
  idle_.pop_back();
  return thread;
}

Runnable* RunQueues::TakeFair(uint64_t now_ns) {
  const auto is_idle = [](const Cpu& cpu) { return cpu.running == nullptr; };
  const auto is_shorter = [](const Cpu& a, const Cpu& b) {
    return a.queue.size() < b.queue.size();
  };
  // Threads of its own first: nobody takes what an idle CPU has.
  auto cpu = std::find_if(cpus_.begin(), cpus_.end(),
                          [&](const Cpu& c) { return is_idle(c) && !c.queue.empty(); });
  auto from = cpu;
  if (cpu == cpus_.end()) {
    cpu = std::find_if(cpus_.begin(), cpus_.end(), is_idle);
    if (cpu == cpus_.end()) return nullptr;
    from = std::max_element(cpus_.begin(), cpus_.end(), is_shorter);
    if (from->queue.empty()) return nullptr;
  }
  Runnable* const thread = TakeFrom(*from);
  MoveTo(*thread, static_cast<uint32_t>(cpu - cpus_.begin()));
  thread->on_cpu_since_ns = now_ns;
  cpu->running = thread;
  return thread;
}

Runnable* RunQueues::TakeFrom(Cpu& cpu) {
  // The first of equals, so that threads take turns.
  const auto next = std::min_element(cpu.queue.begin(), cpu.queue.end(), IsBefore);
  Runnable* const thread = *next;
  cpu.queue.erase(next);
  return thread;
}

void RunQueues::Leave(Runnable& thread, uint64_t now_ns) {
  if (scheduling_ == Scheduling::kFifo) {
    idle_.push_back(thread.cpu);
    return;
  }
  Cpu& cpu = cpus_[thread.cpu];
  Advance(cpu, now_ns);
  thread.virtual_run_ns = VirtualRunAt(thread, now_ns);
  cpu.running = nullptr;
}

void RunQueues::Advance(Cpu& cpu, uint64_t now_ns) {
  if (cpu.load() == 0) return;
  uint64_t least_ns = cpu.running != nullptr ? VirtualRunAt(*cpu.running, now_ns) : ~uint64_t{0};
  for (const Runnable* queued : cpu.queue) least_ns = std::min(least_ns, queued->virtual_run_ns);
  cpu.least_virtual_run_ns = std::max(cpu.least_virtual_run_ns, least_ns);
}

bool RunQueues::MustYield(const Runnable& thread, uint64_t now_ns) const {
  if (scheduling_ == Scheduling::kFifo) return !fifo_.empty();
  const std::vector<Runnable*>& queue = cpus_[thread.cpu].queue;
  return std::any_of(queue.begin(), queue.end(), [&](const Runnable* queued) {
    return queued->virtual_run_ns < VirtualRunAt(thread, now_ns);
  });
}

uint32_t RunQueues::running() const {
  if (scheduling_ == Scheduling::kFifo) return static_cast<uint32_t>(cpus_.size() - idle_.size());
  return static_cast<uint32_t>(std::count_if(
      cpus_.begin(), cpus_.end(), [](const Cpu& cpu) { return cpu.running != nullptr; }));
}

uint32_t RunQueues::queued() const {
  size_t queued = fifo_.size();
  for (const Cpu& cpu : cpus_) queued += cpu.queue.size();
  return static_cast<uint32_t>(queued);
}

}  // namespace coz::sim
