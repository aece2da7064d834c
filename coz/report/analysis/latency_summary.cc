#include "coz/report/analysis/latency_summary.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <utility>

#include "absl/strings/str_format.h"

namespace coz::report {
namespace {

constexpr double kNsPerSecond = 1e9;
// A backlog that grows by this share of arrivals is not due to where experiments begin and end.
constexpr double kUnstableShare = 0.03;
// Whether a request is under way where an experiment begins, and where it ends, is chance: a visit
// of difference in each. The sum may be so many of its standard errors.
constexpr double kChanceErrors = 3;

// Departures beyond arrivals by this share of them, and beyond what was under way, end no request.
constexpr double kMostExtraEnds = 0.03;
// Requests that end take no more than their 99th percentile, but for one in a hundred.
constexpr double kFarBeyondP99 = 2;
// Of the mean number under way: as many may have been so when a backlog began to shrink.
constexpr double kMostBacklog = 4;
// With fewer departures an arrival, the end is not on the way of most requests.
constexpr double kFewestEnds = 0.1;
// Fewer visits tell nothing.
constexpr double kVisitsThatTell = 20;

struct Bucket {
  uint64_t to_ns = 0;
  uint64_t requests = 0;
};

// Within a bucket requests are taken to be spread evenly.
double Quantile(const std::map<uint64_t, Bucket>& buckets, uint64_t all, double share) {
  if (all == 0) return std::numeric_limits<double>::quiet_NaN();
  const double wanted = share * static_cast<double>(all);
  double passed = 0;
  double last = 0;
  for (const auto& [from_ns, bucket] : buckets) {
    const auto requests = static_cast<double>(bucket.requests);
    const auto from = static_cast<double>(from_ns);
    last = static_cast<double>(bucket.to_ns);
    if (passed + requests >= wanted) return from + (last - from) * (wanted - passed) / requests;
    passed += requests;
  }
  return last;
}

constexpr double kLookNs = 2e6;  // SchedulerOptions::latency_look_ns

class LatencySums {
 public:
  void Add(const ExperimentRow& row, const PointSeen& seen) {
    if (seen.latency == nullptr) return;
    const profile::PointCounts& counts = *seen.latency;
    const auto effective_ns = static_cast<double>(row.effective_duration_ns);
    AddBalance(counts);
    duration_ns_ += effective_ns;
    in_flight_ns_ += effective_ns * counts.in_flight_average();
    by_looks_ |= !counts.in_flight_by_times() && counts.arrivals() + counts.departures() != 0;
    evened_out_ |= counts.in_flight_evened_out();
    const int listed = std::min({counts.latency_requests_size(), counts.latency_from_ns_size(),
                                 counts.latency_to_ns_size()});
    for (int i = 0; i < listed; ++i) {
      Bucket& bucket = buckets_[counts.latency_from_ns(i)];
      bucket.to_ns = counts.latency_to_ns(i);
      bucket.requests += counts.latency_requests(i);
      requests_ += counts.latency_requests(i);
    }
  }

  LatencySummary Summary() const {
    LatencySummary summary;
    const double none = std::numeric_limits<double>::quiet_NaN();
    const double visits = balance_.arrivals + balance_.departures;
    const double finished = visits / 2;
    summary.mean_ns = finished > 0 ? in_flight_ns_ / finished : none;
    summary.median_ns = Quantile(buckets_, requests_, 0.5);
    summary.p99_ns = Quantile(buckets_, requests_, 0.99);
    summary.arrivals_per_second = PerSecond(balance_.arrivals);
    summary.departures_per_second = PerSecond(balance_.departures);
    summary.arrivals = balance_.arrivals;
    summary.departures = balance_.departures;
    summary.experiments = balance_.experiments;
    summary.in_flight = duration_ns_ > 0 ? in_flight_ns_ / duration_ns_ : none;
    summary.balance = balance_;
    summary.by_looks = by_looks_;
    summary.evened_out = evened_out_;
    // One arrival or departure has a variance of a 12th of the squared time between two looks.
    summary.looks_error = in_flight_ns_ > 0 ? kLookNs * std::sqrt(visits / 12) / in_flight_ns_ : 0;
    return summary;
  }

 private:
  void AddBalance(const profile::PointCounts& counts) {
    balance_.arrivals += static_cast<double>(counts.arrivals());
    balance_.departures += static_cast<double>(counts.departures());
    balance_.most_in_flight = std::max(balance_.most_in_flight, counts.in_flight_average());
    ++balance_.experiments;
    if (counts.arrivals() > counts.departures()) ++balance_.with_more_arrivals;
    if (counts.departures() > counts.arrivals()) ++balance_.with_more_departures;
  }

  double PerSecond(double visits) const {
    if (!(duration_ns_ > 0)) return std::numeric_limits<double>::quiet_NaN();
    return visits / duration_ns_ * kNsPerSecond;
  }

