#include "coz/report/analysis/thread_table.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

namespace coz::report {
namespace {

// The sum's name, session and so on are the caller's.
void Add(const ThreadRow& row, ThreadRow* sum) {
  const bool is_first = sum->threads == 0;
  const bool one_runs_on = row.end_ns == 0 || (!is_first && sum->end_ns == 0);
  sum->threads += row.threads;
  sum->start_ns = is_first ? row.start_ns : std::min(sum->start_ns, row.start_ns);
  sum->end_ns = one_runs_on ? 0 : std::max(sum->end_ns, row.end_ns);
  sum->samples += row.samples;
  sum->samples_in_scope += row.samples_in_scope;
  sum->cpu_ns += row.cpu_ns;
  sum->visits.resize(std::max(sum->visits.size(), row.visits.size()));
  for (size_t i = 0; i < row.visits.size(); ++i) sum->visits[i] += row.visits[i];
  sum->times.resize(std::max(sum->times.size(), row.times.size()));
  for (size_t i = 0; i < row.times.size(); ++i) {
    sum->times[i].calls += row.times[i].calls;
    sum->times[i].wall_ns += row.times[i].wall_ns;
    sum->times[i].cpu_ns += row.times[i].cpu_ns;
  }
}

bool HasMore(const ThreadRow& a, const ThreadRow& b) {
  return std::make_tuple(b.samples, b.visits, b.cpu_ns, a.name, a.session, a.start_ns, a.tid) <
         std::make_tuple(a.samples, a.visits, a.cpu_ns, b.name, b.session, b.start_ns, b.tid);
}

class Builder {
 public:
  explicit Builder(const profile::Profile& profile) {
    for (const profile::Session& session : profile.session()) {
      sessions_.emplace(session.id(), sessions_.size());
    }
    for (const profile::ThreadCounter& counter : profile.thread_counter()) {
      // Of one name in several sessions, or pairs of it: one column.
      const auto known = by_name_.emplace(counter.name(), by_name_.size()).first;
      counters_[{counter.session(), counter.id()}] = known->second;
      timing_.resize(by_name_.size());
      timing_[known->second].is_timed |= counter.timed();
      timing_[known->second].ends_in_jump |= counter.ends_in_jump();
    }
    for (const profile::Thread& thread : profile.thread()) AddThread(thread);
  }

  ThreadTable Finish() {
    ThreadTable table;
    table.total.visits.resize(by_name_.size());
    table.total.times.resize(by_name_.size());
    for (auto& [name, group] : groups_) {
      for (const ThreadRow& row : group.threads) Add(row, &group.sum);
      Add(group.sum, &table.total);
    }
    const std::vector<size_t> order = CounterOrder(table.total);
    std::vector<std::string> names(by_name_.size());
    for (const auto& [name, number] : by_name_) names[number] = name;
    for (const size_t counter : order) {
      table.counters.push_back(names[counter]);
      table.timing.push_back(timing_[counter]);
      table.timing.back().is_timed |= table.total.times[counter].calls != 0;
    }
    Reorder(order, &table.total);
    for (auto& [name, group] : groups_) {
      Reorder(order, &group.sum);
      for (ThreadRow& row : group.threads) Reorder(order, &row);
      std::sort(group.threads.begin(), group.threads.end(), HasMore);
      table.groups.push_back(std::move(group));
    }
    std::sort(table.groups.begin(), table.groups.end(),
              [](const ThreadGroup& a, const ThreadGroup& b) { return HasMore(a.sum, b.sum); });
    return table;
  }

 private:
  void AddThread(const profile::Thread& thread) {
    ThreadGroup& group = groups_[thread.name()];
    ThreadRow row;
    row.name = thread.name();
    const auto session = sessions_.find(thread.session());
    row.session = session == sessions_.end() ? 0 : session->second;
    row.pid = thread.pid();
    row.tid = thread.tid();
    row.threads = std::max<uint64_t>(1, thread.threads());
    row.start_ns = thread.start_ns();
    row.end_ns = thread.end_ns();
    row.samples = thread.samples();
    row.samples_in_scope = thread.samples_in_scope();
    row.cpu_ns = thread.cpu_ns();
    row.left_out = thread.left_out();
    row.visits.resize(by_name_.size());
    row.times.resize(by_name_.size());
    AddTimes(thread, &row);
    for (int i = 0; i < std::min(thread.counter_size(), thread.visits_size()); ++i) {
      const auto counter = counters_.find({thread.session(), thread.counter(i)});
      if (counter != counters_.end()) row.visits[counter->second] += thread.visits(i);
    }
    if (group.threads.empty()) {
      group.sum.name = row.name;
      group.sum.session = row.session;
      group.sum.left_out = row.left_out;
      group.sum.visits.resize(by_name_.size());
      group.sum.times.resize(by_name_.size());
    }
    group.threads.push_back(std::move(row));
  }

  void AddTimes(const profile::Thread& thread, ThreadRow* row) const {
    const int timed = std::min({thread.timed_counter_size(), thread.timed_calls_size(),
                                thread.timed_wall_ns_size(), thread.timed_cpu_ns_size()});
    for (int i = 0; i < timed; ++i) {
      const auto counter = counters_.find({thread.session(), thread.timed_counter(i)});
      if (counter == counters_.end()) continue;
      CallTimes& times = row->times[counter->second];
      times.calls += thread.timed_calls(i);
      times.wall_ns += thread.timed_wall_ns(i);
      times.cpu_ns += thread.timed_cpu_ns(i);
    }
  }

  // Those without visits are left out.
  static std::vector<size_t> CounterOrder(const ThreadRow& total) {
    std::vector<size_t> order(total.visits.size());
    std::iota(order.begin(), order.end(), size_t{0});
    order.erase(std::remove_if(order.begin(), order.end(),
                               [&total](size_t i) { return total.visits[i] == 0; }),
                order.end());
    std::stable_sort(order.begin(), order.end(),
                     [&total](size_t a, size_t b) { return total.visits[a] > total.visits[b]; });
    return order;
  }

  static void Reorder(const std::vector<size_t>& order, ThreadRow* row) {
    std::vector<uint64_t> visits;
    std::vector<CallTimes> times;
    visits.reserve(order.size());
    times.reserve(order.size());
    for (const size_t counter : order) {
      visits.push_back(row->visits[counter]);
      times.push_back(row->times[counter]);
    }
    row->visits = std::move(visits);
    row->times = std::move(times);
  }

  std::map<uint64_t, size_t> sessions_;
  std::map<std::string, size_t> by_name_;  // counters
  std::vector<CounterTiming> timing_;      // by that number
  std::map<std::pair<uint64_t, uint32_t>, size_t> counters_;
  std::map<std::string, ThreadGroup> groups_;
};

}  // namespace

ThreadTable BuildThreadTable(const profile::Profile& profile) { return Builder(profile).Finish(); }

}  // namespace coz::report
