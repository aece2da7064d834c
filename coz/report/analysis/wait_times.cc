#include "coz/report/analysis/wait_times.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "coz/report/analysis/session_facts.h"

namespace coz::report {
namespace {

bool AreWaitsOfAllThreads(const profile::Profile& profile) {
  return std::all_of(profile.session().begin(), profile.session().end(),
                     [](const profile::Session& session) {
                       return session.options().unit_kind() == profile::UNIT_KIND_WAIT &&
                              session.options().thread().empty();
                     });
}

}  // namespace

double WaitTimes::OthersNs() const { return std::max(0.0, lived_ns - cpu_ns - outside_ns); }

std::optional<WaitTimes> SumWaitTimes(const profile::Profile& profile,
                                      const ExperimentTable& table) {
  const bool are_all_known = profile.session_end_size() == profile.session_size();
  if (!are_all_known || !AreWaitsOfAllThreads(profile)) return std::nullopt;
  absl::flat_hash_map<uint64_t, uint64_t> run_times_ns;  // by session
  for (const profile::SessionEnd& end : profile.session_end()) {
    run_times_ns[end.session()] = end.run_time_ns();
  }
  WaitTimes times;
  for (const profile::Thread& thread : profile.thread()) {
    if (thread.threads() != 1) return std::nullopt;
    const uint64_t end_ns = thread.end_ns() != 0 ? thread.end_ns() : run_times_ns[thread.session()];
    times.lived_ns += static_cast<double>(end_ns - std::min(end_ns, thread.start_ns()));
    times.cpu_ns += static_cast<double>(thread.cpu_ns());
  }
  if (times.lived_ns <= 0) return std::nullopt;
  times.outside_ns = static_cast<double>(table.samples) * MeanSamplingPeriodNs(profile);
  return times;
}

std::vector<OwnWaitRow> OwnWaits(const profile::Profile& profile) {
  std::map<std::tuple<std::string, uint32_t, std::string, std::string>, OwnWaitRow> rows;
  for (const profile::SessionEnd& end : profile.session_end()) {
    for (const profile::OwnWait& wait : end.own_wait()) {
      OwnWaitRow& row = rows[{wait.file(), wait.line(), wait.function(), wait.thread_group()}];
      row.call.kind = profile::UNIT_KIND_WAIT;
      row.call.file = wait.file();
      row.call.line = wait.line();
      row.call.function = wait.function();
      row.call.thread_group = wait.thread_group();
      row.waited_ns += wait.waited_ns();
    }
  }
  std::vector<OwnWaitRow> sorted;
  for (auto& [call, row] : rows) sorted.push_back(std::move(row));
  std::stable_sort(sorted.begin(), sorted.end(), [](const OwnWaitRow& a, const OwnWaitRow& b) {
    return a.waited_ns > b.waited_ns;
  });
  return sorted;
}

}  // namespace coz::report
