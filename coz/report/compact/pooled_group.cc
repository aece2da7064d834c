#include "coz/report/compact/pooled_group.h"

#include <algorithm>

#include "coz/report/compact/pooled_sums.h"

namespace coz::report {
namespace {

// By number, the id in the output.
template <typename Record>
std::vector<uint32_t> Order(const Names<Record>& names) {
  std::vector<std::pair<std::string, uint32_t>> sorted(names.numbers.begin(), names.numbers.end());
  std::sort(sorted.begin(), sorted.end());
  std::vector<uint32_t> ids(sorted.size());
  for (uint32_t i = 0; i < sorted.size(); ++i) ids[sorted[i].second] = i + 1;
  return ids;
}

}  // namespace

uint64_t Hash(absl::string_view bytes, uint64_t hash) {
  for (const char c : bytes) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3u;
  // FNV's high bits are poor; this is the finalizer of MurmurHash3.
  hash = (hash ^ (hash >> 33)) * 0xff51afd7ed558ccdu;
  hash = (hash ^ (hash >> 33)) * 0xc4ceb9fe1a85ec53u;
  return hash ^ (hash >> 33);
}

uint64_t Hash(uint64_t value, uint64_t hash) {
  return Hash({reinterpret_cast<const char*>(&value), sizeof(value)}, hash);
}

uint64_t Prefix(uint64_t hash, uint32_t bits) {
  const uint64_t kept = bits == 0 ? 0 : hash >> (64 - bits) << (64 - bits);
  return kept | 1;
}

void Combine(const PooledExperiment& one, PooledExperiment* sum) {
  if (sum->sum.pooled() == 0) {
    *sum = one;
    return;
  }
  AddFigures(one.sum, &sum->sum);
  for (const auto& [unit, samples] : one.samples) sum->samples[unit] += samples;
  for (const auto& [point, counts] : one.points) {
    const auto [found, is_new] = sum->points.try_emplace(point);
    profile::PointCounts& all = found->second;
    const double before = is_new ? counts.in_flight_average() : all.in_flight_average();
    const double share =
        static_cast<double>(one.sum.effective_duration_ns()) /
        static_cast<double>(std::max<uint64_t>(1, sum->sum.effective_duration_ns()));
    AddCounts(counts, counts.pooled_time_ns(), &all);
    all.set_in_flight_average(before + share * (counts.in_flight_average() - before));
  }
}

void Combine(const PooledBare& one, PooledBare* sum) {
  AddFigures(one.sum, &sum->sum);
  for (const auto& [point, counts] : one.points) {
    AddCounts(counts, counts.pooled_time_ns(), &sum->points[point]);
  }
}

void AddOwnWaits(const profile::SessionEnd& end, Group* group) {
  for (const profile::OwnWait& wait : end.own_wait()) {
    profile::OwnWait call = wait;
    call.clear_waited_ns();
    group->own_waits[call.SerializeAsString()] += wait.waited_ns();
  }
}

void Combine(const Group& one, Group* sum) {
  sum->sessions.insert(one.sessions.begin(), one.sessions.end());
  AddEnd(one.end, &sum->end);
  for (const auto& [call, waited_ns] : one.own_waits) sum->own_waits[call] += waited_ns;
  for (const auto& [key, added] : one.experiments) Combine(added, &sum->experiments[key]);
  for (const auto& [key, added] : one.bare) Combine(added, &sum->bare[key]);
  for (const auto& [key, added] : one.controls) Combine(added, &sum->controls[key]);
  AddTotals(one.outside, &sum->outside);
  for (const auto& [unit, samples] : one.outside_samples) sum->outside_samples[unit] += samples;
  for (const auto& [unit, samples] : one.spinning_samples) sum->spinning_samples[unit] += samples;
  for (const auto& [point, counts] : one.outside_points) {
    AddCounts(counts, 0, &sum->outside_points[point]);
  }
}

void ShortenBlocks(uint32_t bits, Group* group) {
  std::map<PoolKey, PooledExperiment> experiments;
  for (auto& [key, one] : group->experiments) {
    PoolKey shorter = key;
    std::get<0>(shorter) = Prefix(std::get<0>(key), bits);
    Combine(one, &experiments[shorter]);
  }
  group->experiments = std::move(experiments);
  std::map<BareKey, PooledBare> bare;
  for (auto& [key, one] : group->bare) Combine(one, &bare[{Prefix(key.first, bits), key.second}]);
  group->bare = std::move(bare);
  std::map<BareKey, PooledExperiment> controls;
  for (auto& [key, one] : group->controls) {
    Combine(one, &controls[{Prefix(key.first, bits), key.second}]);
  }
  group->controls = std::move(controls);
}

GroupWriter::GroupWriter(const Names<profile::Unit>& units,
                         const Names<profile::ProgressPoint>& points)
    : units_(units), points_(points), unit_ids_(Order(units)), point_ids_(Order(points)) {}

void GroupWriter::Write(uint64_t session, const Group& group, profile::Profile* record) const {
  *record->add_session() = group.session;
  record->mutable_session(0)->set_id(session);
  for (const uint64_t one : group.sessions) record->mutable_session(0)->add_pooled_session(one);
  if (group.has_binary) {
    *record->add_binary() = group.binary;
    record->mutable_binary(0)->set_session(session);
  }
  WriteNames(session, group, record);
  std::map<PoolKey, const PooledExperiment*> sorted;
  for (const auto& [key, one] : group.experiments) {
    PoolKey place = key;
    std::get<1>(place) = unit_ids_[std::get<1>(key)];
    sorted[place] = &one;
  }
  for (const auto& [key, one] : sorted) {
    profile::Experiment* written = record->add_experiment();
    *written = one->sum;
    written->set_index(static_cast<uint32_t>(record->experiment_size() - 1));
    written->set_selected_unit(std::get<1>(key));
    WritePooled(session, std::get<0>(key), *one, written);
  }
  for (const auto& [key, one] : group.controls) {
    profile::Experiment* written = record->add_control();
    *written = one.sum;
    WritePooled(session, key.first, one, written);
  }
  for (const auto& [key, one] : group.bare) {
    profile::BareInterval* written = record->add_bare_interval();
    *written = one.sum;
    written->set_session(session);
    written->set_block(key.first);
    WritePoints(one.points, written);
  }
  profile::SampleCounts* outside = record->add_sample_counts();
  *outside = group.outside;
  outside->set_session(session);
  for (const auto& [unit, samples] : group.outside_samples) {
    outside->add_unit_id(unit_ids_[unit]);
    outside->add_unit_samples(samples);
  }
  for (const auto& [unit, samples] : group.spinning_samples) {
    outside->add_spinning_unit_id(unit_ids_[unit]);
    outside->add_spinning_unit_samples(samples);
  }
  WritePoints(group.outside_points, outside);
  profile::SessionEnd* end = record->add_session_end();
  *end = group.end;
  end->set_session(session);
  for (const auto& [call, waited_ns] : group.own_waits) {
    profile::OwnWait* wait = end->add_own_wait();
    wait->ParseFromString(call);
    wait->set_waited_ns(waited_ns);
  }
}

void GroupWriter::WritePooled(uint64_t session, uint64_t block, const PooledExperiment& one,
                              profile::Experiment* written) const {
  written->set_session(session);
  written->set_block(block);
  for (const auto& [unit, samples] : one.samples) {
    written->add_unit_id(unit_ids_[unit]);
    written->add_unit_samples(samples);
  }
  WritePoints(one.points, written);
}

// Of the units and points that the group has figures of.
void GroupWriter::WriteNames(uint64_t session, const Group& group, profile::Profile* record) const {
  std::set<uint32_t> units;
  std::set<uint32_t> points;
  for (const auto& [key, one] : group.experiments) {
    units.insert(std::get<1>(key));
    for (const auto& [unit, samples] : one.samples) units.insert(unit);
    for (const auto& [point, counts] : one.points) points.insert(point);
  }
  for (const auto& [unit, samples] : group.outside_samples) units.insert(unit);
  for (const auto& [unit, samples] : group.spinning_samples) units.insert(unit);
  for (const auto& [point, counts] : group.outside_points) points.insert(point);
  for (const auto& [key, one] : group.bare) {
    for (const auto& [point, counts] : one.points) points.insert(point);
  }
  for (const auto& [key, one] : group.controls) {
    for (const auto& [unit, samples] : one.samples) units.insert(unit);
    for (const auto& [point, counts] : one.points) points.insert(point);
  }
  for (const uint32_t unit : units) {
    profile::Unit* named = record->add_unit();
    *named = units_.records[unit];
    named->set_session(session);
    named->set_id(unit_ids_[unit]);
  }
  for (const uint32_t point : points) {
    profile::ProgressPoint* named = record->add_progress_point();
    *named = points_.records[point];
    named->set_session(session);
    named->set_id(point_ids_[point]);
  }
}

template <typename Record>
void GroupWriter::WritePoints(const std::map<uint32_t, profile::PointCounts>& from,
                              Record* to) const {
  for (const auto& [point, counts] : from) {
    profile::PointCounts* written = to->add_point();
    *written = counts;
    written->set_point(point_ids_[point]);
  }
}

}  // namespace coz::report
