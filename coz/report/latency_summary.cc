#include "coz/report/latency_summary.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <map>

namespace coz {
namespace {

constexpr double kNsPerSecond = 1e9;
// A backlog that grows by this share of what comes is no accident of where experiments begin and end.
constexpr double kUnstableShare = 0.03;

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

}  // namespace

LatencySummary SummarizeLatency(const ExperimentTable& table, size_t point,
                                const std::function<bool(const ExperimentRow&)>& wanted) {
  double duration_ns = 0;
  double in_flight_ns = 0;
  double arrivals = 0;
  double departures = 0;
  uint64_t requests = 0;
  std::map<uint64_t, Bucket> buckets;
  for (const ExperimentRow& row : table.experiments) {
    if (!wanted(row)) continue;
    for (const PointSeen& seen : row.points) {
      if (seen.point != point) continue;
      const profile::PointCounts& counts = row.record->point(static_cast<int>(seen.record_index));
      const auto effective_ns = static_cast<double>(row.record->effective_duration_ns());
      duration_ns += effective_ns;
      in_flight_ns += effective_ns * counts.in_flight_average();
      arrivals += static_cast<double>(counts.arrivals());
      departures += static_cast<double>(counts.departures());
      for (int i = 0; i < counts.latency_requests_size() && i < counts.latency_from_ns_size() &&
                      i < counts.latency_to_ns_size();
           ++i) {
        Bucket& bucket = buckets[counts.latency_from_ns(i)];
        bucket.to_ns = counts.latency_to_ns(i);
        bucket.requests += counts.latency_requests(i);
        requests += counts.latency_requests(i);
      }
    }
  }
  LatencySummary summary;
  const double none = std::numeric_limits<double>::quiet_NaN();
  const double finished = (arrivals + departures) / 2;
  summary.mean_ns = finished > 0 ? in_flight_ns / finished : none;
  summary.median_ns = Quantile(buckets, requests, 0.5);
  summary.p99_ns = Quantile(buckets, requests, 0.99);
  summary.arrivals_per_second = duration_ns > 0 ? arrivals / duration_ns * kNsPerSecond : none;
  summary.departures_per_second = duration_ns > 0 ? departures / duration_ns * kNsPerSecond : none;
  summary.in_flight = duration_ns > 0 ? in_flight_ns / duration_ns : none;
  return summary;
}

bool IsUnstable(const LatencySummary& summary) {
  return summary.arrivals_per_second - summary.departures_per_second >
         kUnstableShare * summary.arrivals_per_second;
}

}  // namespace coz
