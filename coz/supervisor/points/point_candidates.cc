#include "coz/supervisor/points/point_candidates.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "coz/patch/code_patch.h"
#include "coz/points/point_spec.h"

namespace coz::supervisor {
namespace {

// At 50 ms for four, all have had their turn in less than half a second.
constexpr size_t kMaxActive = 32;
constexpr uint64_t kMinSamples = 2;
// A function that was not called in this many turns in a row gives way when there is no room.
constexpr size_t kIdleSlices = 5;
// For one slice; the mean over all may be kMaxCountingShare.
constexpr double kMaxCountingShareOfSlice = 0.2;
// Functions that are dear to count have one turn in so many. Only so many functions have one: those
// that most samples show.
constexpr size_t kDearTurns = 4;
constexpr size_t kMaxDear = 16;

// A yardstick tells how fast the program is while counting slows it down. It needs so many slices,
// calls and samples, and this share of the samples that show the counted function.
constexpr size_t kYardstickSlices = 4;
constexpr double kYardstickVisitsPerSecond = 50;
constexpr size_t kMinSamplesBeside = 5;
constexpr double kMinShareBeside = 0.7;
constexpr size_t kRecentSamples = 4096;
// For an error of a fifth.
constexpr uint64_t kMinYardstickVisits = 25;
constexpr uint64_t kEnoughYardstickVisits = 100;
// Of the time. Above it, the rest is the difference of two nearly equal numbers.
constexpr double kMaxCountingToSubtract = 0.5;

// Of a visit that changed code counts.
constexpr double kJumpNs = 2;

constexpr size_t kMaxScannedBytes = size_t{64} * 1024;
constexpr size_t kCallBytes = 5;  // E8 and the distance from the next instruction
constexpr char kCallOpcode = '\xe8';

// Instances of the C++ library's templates and what the compiler adds: no units of the program's
// own work.
bool IsOwnFunction(absl::string_view linkage_name) {
  for (const absl::string_view prefix :
       {"_ZNSt", "_ZNKSt", "_ZSt", "_ZNS", "_ZNKS", "_ZN9__gnu_cxx", "_ZNK9__gnu_cxx", "_Zn", "_Zd",
        "__", "_start", "_init", "_fini", "_dl_relocate"}) {
    if (absl::StartsWith(linkage_name, prefix)) return false;
  }
  return true;
}

}  // namespace

absl::StatusOr<std::unique_ptr<PointCandidates>> PointCandidates::Open(const std::string& program) {
  std::unique_ptr<PointCandidates> candidates(new PointCandidates);
  candidates->program_ = RealPath(program);
  absl::StatusOr<std::unique_ptr<points::CodePlaces>> places =
      points::CodePlaces::Open(candidates->program_);
  if (!places.ok()) return places.status();
  candidates->places_ = *std::move(places);
  const std::vector<points::CodePlaces::Function>& functions = candidates->places_->functions();
  for (size_t i = 0; i < functions.size(); ++i) {
    points::CodePlace place;
    if (!candidates->places_->PlaceOf(functions[i], &place)) continue;
    const uint64_t end = place.file_offset + (functions[i].end - functions[i].begin);
    std::vector<Function>& known = candidates->functions_;
    // One address may have several names.
    if (!known.empty() && known.back().begin == place.file_offset) continue;
    known.push_back({i, place.file_offset, end});
  }
  if (candidates->functions_.empty()) {
    return absl::FailedPreconditionError(absl::StrFormat(
        "%s has no symbols (stripped), so its functions have no names to count them by; link it "
        "without -s and do not strip it",
        program));
  }
  candidates->file_.Reset(open(candidates->program_.c_str(), O_RDONLY | O_CLOEXEC));
  return candidates;
}

void PointCandidates::CountByCodeAlone(CodeCounters* counters, size_t most) {
  counters_ = counters;
  most_by_code_ = most;
}

bool PointCandidates::SetMapped(const std::vector<MappedCode>& mapped) {
  for (const MappedCode& code : mapped) {
    if (RealPath(code.path) == program_) mapped_.push_back(code);
  }
  return !mapped_.empty();
}

PointCandidates::Function* PointCandidates::FunctionAt(uint64_t runtime_address) {
  for (const MappedCode& code : mapped_) {
    if (runtime_address < code.start || runtime_address >= code.end) continue;
    const uint64_t offset = runtime_address - code.start + code.file_offset;
    const auto after =
        std::upper_bound(functions_.begin(), functions_.end(), offset,
                         [](uint64_t at, const Function& function) { return at < function.begin; });
    if (after == functions_.begin()) return nullptr;
    Function& function = *(after - 1);
    return offset < function.end ? &function : nullptr;
  }
  return nullptr;
}

void PointCandidates::CountOnStack(Function* function, std::vector<size_t>* on_stack) {
  if (function == nullptr || function->last_sample == samples_) return;
  function->last_sample = samples_;
  ++function->samples;
  on_stack->push_back(static_cast<size_t>(function - functions_.data()));
}

void PointCandidates::AddSample(uint64_t ip, const std::vector<uint64_t>& stack) {
  ++samples_;
  std::vector<size_t> on_stack;
  CountOnStack(FunctionAt(ip), &on_stack);
  // A call may be a function's last instruction, and its return address lies behind it.
  for (const uint64_t word : stack) CountOnStack(FunctionAt(word - 1), &on_stack);
  if (recent_.size() < kRecentSamples) {
    recent_.push_back(std::move(on_stack));
  } else {
    recent_[samples_ % kRecentSamples] = std::move(on_stack);
  }
}

double PointCandidates::ShareBeside(const Candidate& candidate, const Candidate& other) const {
  size_t all = 0;
  size_t both = 0;
  for (const std::vector<size_t>& on_stack : recent_) {
    if (std::find(on_stack.begin(), on_stack.end(), candidate.function) == on_stack.end()) continue;
    ++all;
    both += std::find(on_stack.begin(), on_stack.end(), other.function) != on_stack.end() ? 1 : 0;
  }
  return all < kMinSamplesBeside ? 0 : static_cast<double>(both) / static_cast<double>(all);
}

size_t PointCandidates::YardstickOf(const Candidate& dear) const {
  size_t best = kNone;
  double best_rate = kYardstickVisitsPerSecond;
  for (size_t i = 0; i < candidates_.size(); ++i) {
    const Candidate& other = candidates_[i];
    if (other.is_dear || other.slices.size() < kYardstickSlices) continue;
    points::VisitSlice sum = {0, 0};
    for (const points::VisitSlice& slice : other.slices) {
      sum.visits += slice.visits;
      sum.duration_ns += slice.duration_ns;
    }
    const double rate =
        static_cast<double>(sum.visits) / (static_cast<double>(sum.duration_ns) / 1e9);
    if (!(rate > best_rate) || ShareBeside(dear, other) < kMinShareBeside) continue;
    best = i;
    best_rate = rate;
  }
  return best;
}

size_t PointCandidates::ActiveCount() const {
  return static_cast<size_t>(
      std::count_if(candidates_.begin(), candidates_.end(),
                    [](const Candidate& candidate) { return candidate.is_active; }));
}

bool PointCandidates::DropIdle() {
  for (Candidate& candidate : candidates_) {
    if (!candidate.is_active || candidate.slices.size() < kIdleSlices) continue;
    const bool is_idle =
        std::all_of(candidate.slices.end() - kIdleSlices, candidate.slices.end(),
                    [](const points::VisitSlice& slice) { return slice.visits == 0; });
    if (!is_idle) continue;
    candidate.is_active = false;
    return true;
  }
  return false;
}

void PointCandidates::Add(Function* function) {
  if (function->is_candidate) return;
  if (!IsOwnFunction(places_->functions()[function->index].linkage_name)) return;
  const uint64_t address = RuntimeAddress(mapped_, program_, function->begin);
  if (address == 0) return;
  const points::CodePlaces::Function& named = places_->functions()[function->index];
  points::CodePlace place;
  PlacePlans plans;
  if (counters_ != nullptr) plans = PlanOf(named, &place);
  std::optional<size_t> counter;
  const bool has_room = most_by_code_ == 0 || counted_.size() < most_by_code_;
  if (plans.best.way == patch::Way::kJump && has_room) {
    plans.by_trap.reset();  // it might slow the program, and so all other rates
    counter = counters_->Add(named.linkage_name, {program_, place}, plans);
  }
  if (!counter.has_value() && most_by_code_ != 0) {
    function->is_candidate = true;
    ++(has_room ? uncounted_ : beyond_);
    return;
  }
  if (!counter.has_value() && ActiveCount() >= kMaxActive && !DropIdle()) return;
  function->is_candidate = true;
  if (counter.has_value()) counted_.push_back(candidates_.size());
  candidates_.push_back({static_cast<size_t>(function - functions_.data()),
                         address,
                         {},
                         counter,
                         !counter.has_value()});
}

void PointCandidates::CountInTurns(const std::vector<size_t>& counters) {
  for (const size_t counter : counters) {
    Candidate& candidate = candidates_[counted_[counter]];
    if (!candidate.counter.has_value()) continue;
    candidate.counter.reset();
    candidate.slices.clear();
    candidate.is_active = most_by_code_ == 0;
  }
}

void PointCandidates::TakeCodeSlices() {
  if (counters_ == nullptr) return;
  const std::vector<std::optional<points::VisitSlice>> slices = counters_->TakeSlices();
  for (size_t i = 0; i < slices.size(); ++i) {
    Candidate& candidate = candidates_[counted_[i]];
    if (candidate.counter.has_value() && slices[i].has_value()) {
      candidate.slices.push_back(*slices[i]);
    }
  }
}

// Functions that are too short for samples are found by the calls in those that are not.
void PointCandidates::AddCallees(const Function& function) {
  std::vector<char> code(std::min<size_t>(kMaxScannedBytes, function.end - function.begin));
  const ssize_t size =
      pread(file_.get(), code.data(), code.size(), static_cast<off_t>(function.begin));
  if (size < 0) return;
  code.resize(static_cast<size_t>(size));
  for (size_t at = 0; at + kCallBytes <= code.size(); ++at) {
    if (code[at] != kCallOpcode) continue;
    int32_t distance = 0;
    memcpy(&distance, &code[at + 1], sizeof(distance));
    const uint64_t target = function.begin + at + kCallBytes + static_cast<uint64_t>(distance);
    // Bytes within another instruction do not name the first byte of a function.
    const auto callee =
        std::lower_bound(functions_.begin(), functions_.end(), target,
                         [](const Function& other, uint64_t begin) { return other.begin < begin; });
    if (callee != functions_.end() && callee->begin == target) Add(&*callee);
  }
}

size_t PointCandidates::OwnFunctions() const {
  return static_cast<size_t>(
      std::count_if(functions_.begin(), functions_.end(), [this](const Function& function) {
        return IsOwnFunction(places_->functions()[function.index].linkage_name);
      }));
}

void PointCandidates::Admit() {
  std::vector<Function*> seen;
  const uint64_t least = OwnFunctions() <= most_by_code_ ? 0 : kMinSamples;
  for (Function& function : functions_) {
    if (function.samples >= least) seen.push_back(&function);
  }
  std::stable_sort(seen.begin(), seen.end(),
                   [](const Function* a, const Function* b) { return a->samples > b->samples; });
  for (Function* function : seen) Add(function);
  for (const Function* function : seen) {
    AddCallees(*function);
  }
}

std::vector<size_t> PointCandidates::NextOf(const std::vector<size_t>& all, size_t count,
                                            size_t* next) const {
  std::vector<size_t> set;
  const auto first = std::lower_bound(all.begin(), all.end(), *next) - all.begin();
  for (size_t i = 0; i < std::min(count, all.size()); ++i) {
    set.push_back(all[(static_cast<size_t>(first) + i) % all.size()]);
  }
  if (!set.empty()) *next = set.back() + 1;
  return set;
}

std::vector<size_t> PointCandidates::NextSet(size_t count) {
  std::vector<size_t> cheap;
  std::vector<size_t> dear;
  for (size_t i = 0; i < candidates_.size(); ++i) {
    if (candidates_[i].is_dear) dear.push_back(i);
    if (candidates_[i].is_active) cheap.push_back(i);
  }
  if (!dear.empty() && (cheap.empty() || ++turns_ % kDearTurns == 0)) {
    std::stable_sort(dear.begin(), dear.end(), [this](size_t a, size_t b) {
      return SampleShare(candidates_[a]) > SampleShare(candidates_[b]);
    });
    dear.resize(std::min(dear.size(), kMaxDear));
    std::sort(dear.begin(), dear.end());
    std::vector<size_t> set = NextOf(dear, count, &next_dear_);
    const size_t yardstick = YardstickOf(candidates_[set.front()]);
    if (yardstick == kNone) return set;
    if (set.size() == count) {
      next_dear_ = set.back();  // it comes next
      set.pop_back();
    }
    set.push_back(yardstick);
    return set;
  }
  return NextOf(cheap, count, &next_);
}

size_t PointCandidates::YardstickIn(const std::vector<size_t>& set) const {
  return candidates_[set.front()].is_dear && !candidates_[set.back()].is_dear ? set.back() : kNone;
}

bool PointCandidates::AwaitsYardstick(const std::vector<size_t>& set) const {
  return YardstickIn(set) != kNone &&
         candidates_[set.front()].yardstick_visits < kEnoughYardstickVisits;
}

void PointCandidates::AddDear(const points::VisitSlice& slice, double counting_ns, size_t yardstick,
                              uint64_t yardstick_visits, Candidate* candidate) {
  candidate->slices.push_back(points::WithoutCounting(slice, counting_ns));
  candidate->counted.visits += slice.visits;
  candidate->counted.duration_ns += slice.duration_ns;
  candidate->counting_ns += counting_ns;
  if (yardstick == kNone || ShareBeside(*candidate, candidates_[yardstick]) < kMinShareBeside) {
    return;
  }
  if (candidate->yardstick != yardstick) {
    candidate->yardstick = yardstick;
    candidate->visits_beside = 0;
    candidate->yardstick_visits = 0;
  }
  candidate->visits_beside += slice.visits;
  candidate->yardstick_visits += yardstick_visits;
}

// The cost of counting is known to some per cent, and may leave no more than that. But counting
// slows functions of the same work alike.
bool PointCandidates::CorrectRate(const std::vector<points::PointRating>& all,
                                  const Candidate& candidate, points::PointRating* rating) const {
  if (!candidate.is_dear || candidate.counted.duration_ns == 0) return false;
  if (candidate.yardstick != kNone && candidate.yardstick_visits >= kMinYardstickVisits) {
    rating->visits_per_s = static_cast<double>(candidate.visits_beside) /
                           static_cast<double>(candidate.yardstick_visits) *
                           all[candidate.yardstick].visits_per_s;
    return false;
  }
  const auto duration_ns = static_cast<double>(candidate.counted.duration_ns);
  if (candidate.counting_ns <= kMaxCountingToSubtract * duration_ns) return false;
  rating->visits_per_s = static_cast<double>(candidate.counted.visits) / duration_ns * 1e9;
  return true;
}

void PointCandidates::AddSlices(const std::vector<size_t>& set,
                                const std::vector<points::VisitSlice>& slices,
                                double visit_cost_ns) {
  const auto is_dear = [visit_cost_ns](const points::VisitSlice& slice) {
    return points::IsTooFrequent({slice}, visit_cost_ns, kMaxCountingShareOfSlice);
  };
  const size_t yardstick = YardstickIn(set);
  const bool is_spoilt = std::any_of(slices.begin(), slices.end(), is_dear);
  double counting_ns = 0;
  for (const points::VisitSlice& slice : slices) {
    counting_ns += static_cast<double>(slice.visits) * visit_cost_ns;
  }
  for (size_t i = 0; i < set.size(); ++i) {
    Candidate& candidate = candidates_[set[i]];
    if (!candidate.is_dear && is_dear(slices[i])) {
      // What was counted before, in long slices, would outweigh the short ones to come.
      candidate.slices.clear();
      candidate.is_active = false;
      candidate.is_dear = true;
    }
    if (candidate.is_dear) {
      AddDear(slices[i], counting_ns, yardstick, slices.back().visits, &candidate);
    } else if (!is_spoilt) {
      candidate.slices.push_back(slices[i]);
    }
  }
}

std::string PointCandidates::NameOf(const Function& function) const {
  const std::vector<points::CodePlaces::Function>& all = places_->functions();
  const points::CodePlaces::Function& named = all[function.index];
  for (const std::string& name : {points::WithoutParameters(named.name), named.linkage_name}) {
    // Pointers in template arguments would be read as a glob.
    if (name.find_first_of("*?") != std::string::npos) continue;
    const bool is_ambiguous =
        std::any_of(all.begin(), all.end(), [&](const points::CodePlaces::Function& other) {
          // A name that matches contains it; most do not, which is cheap to see.
          const bool may_match = other.linkage_name == name || absl::StrContains(other.name, name);
          return may_match && other.begin != named.begin &&
                 points::MatchesFunction(name, other.linkage_name, other.name);
        });
    if (!is_ambiguous && points::MatchesFunction(name, named.linkage_name, named.name)) return name;
  }
  // Functions of the same name in several files.
  const std::string line = places_->LineOf(named);
  return line.empty() ? named.linkage_name : line;
}

double PointCandidates::SampleShare(const Candidate& candidate) const {
  if (samples_ == 0) return 0;
  return static_cast<double>(functions_[candidate.function].samples) /
         static_cast<double>(samples_);
}

// As `coz run` decides it.
PlacePlans PointCandidates::PlanOf(const points::CodePlaces::Function& function,
                                   points::CodePlace* place) const {
  if (!places_->PlaceOf(function, place)) return {};
  return PlanInFile(program_, *place, places_->has_restartable_code());
}

double PointCandidates::CostNs(const Candidate& candidate, double breakpoint_ns) const {
  return candidate.counter.has_value() ? kJumpNs : breakpoint_ns;
}

double PointCandidates::RunCostNs(const points::CodePlaces::Function& function,
                                  double breakpoint_ns) const {
  constexpr double kTrapNs = 2500;
  points::CodePlace place;
  switch (PlanOf(function, &place).best.way) {
    case patch::Way::kJump:
      return kJumpNs;
    case patch::Way::kTrap:
      return kTrapNs;
    case patch::Way::kNone:
      break;
  }
  return breakpoint_ns;
}

std::vector<FoundPoint> PointCandidates::Ranked(const std::vector<points::PointRating>& ratings,
                                                const std::vector<bool>& is_least,
                                                double breakpoint_ns,
                                                points::PointFitness fitness) const {
  std::vector<FoundPoint> points;
  for (const size_t i : points::RankPoints(ratings, fitness)) {
    const Function& function = functions_[candidates_[i].function];
    points.push_back({NameOf(function), places_->LineOf(places_->functions()[function.index]),
                      SampleShare(candidates_[i]), ratings[i], is_least[i],
                      RunCostNs(places_->functions()[function.index], breakpoint_ns)});
  }
  return points;
}

FoundPoints PointCandidates::Result(double visit_cost_ns) const {
  FoundPoints found;
  found.samples = samples_;
  found.counted = candidates_.size();
  found.visit_cost_ns = visit_cost_ns;
  found.uncounted = uncounted_;
  found.beyond = beyond_;
  if (counters_ != nullptr) found.why_uncounted = counters_->why_refused();
  std::set<std::string> probes;
  for (const points::UsdtPlace& probe : places_->Probes()) {
    probes.insert(absl::StrCat("usdt:", probe.provider, ":", probe.name));
  }
  found.probes.assign(probes.begin(), probes.end());
  std::vector<points::PointRating> ratings;
  for (const Candidate& candidate : candidates_) {
    ratings.push_back(points::RatePoint(candidate.slices, SampleShare(candidate),
                                        CostNs(candidate, visit_cost_ns)));
    if (IsUncounted(candidate)) {
      ++found.uncounted;
      continue;
    }
    switch (ratings.back().fitness) {
      case points::PointFitness::kFit:
      case points::PointFitness::kTooFrequent:
        break;
      case points::PointFitness::kUnsteady:
        ++found.unsteady;
        break;
      case points::PointFitness::kTooRare:
      case points::PointFitness::kUnknown:
        ++found.too_rare;
        break;
    }
  }
  const std::vector<points::PointRating> as_counted = ratings;
  std::vector<bool> is_least;
  for (size_t i = 0; i < ratings.size(); ++i) {
    is_least.push_back(CorrectRate(as_counted, candidates_[i], &ratings[i]));
  }
  found.points = Ranked(ratings, is_least, visit_cost_ns, points::PointFitness::kFit);
  found.frequent = Ranked(ratings, is_least, visit_cost_ns, points::PointFitness::kTooFrequent);
  return found;
}

}  // namespace coz::supervisor