  bool by_looks_ = false;
  bool evened_out_ = false;
  double duration_ns_ = 0;
  double in_flight_ns_ = 0;
  RequestBalance balance_;
  uint64_t requests_ = 0;
  std::map<uint64_t, Bucket> buckets_;
};

template <typename Visit>
void ForEachSeen(const ExperimentTable& table, size_t point, Visit visit) {
  for (const ExperimentRow& row : table.experiments) {
    for (const PointSeen& seen : row.points) {
      if (seen.point == point) visit(row, seen);
    }
  }
}

std::pair<size_t, int64_t> KeyOf(size_t unit, double virtual_speedup) {
  return {unit, std::llround(virtual_speedup * 1000)};
}

}  // namespace

LatencySummary SummarizeLatency(const ExperimentTable& table, size_t point) {
  LatencySums sums;
  LatencySums all;
  ForEachSeen(table, point, [&](const ExperimentRow& row, const PointSeen& seen) {
    all.Add(row, seen);
    if (row.virtual_speedup == 0) sums.Add(row, seen);
  });
  LatencySummary summary = sums.Summary();
  summary.has_baseline = std::isfinite(summary.mean_ns);
  const LatencySummary of_all = all.Summary();
  summary.evened_out = of_all.evened_out;
  summary.balance = of_all.balance;
  return summary.has_baseline ? summary : of_all;
}

LatencyBySpeedup::LatencyBySpeedup(const ExperimentTable& table, size_t point) {
  std::map<std::pair<size_t, int64_t>, LatencySums> sums;
  ForEachSeen(table, point, [&](const ExperimentRow& row, const PointSeen& seen) {
    sums[KeyOf(row.unit, row.virtual_speedup)].Add(row, seen);
  });
  for (const auto& [key, sum] : sums) summaries_[key] = sum.Summary();
}

LatencySummary LatencyBySpeedup::Of(size_t unit, double virtual_speedup) const {
  const auto found = summaries_.find(KeyOf(unit, virtual_speedup));
  return found == summaries_.end() ? LatencySums().Summary() : found->second;
}

namespace {

// "0.5 %", "12 %"; from a whole on the figure tells nothing.
std::string ErrorText(double share) {
  if (!(share <= 1)) return "more than 100 %";
  const double percent = 100 * share;
  return share < 0.1 ? absl::StrFormat("%.2g %%", percent) : absl::StrFormat("%.0f %%", percent);
}

}  // namespace

std::string ErrorOfLooks(const LatencySummary& summary) {
  if (!summary.by_looks || !MismatchOf(summary).empty()) return "";
  return absl::StrFormat(
      "how many are under way was looked at every 2 ms, so the mean is uncertain by %s%s; "
      "COZ_BEGIN and COZ_END of our coz.h make it exact",
      ErrorText(summary.looks_error),
      summary.evened_out
          ? ", and effects on requests shorter than some milliseconds come out too small"
          : "");
}

namespace {

// A backlog that shrinks does so in few experiments.
bool EndsTooMany(const RequestBalance& balance) {
  const double extra = balance.departures - balance.arrivals;
  return balance.departures > kVisitsThatTell && extra > kMostExtraEnds * balance.arrivals &&
         extra > kMostBacklog * balance.most_in_flight + kVisitsThatTell &&
         2 * balance.with_more_departures > balance.experiments;
}

bool SomeNeverEnd(const LatencySummary& summary) {
  const RequestBalance& balance = summary.balance;
  return balance.arrivals - balance.departures > kVisitsThatTell &&
         2 * balance.with_more_arrivals > balance.experiments &&
         summary.mean_ns > kFarBeyondP99 * summary.p99_ns;  // not of NaN
}

}  // namespace

bool IsUnstable(const LatencySummary& summary) {
  const double backlog = summary.arrivals - summary.departures;
  return backlog > kUnstableShare * summary.arrivals &&
         backlog > kChanceErrors * std::sqrt(2 * static_cast<double>(summary.experiments));
}

std::string MismatchOf(const LatencySummary& summary) {
  const RequestBalance& balance = summary.balance;
  if (EndsTooMany(balance)) {
    return absl::StrFormat(
        "begin and end do not match: %.0f requests ended though only %.0f began, so the latency "
        "says nothing; name an END that each request passes once, behind BEGIN",
        balance.departures, balance.arrivals);
  }
  if (balance.arrivals > kVisitsThatTell && balance.departures < kFewestEnds * balance.arrivals) {
    return absl::StrFormat(
        "begin and end do not match: %.0f requests began and only %.0f ended, so the latency says "
        "nothing; name an END that each request passes once, behind BEGIN",
        balance.arrivals, balance.departures);
  }
  if (SomeNeverEnd(summary)) {
    return absl::StrFormat(
        "begin and end do not match: %.0f requests began and %.0f ended, and the average is far "
        "beyond the p99 of those that ended, so it says nothing; put an END on each way out of a "
        "request, as behind an error",
        balance.arrivals, balance.departures);
  }
  return "";
}

}  // namespace coz::report
