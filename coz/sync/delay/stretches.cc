#include "coz/sync/delay/stretches.h"

#include <algorithm>
#include <iterator>

namespace coz::delay {
namespace {

// A share from fewer samples is not trusted.
constexpr uint32_t kLeastSamples = 4;
// Beyond this number old samples fade.
constexpr uint8_t kMostSamples = 64;
// So many samples tell whether stretches are alike.
constexpr uint32_t kLeastSamplesOfParts = 24;
// The delay of longer stretches is not spread. One sample too many or too few weighs little there,
// and the sample tells better than its kind where the thread is.
constexpr uint64_t kLongPeriods = 3;
// A longer time without a sample or a call counts as this long.
constexpr uint64_t kMostPeriodsAtOnce = 4;
// A sample of more periods sets no wider limits.
constexpr uint64_t kMostPeriodsOfASample = 256;
// Running time for which delay may be imposed is counted up to this.
constexpr uint64_t kMostRoomNs = 1u << 31;

}  // namespace

void Stretches::Reset() {
  selection_.store(0, std::memory_order_relaxed);
  busy_.store(0, std::memory_order_relaxed);
  site_.store(nullptr, std::memory_order_relaxed);
  lock_pace_ = {};
  wake_pace_ = {};
  for (Kind& kind : kinds_) kind = {};
}

void Stretches::Kind::Halve() {
  selected /= 2;
  given /= 2;
  samples /= 2;
  for (Part& part : parts) part = {uint8_t(part.counted / 2), uint8_t(part.others / 2)};
}

void Stretches::Kind::CountSample(SampledUnit sampled) {
  if (samples >= kMostSamples) Halve();
  ++samples;
  if (sampled == SampledUnit::kSelected) ++selected;
  if (sampled == SampledUnit::kGiven) ++given;
}

void Stretches::Kind::CountPart(SampledUnit sampled, uint64_t position_ns) {
  if (mean_ns == 0) return;
  const uint64_t part_ns = uint64_t{mean_ns} * 5 / 4 / kParts + 1;
  Part& part = parts[std::min<uint64_t>(position_ns / part_ns, kParts - 1)];
  ++(sampled == SampledUnit::kOther ? part.others : part.counted);
}

bool Stretches::Kind::IsAlike() const {
  uint32_t counted = 0;
  uint32_t elsewhere = 0;
  uint32_t undecided = 0;  // of the parts in which there are both
  for (const Part& part : parts) {
    counted += part.counted;
    elsewhere += part.others;
    undecided += std::min(part.counted, part.others);
  }
  return counted + elsewhere >= kLeastSamplesOfParts &&
         2 * undecided <= std::min(counted, elsewhere);
}

void Stretches::Kind::NoteLength(uint64_t length_ns) {
  const auto noted_ns = static_cast<uint32_t>(std::min(length_ns, uint64_t{1} << 31));
  mean_ns = mean_ns == 0 ? noted_ns : mean_ns - mean_ns / 8 + noted_ns / 8;
}

Stretches::Kind* Stretches::FindOwn(const void* wanted) {
  Kind* const end = &pool();
  Kind* const found = std::find_if(
      kinds_, end, [wanted](const Kind& kind) { return kind.samples != 0 && kind.site == wanted; });
  return found != end ? found : nullptr;
}

Stretches::Kind* Stretches::Find(const void* wanted) {
  Kind* const own = FindOwn(wanted);
  const bool own_tells = own != nullptr && own->samples >= kLeastSamples;
  return own_tells || pool().samples == 0 ? own : &pool();
}

// A thread that calls from more places than there are kinds fills the pool. Each time that the pool
// has its fill, all kinds fade, so that those that come no more make room.
Stretches::Kind& Stretches::PlaceFor(const void* site) {
  if (Kind* const own = FindOwn(site)) return *own;
  Kind* const end = &pool();
  Kind* const free = std::find_if(kinds_, end, [](const Kind& kind) { return kind.samples == 0; });
  if (free != end) {
    *free = {};
    free->site = site;
    return *free;
  }
  if (pool().samples >= kMostSamples) {
    for (Kind& kind : kinds_) kind.Halve();
  }
  return pool();
}

bool Stretches::RunsUnit() const {
  return std::any_of(std::begin(kinds_), std::end(kinds_),
                     [](const Kind& kind) { return kind.selected != 0; });
}

bool Stretches::IsSpread(const Kind& kind) const {
  if (kind.samples < kLeastSamples || kind.others() == kind.samples) return false;
  if (kind.mean_ns == 0 || kind.mean_ns > kLongPeriods * period_ns_) return false;
  if (kind.others() * 8 <= kind.samples) return true;
  return uint64_t{kind.mean_ns} * kind.others() * 5 < period_ns_ * kind.samples || kind.IsAlike();
}

uint64_t Stretches::DelayPerPeriod(const Kind& kind) const {
  return (kind.selected * selected_delay_ns_ + kind.given * given_delay_ns_) / kind.samples;
}

uint64_t Stretches::DelayFor(const Kind& kind, uint64_t ran_ns, const SpreadRules& rules) const {
  const uint64_t ahead_ns =
      rules.most_samples_ahead * most_periods_ * std::max(selected_delay_ns_, given_delay_ns_);
  const int64_t most_ns = balance_ns_ + static_cast<int64_t>(ahead_ns);
  if (most_ns <= 0) return 0;
  ran_ns = std::min(ran_ns, kMostPeriodsAtOnce * period_ns_);
  // DelayPerPeriod() divides by the number of samples before this multiplies: with periods of a
  // second the product of all three would not fit in 64 bits.
  return std::min(DelayPerPeriod(kind) * ran_ns / period_ns_, static_cast<uint64_t>(most_ns));
}

uint64_t Stretches::TakeRunningTime(uint64_t now_ns) {
  const bool runs = running_since_ns_.load(std::memory_order_relaxed) != 0;
  Stop(now_ns);
  if (runs) Resume(now_ns);
  const uint64_t taken_ns = ran_ns_;
  ran_ns_ = 0;
  return taken_ns;
}

void Stretches::PublishRate(const Kind* kind) {
  uint64_t rate = selected_delay_ns_ + given_delay_ns_ == 0 ? kImposesNothing : 0;
  if (rate == 0 && kind != nullptr && period_ns_ != 0 && IsSpread(*kind)) {
    rate = kWholeRate * DelayPerPeriod(*kind) / period_ns_;
  }
  rate_.store(static_cast<uint32_t>(rate), std::memory_order_relaxed);
}

void Stretches::Count(SampledUnit sampled, uint32_t selected_unit, uint64_t periods) {
  if (busy_.load(std::memory_order_relaxed) != 0) return;
  if (selected_unit != unit_) {
    for (Kind& kind : kinds_) kind = {};
    unit_ = selected_unit;
  }
  Kind& kind = PlaceFor(site());
  kind.CountSample(sampled);
  // Where delay accrues, the time until now is accounted for.
  if (accrues()) kind.CountPart(sampled, length_ns_);
  lock_pace_.NoteSample(periods);
  wake_pace_.NoteSample(periods, CallPace::kManyLooks);
}

void Stretches::BeginAccrual(uint64_t selection, uint64_t now_ns) {
  balance_ns_ = 0;
  accrued_ns_ = 0;
  room_ns_ = 0;
  ran_ns_ = 0;
  length_ns_ = 0;
  most_periods_ = 1;
  selected_delay_ns_ = 0;
  given_delay_ns_ = 0;
  Resume(now_ns);
  selection_.store(selection, std::memory_order_relaxed);
}

void Stretches::BeginIfKnown(const SampleDelay& selected, uint64_t now_ns) {
  if (selection() == selected.selection || !RunsUnit()) return;
  BeginAccrual(selected.selection, now_ns);
  deadline_ns_ = selected.deadline_ns;
  period_ns_ = selected.period_ns;
  selected_delay_ns_ = selected.delay_ns;
  PublishRate(Find(site()));
}

uint64_t Stretches::Add(const SampleDelay& sample, uint64_t now_ns, const SpreadRules& rules) {
  const uint64_t sample_delay_ns = sample.delay_ns * sample.periods;
  if (!rules.spreads) return sample_delay_ns;
  if (selection() != sample.selection) BeginAccrual(sample.selection, now_ns);
  deadline_ns_ = sample.deadline_ns;
  period_ns_ = sample.period_ns;
  (sample.unit == SampledUnit::kGiven ? given_delay_ns_ : selected_delay_ns_) = sample.delay_ns;
  Kind* kind = Find(site());
  PublishRate(kind);
  if (kind == nullptr || !IsSpread(*kind)) return sample_delay_ns;
  most_periods_ = static_cast<uint16_t>(
      std::min(std::max(uint64_t{most_periods_}, sample.periods - sample.periods_past),
               kMostPeriodsOfASample));
  balance_ns_ += static_cast<int64_t>(sample_delay_ns);
  // A larger balance means that stretches were seen to run for less time than samples say. The
  // difference accrues at once.
  const auto most_ns =
      static_cast<int64_t>(rules.most_samples_behind * most_periods_ * sample.delay_ns);
  if (balance_ns_ > most_ns) {
    accrued_ns_ += static_cast<uint64_t>(balance_ns_ - most_ns);
    balance_ns_ = most_ns;
  }
  return 0;
}

void Stretches::Accrue(uint64_t now_ns, const SpreadRules& rules) {
  const uint64_t ran_ns = TakeRunningTime(now_ns);
  length_ns_ += ran_ns;
  room_ns_ = static_cast<uint32_t>(std::min(room_ns_ + ran_ns, kMostRoomNs));
  Kind* kind = Find(site());
  if (kind == nullptr || !IsSpread(*kind)) return;
  const uint64_t delay_ns = DelayFor(*kind, ran_ns, rules);
  balance_ns_ -= static_cast<int64_t>(delay_ns);
  accrued_ns_ += delay_ns;
}

void Stretches::AccrueBalance() {
  if (balance_ns_ <= 0) return;
  accrued_ns_ += static_cast<uint64_t>(balance_ns_);
  balance_ns_ = 0;
}

void Stretches::End(const void* site, uint64_t now_ns) {
  Kind* const own = FindOwn(this->site());
  if (own != nullptr) own->NoteLength(length_ns_);
  Kind* const kind = Find(this->site());
  if (kind != own) kind->NoteLength(length_ns_);
  length_ns_ = 0;
  // Of stretches that are too short to impose anything several do it together.
  room_ns_ = static_cast<uint32_t>(std::min(uint64_t{room_ns_}, accrued_ns_));
  NoteSite(site);
  PublishRate(accrues() ? Find(site) : nullptr);
  Resume(now_ns);  // also restarts the time after a wait whose end was not noted
}

uint64_t Stretches::TakeAccrued(uint64_t least_ns) {
  const uint64_t taken_ns = std::min(accrued_ns_, uint64_t{room_ns_});
  if (taken_ns < least_ns) return 0;
  accrued_ns_ -= taken_ns;
  room_ns_ -= static_cast<uint32_t>(taken_ns);
  return taken_ns;
}

uint64_t Stretches::AccruingForOthers(uint64_t now_ns) const {
  const uint64_t since_ns = running_since_ns_.load(std::memory_order_relaxed);
  const uint32_t rate = rate_.load(std::memory_order_relaxed);
  if (since_ns == 0 || since_ns > now_ns || rate == kImposesNothing) return 0;
  return std::min(now_ns - since_ns, kMostInProgressNs) * rate / kWholeRate;
}

uint32_t Stretches::SamplesOfKindForTest(const void* site) {
  const Kind* const own = FindOwn(site);
  return own != nullptr ? own->samples : 0;
}

void Stretches::SetInProgressForTest(uint64_t selection, uint32_t rate, uint64_t since_ns) {
  selection_ = selection;
  rate_ = rate;
  running_since_ns_ = since_ns;
  deadline_ns_ = ~uint64_t{0};
}

}  // namespace coz::delay
