#include "coz/testing/whole_run.h"

#include <set>

#include "gtest/gtest.h"

namespace coz::testing {
namespace {

template <typename Add>
void ForEachRecord(const profile::Profile& profile, Add add) {
  for (const profile::Experiment& experiment : profile.experiment()) add(experiment);
  for (const profile::Experiment& control : profile.control()) add(control);
  for (const profile::SampleCounts& between : profile.sample_counts()) add(between);
  for (const profile::BareInterval& interval : profile.bare_interval()) add(interval);
}

template <typename CountOf>
uint64_t SumOf(const profile::Profile& profile, const std::string& point, CountOf count_of) {
  (void)FindPoint(profile, point);
  std::set<uint32_t> ids;  // a point that comes again has another
  for (const profile::ProgressPoint& known : profile.progress_point()) {
    if (known.name() == point) ids.insert(known.id());
  }
  uint64_t sum = 0;
  ForEachRecord(profile, [&](const auto& record) {
    for (const profile::PointCounts& counts : record.point()) {
      if (ids.count(counts.point()) != 0) sum += count_of(counts);
    }
  });
  return sum;
}

}  // namespace

const profile::ProgressPoint& FindPoint(const profile::Profile& profile, const std::string& name) {
  for (const profile::ProgressPoint& point : profile.progress_point()) {
    if (point.name() == name) return point;
  }
  ADD_FAILURE() << "no point " << name;
  return profile::ProgressPoint::default_instance();
}

uint64_t VisitsInRun(const profile::Profile& profile, const std::string& point) {
  return SumOf(profile, point, [](const profile::PointCounts& counts) {
    return counts.visits() + counts.arrivals();
  });
}

uint64_t DeparturesInRun(const profile::Profile& profile, const std::string& point) {
  return SumOf(profile, point,
               [](const profile::PointCounts& counts) { return counts.departures(); });
}

namespace {

// By the key that `key_of` gives to a unit.
template <typename Key, typename KeyOf>
std::map<Key, uint64_t> SamplesBy(const profile::Profile& profile, KeyOf key_of) {
  std::map<uint32_t, Key> keys;
  for (const profile::Unit& unit : profile.unit()) keys[unit.id()] = key_of(unit);
  std::map<Key, uint64_t> samples;
  const auto add = [&](const auto& record) {
    for (int i = 0; i < record.unit_id_size(); ++i) {
      samples[keys[record.unit_id(i)]] += record.unit_samples(i);
    }
  };
  // Bare intervals have no samples.
  for (const profile::Experiment& experiment : profile.experiment()) add(experiment);
  for (const profile::Experiment& control : profile.control()) add(control);
  for (const profile::SampleCounts& between : profile.sample_counts()) add(between);
  return samples;
}

}  // namespace

std::map<std::string, uint64_t> SamplesInRun(const profile::Profile& profile) {
  return SamplesBy<std::string>(profile, [](const profile::Unit& unit) { return unit.function(); });
}

std::map<uint32_t, uint64_t> SamplesOfLinesInRun(const profile::Profile& profile) {
  return SamplesBy<uint32_t>(profile, [](const profile::Unit& unit) { return unit.line(); });
}

}  // namespace coz::testing
