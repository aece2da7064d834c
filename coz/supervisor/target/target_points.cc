#include "coz/supervisor/target/target_points.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "coz/shared/charged_pairs.h"
#include "coz/shared/slot_loops.h"
#include "coz/supervisor/target/shared_text.h"

namespace coz::supervisor {

void TargetPoints::Discover() {
  bool any_new = false;
  // Slots are taken in order, but a process may be killed while it writes one.
  for (uint32_t i = 0; i < shared::kMaxPoints; ++i) {
    const shared::PointSlot& slot = control_.points[i];
    const shared::PointState state = slot.state.load(std::memory_order_acquire);
    if (state == shared::PointState::kFree) break;
    if (state != shared::PointState::kReady || discovered_[i]) continue;
    discovered_[i] = true;
    const shared::PointKind kind = slot.kind;
    const bool is_latency = kind == shared::PointKind::kBegin || kind == shared::PointKind::kEnd;
    // Others are not the program's.
    if (!is_latency && kind != shared::PointKind::kThroughput) continue;
    const std::string name = SharedText(slot.name);
    uint32_t id = 0;
    while (id < points_.size() && !(points_[id].is_latency == is_latency &&
                                    points_[id].name == name && points_[id].counted_by.empty())) {
      ++id;
    }
    if (id == points_.size()) {
      TargetPoint mark;
      mark.name = name;
      mark.is_latency = is_latency;
      points_.push_back(mark);
    }
    // A request that ends while it is looked at must not seem to have left before it came.
    sources_.insert(kind == shared::PointKind::kEnd ? sources_.begin() : sources_.end(),
                    {id, kind, i});
    any_new = true;
  }
  if (any_new) ChargePairs();
}

std::optional<uint32_t> TargetPoints::SlotOf(uint32_t point, shared::PointKind kind) const {
  for (const PointSource& source : sources_) {
    if (source.point == point && source.kind == kind) return source.slot;
  }
  return std::nullopt;
}

std::optional<uint32_t> TargetPoints::SlotOfMark(const std::string& name) const {
  for (const PointSource& source : sources_) {
    if (source.kind == shared::PointKind::kThroughput && points_[source.point].name == name) {
      return source.slot;
    }
  }
  return std::nullopt;
}

std::optional<uint32_t> TargetPoints::ChargedEnd(uint32_t point, shared::PairEnd end) const {
  const bool is_begin = end == shared::PairEnd::kBegin;
  const std::string& mark = is_begin ? points_[point].begin_mark : points_[point].end_mark;
  if (!mark.empty()) return SlotOfMark(mark);
  if (!points_[point].counted_by.empty()) return shared::kAtPlaces;
  return SlotOf(point, is_begin ? shared::PointKind::kBegin : shared::PointKind::kEnd);
}

bool TargetPoints::HasTimes(uint32_t point) const {
  return std::any_of(call_sources_.begin(), call_sources_.end(),
                     [point](const CallSource& source) { return source.point == point; });
}

void TargetPoints::ChargePairs() {
  for (uint32_t id = 0; id < points_.size() && charged_.size() < shared::kMaxChargedPairs; ++id) {
    const TargetPoint& point = points_[id];
    if (!point.is_latency || HasTimes(id)) continue;
    if (std::count(charged_.begin(), charged_.end(), id) != 0) continue;
    const std::optional<uint32_t> begin = ChargedEnd(id, shared::PairEnd::kBegin);
    const std::optional<uint32_t> end = ChargedEnd(id, shared::PairEnd::kEnd);
    if (!begin.has_value() || !end.has_value()) continue;
    shared::ChargedPair& pair = control_.charged_pairs[charged_.size()];
    pair.begin = *begin;
    pair.end = *end;
    pair.point = id;
    pair.begin_place = point.begin_place;
    pair.end_place = point.end_place;
    charged_.push_back(id);
    control_.charged_pairs_used.store(static_cast<uint32_t>(charged_.size()),
                                      std::memory_order_release);
  }
}

void TargetPoints::ReadCharges(std::vector<experiment::PointCounts>* counts) const {
  for (size_t i = 0; i < charged_.size(); ++i) {
    experiment::PointCounts& point = (*counts)[charged_[i]];
    // Visits with times are not among those that are charged.
    if (point.timed_arrivals + point.timed_departures != 0) continue;
    if (uncharged_.count(charged_[i]) != 0) continue;
    const shared::ChargedPair& pair = control_.charged_pairs[i];
    point.charged_delay_ns = pair.delay_ns.load(std::memory_order_relaxed);
    point.charged_in_flight_ns = pair.delay_in_flight_ns.load(std::memory_order_relaxed);
  }
}

void TargetPoints::ReadLatencies() {
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

TimedReader TargetPoints::ReadTimed(uint32_t slot) const {
  TimedReader reader;
  const uint32_t cell = control_.points[slot].timed_cell.load(std::memory_order_relaxed);
  if (cell == 0 || cell > shared::kMaxTimedPoints) return reader;
  shared::ForEachThread(
      control_, [&](const shared::ThreadSlot& thread) { reader.Add(thread.timed[cell - 1]); });
  return reader;
}

void TargetPoints::CountMark(const PointSource& source, experiment::PointCounts* point) const {
  switch (source.kind) {
    case shared::PointKind::kThroughput:
      point->visits = shared::UntimedVisits(control_, source.slot);
      break;
    case shared::PointKind::kPlace:
    case shared::PointKind::kApi:
      break;
    case shared::PointKind::kBegin: {
      const TimedReader timed = ReadTimed(source.slot);
      point->timed_arrivals = timed.visits();
      point->arrival_time_sum_ns = timed.time_sum_ns();
      point->arrivals = shared::UntimedVisits(control_, source.slot) + timed.visits();
      break;
    }
    case shared::PointKind::kEnd: {
      const TimedReader timed = ReadTimed(source.slot);
      point->timed_departures = timed.visits();
      point->departure_time_sum_ns = timed.time_sum_ns();
      point->departures = shared::UntimedVisits(control_, source.slot) + timed.visits();
      break;
    }
  }
}

uint64_t TargetPoints::VisitsIn(const shared::ThreadSlot& thread, uint32_t slot) const {
  const uint32_t cell = control_.points[slot].timed_cell.load(std::memory_order_relaxed);
  const bool is_timed = cell != 0 && cell <= shared::kMaxTimedPoints;
  return thread.visits[slot].load(std::memory_order_acquire) +
         (is_timed ? thread.timed[cell - 1].visits.load(std::memory_order_acquire) : 0);
}

void TargetPoints::LookAtThreads(uint32_t point, BegunBefore* begun) const {
  const std::optional<uint32_t> begin = ChargedEnd(point, shared::PairEnd::kBegin);
  const std::optional<uint32_t> end = ChargedEnd(point, shared::PairEnd::kEnd);
  const auto has_threads = [this](std::optional<uint32_t> slot) {
    return slot.has_value() && *slot < shared::kMaxPoints &&
           control_.points[*slot].shared.count.load(std::memory_order_relaxed) == 0;
  };
  if (!has_threads(begin) || !has_threads(end)) {
    begun->PassesRequestsOn();
    return;
  }
  shared::ForEachThread(control_, [&](const shared::ThreadSlot& thread, uint32_t index) {
    PairVisits visits;
    visits.departures = VisitsIn(thread, *end);
    visits.arrivals = VisitsIn(thread, *begin);
    const bool is_steady = VisitsIn(thread, *end) == visits.departures;
    if (is_steady) begun->LookAtThread(index, visits);
  });
}

void TargetPoints::ReadBegunBefore(std::vector<experiment::PointCounts>* counts) {
  if (!follows_begun_before_) return;
  begun_before_.resize(points_.size());
  for (uint32_t id = 0; id < points_.size(); ++id) {
    experiment::PointCounts& point = (*counts)[id];
    if (point.departures == 0 || HasTimes(id)) continue;
    LookAtThreads(id, &begun_before_[id]);
    begun_before_[id].LookAtAll({point.departures, point.arrivals});
    point.begun_before = begun_before_[id].requests();
  }
}

void TargetPoints::Count(std::vector<experiment::PointCounts>* counts) const {
  counts->assign(points_.size(), experiment::PointCounts());
  for (const OutsideSource& source : outside_sources_) {
    experiment::PointCounts& point = (*counts)[source.point];
    if (source.departures == nullptr) {
      point.visits = source.visits_or_arrivals();
      continue;
    }
    // Departures first: a request that ends in between must not seem to have left before it came.
    point.departures = source.departures();
    point.arrivals = source.visits_or_arrivals();
  }
  for (const CallSource& source : call_sources_) {
    const CallLatencySums sums = source.calls();
    experiment::PointCounts& point = (*counts)[source.point];
    point.arrivals = point.timed_arrivals = sums.calls;
    point.departures = point.timed_departures = sums.calls;
    point.departure_time_sum_ns = sums.time_ns;
  }
  for (const PointSource& source : sources_) CountMark(source, &(*counts)[source.point]);
  ReadCharges(counts);
}

uint32_t TargetPoints::Add(const TargetPoint& point, CountVisits visits_or_arrivals,
                           CountVisits departures) {
  const auto id = static_cast<uint32_t>(points_.size());
  outside_sources_.push_back({id, std::move(visits_or_arrivals), std::move(departures)});
  points_.push_back(point);
  ChargePairs();
  return id;
}

uint32_t TargetPoints::AddCalls(const TargetPoint& point, std::function<CallLatencySums()> calls) {
  const auto id = static_cast<uint32_t>(points_.size());
  call_sources_.push_back({id, std::move(calls)});
  points_.push_back(point);
  return id;
}

uint64_t TargetPoints::VisitsOfMark(const std::string& name) const {
  const std::optional<uint32_t> slot = SlotOfMark(name);
  return slot.has_value() ? shared::UntimedVisits(control_, *slot) : 0;
}

std::vector<std::string> TargetPoints::Marks() const {
  std::vector<std::string> names;
  for (const PointSource& source : sources_) {
    if (source.kind == shared::PointKind::kThroughput) {
      names.push_back(points_[source.point].name);
    }
  }
  return names;
}

}  // namespace coz::supervisor
