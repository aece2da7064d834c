#include "coz/supervisor/points/patched_places.h"

#include <signal.h>
#include <time.h>

#include <algorithm>
#include <cstddef>
#include <iterator>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "coz/base/clock.h"
#include "coz/base/names_in.h"
#include "coz/patch/patch_builder.h"
#include "coz/patch/patch_result.h"
#include "coz/supervisor/points/refused_calls.h"
#include "coz/supervisor/target/mapped_code.h"
#include "coz/supervisor/target/thread_load.h"

namespace coz::supervisor {
namespace {

// A process at its start answers at once, unless it is stopped.
constexpr uint64_t kLongestAnswerNs = 1 * kNsPerSecond;
// After so many in sequence that do not answer, no more are awaited for so long.
constexpr int kMostUnanswered = 3;
constexpr uint64_t kLongestAnswerOfSilentNs = 10 * kNsPerMs;
// A process that answers at its start needs no more rounds.
constexpr int kMostRoundsAtStart = 1000;
// A process that is attached to mostly answers with a sample by then.
constexpr uint64_t kBySampleNs = 30 * kNsPerMs;
// A process that runs answers with its next sample. One that sleeps visits nothing meanwhile.
constexpr uint64_t kWithdrawNs = 300 * kNsPerMs;
// One that has no thread on a CPU is asked again later, and others meanwhile.
constexpr uint64_t kAsleepNs = 15 * kNsPerMs;
constexpr uint64_t kAskAgainNs = 200 * kNsPerMs;
constexpr int kSilentRounds = 2;
constexpr int kMostTries = 20;
constexpr char kNoMemory[] = "no memory near the code is free";

void SetMapped(pid_t pid, patch::StubSpace* space) {
  std::vector<patch::AddressRange> ranges;
  for (const MappedRange& range : ReadMappedRanges(pid)) {
    ranges.push_back({range.begin, range.end, range.may_grow});
  }
  space->SetMapped(std::move(ranges));
}

// The routines lie elsewhere in each process.
patch::CallEdge EdgeIn(const shared::ProcessSlot& slot, const PlaceEdge& edge) {
  switch (edge.kind) {
    case PlaceEdge::Kind::kBegin:
      return {slot.begin_call, slot.begin_call_in_handler, edge.argument, edge.frame};
    case PlaceEdge::Kind::kEnd:
      return {slot.end_call, slot.end_call_in_handler, edge.argument, edge.frame};
    case PlaceEdge::Kind::kBeginApi:
      return {slot.begin_api_call, slot.begin_api_call_in_handler, edge.argument, edge.frame};
    case PlaceEdge::Kind::kCountApi:
      return {slot.count_api_call, slot.begin_api_call_in_handler, edge.argument, edge.frame};
    case PlaceEdge::Kind::kOwnCall:
      return {slot.own_call, 0, edge.argument, edge.frame};
    case PlaceEdge::Kind::kGoroutine:
      return {slot.goroutine, 0, edge.argument, edge.frame};
    case PlaceEdge::Kind::kNone:
      break;
  }
  return {};
}

void TakeTrap(PlacePlans* plans) {
  plans->best = *std::exchange(plans->by_trap, std::nullopt);
  plans->by_shared_jump.reset();
}

bool IsAsleep(pid_t pid) {
  for (const std::string& task : NamesIn(absl::StrCat("/proc/", pid, "/task"))) {
    int tid = 0;
    if (!absl::SimpleAtoi(task, &tid)) continue;
    if (ThreadStateLetter(pid, tid) == 'R') return false;
  }
  return true;
}

}  // namespace

// Of those that count there, or the number that the next place will have.
size_t PatchedPlaces::LeaderAt(const PlaceInFile& place, uint64_t changed_offset) const {
  for (size_t i = 0; i < places_.size(); ++i) {
    const Place& other = places_[i];
    if (other.leader == i && other.changed_offset == changed_offset &&
        other.in_file.file == place.file && places_[i].counting != 0) {
      return i;
    }
  }
  return places_.size();
}

std::string PatchedPlaces::MakeRoom(const PlaceInFile& place, PlacePlans* plans) {
  const uint64_t offset = place.code.function_offset + plans->best.offset;
  const size_t same = LeaderAt(place, offset);
  if (same != places_.size()) {
    if (places_[same].was_asked) return "another point counts there already";
    const auto points = std::count_if(places_.begin(), places_.end(),
                                      [same](const Place& one) { return one.leader == same; });
    if (points > static_cast<ptrdiff_t>(patch::kMaxOtherCounters)) {
      return absl::StrCat(points, " points count there already");
    }
    return "";
  }
  for (size_t i = 0; i < places_.size(); ++i) {
    Place& other = places_[i];
    if (other.leader != i || other.in_file.file != place.file || places_[i].counting == 0) continue;
    const uint64_t function = other.in_file.code.function_offset;
    const auto overlap = [&](const patch::PlacePlan& one, const patch::PlacePlan& another) {
      return function + another.offset < offset + one.original.size() &&
             offset < function + another.offset + another.original.size();
    };
    std::optional<patch::PlacePlan>& by_trap = plans->by_trap;
    std::optional<patch::PlacePlan>& other_by_trap = other.plans.by_trap;
    if (!overlap(plans->best, other.plans.best)) continue;
    const bool other_may_change = other_by_trap.has_value() && !other.was_asked;
    const bool both = by_trap.has_value() && other_may_change && !overlap(*by_trap, *other_by_trap);
    if (by_trap.has_value() && !overlap(*by_trap, other.plans.best)) {
      TakeTrap(plans);
    } else if (other_may_change && (both || !overlap(plans->best, *other_by_trap))) {
      const bool needs_both = overlap(plans->best, *other_by_trap);
      TakeTrap(&other.plans);
      other.way = patch::Way::kTrap;
      if (needs_both) TakeTrap(plans);
    } else {
      return absl::StrCat("its first bytes are changed to count ", other.in_file.code.name);
    }
  }
  return "";
}

size_t PatchedPlaces::Add(const VisitSlots& slots, const PlaceInFile& place,
                          const PlacePlans& plans, const PlaceEdge& edge) {
  const uint64_t offset = place.code.function_offset + plans.best.offset;
  const size_t leader =
      edge.kind == PlaceEdge::Kind::kNone ? LeaderAt(place, offset) : places_.size();
  places_.push_back({slots, place, plans, offset, plans.best.way, false, false, edge, leader});
  ++places_[leader].counting;
  ExpectChanges();
  return places_.size() - 1;
}

bool PatchedPlaces::IsThere(size_t number) const {
  const size_t leader = places_[number].leader;
  return std::any_of(processes_.begin(), processes_.end(), [leader](const auto& process) {
    return std::any_of(process.second.done.begin(), process.second.done.end(),
                       [leader](const auto& done) { return done.second == leader; });
  });
}

bool PatchedPlaces::AreThere(const std::vector<size_t>& numbers,
                             const ImageProcess& process) const {
  const auto known = processes_.find(Identity(process.pid, process.start_ns));
  if (known == processes_.end()) return false;
  return std::all_of(numbers.begin(), numbers.end(), [this, &known](size_t number) {
    const size_t leader = places_[number].leader;
    return std::any_of(known->second.done.begin(), known->second.done.end(),
                       [leader](const auto& done) { return done.second == leader; });
  });
}

bool PatchedPlaces::IsGone(size_t number) const {
  return places_[places_[number].leader].counting == 0 && !IsThere(number);
}

bool PatchedPlaces::HasChangesToUndo() const {
  for (size_t i = 0; i < places_.size(); ++i) {
    if (places_[places_[i].leader].counting == 0 && IsThere(i)) return true;
  }
  return false;
}

void PatchedPlaces::Refuse(size_t leader, const std::string& why,
                           std::vector<Refused>* refused) const {
  for (size_t i = leader; i < places_.size(); ++i) {
    if (places_[i].leader == leader) refused->push_back({i, why});
  }
}

patch::CounterPlace PatchedPlaces::CountersOf(size_t leader,
                                              const shared::ProcessSlot& slot) const {
  const auto cell = [](uint32_t number) {
    return static_cast<int32_t>(offsetof(shared::ThreadSlot, visits) + number * sizeof(uint64_t));
  };
  const auto extra = [cell](uint32_t number) { return number == kNoSlot ? 0 : cell(number); };
  const VisitSlots& slots = places_[leader].slots;
  patch::CounterPlace counters = {slot.counters_fs_offset,
                                  cell(slots.visits),
                                  extra(slots.begins),
                                  extra(slots.without_begin),
                                  {},
                                  late_.answer == nullptr ? 0 : 1};
  size_t others = 0;
  for (size_t i = leader + 1; i < places_.size() && others < patch::kMaxOtherCounters; ++i) {
    if (places_[i].leader == leader) counters.others[others++] = cell(places_[i].slots.visits);
  }
  return counters;
}

void PatchedPlaces::Remove(size_t number) {
  Place& place = places_[number];
  if (!place.is_removed) --places_[place.leader].counting;
  place.is_removed = true;
  ExpectChanges();
}

void PatchedPlaces::Restore(size_t number) {
  Place& place = places_[number];
  if (place.is_removed) ++places_[place.leader].counting;
  place.is_removed = false;
  number = place.leader;
  places_[number].given_up = false;
  for (auto& [identity, process] : processes_) {
    process.tries.erase(number);
    for (auto it = process.restored.begin(); it != process.restored.end();) {
      it = it->second == number ? process.restored.erase(it) : std::next(it);
    }
  }
  ExpectChanges();
}

void PatchedPlaces::ExpectChanges() {
  for (auto& [identity, process] : processes_) {
    process.is_behind = true;
    process.silent = 0;
  }
}

bool PatchedPlaces::IsSettled() const {
  return !asked_.has_value() &&
         std::all_of(processes_.begin(), processes_.end(), [](const auto& known) {
           return !known.second.is_behind || known.second.silent >= kSilentRounds;
         });
}

PatchedPlaces::Process& PatchedPlaces::Remember(const shared::ProcessSlot& slot,
                                                const ImageProcess& process) {
  const Identity identity(process.pid, process.start_ns);
  const auto known = processes_.find(identity);
  if (known != processes_.end()) return known->second;
  // A child of fork has what its parent had changed by then.
  Process inherited;
  for (const auto& [other, other_process] : processes_) {
    if (other.first == slot.parent_pid && other.second < process.start_ns &&
        other_process.changed_ns < process.start_ns && other_process.changed_ns != 0) {
      inherited = other_process;
    }
  }
  inherited.is_behind = true;
  inherited.silent = 0;
  inherited.ask_again_ns = 0;
  inherited.unloads = slot.unloads.load(std::memory_order_acquire);
  return processes_.emplace(identity, std::move(inherited)).first->second;
}

bool PatchedPlaces::IsToBeAsked(pid_t pid, uint64_t start_ns) const {
  if (late_.answer == nullptr || places_.empty()) return false;
  const auto known = processes_.find({pid, start_ns});
  return known == processes_.end() || known->second.is_behind;
}

void PatchedPlaces::Forget(const std::vector<std::pair<pid_t, uint64_t>>& live) {
  for (auto process = processes_.begin(); process != processes_.end();) {
    const bool is_live = std::count(live.begin(), live.end(), process->first) != 0;
    process = is_live ? std::next(process) : processes_.erase(process);
  }
}

std::optional<patch::CodePatch> PatchedPlaces::Build(size_t leader, const patch::PlacePlan& plan,
                                                     uint64_t address,
                                                     const shared::ProcessSlot& slot,
                                                     patch::StubSpace* space) const {
  const Place& place = places_[leader];
  const points::CodePlace& code = place.in_file.code;
  // The same everywhere in the file: where it lies less where it was linked to.
  const uint64_t bias = address - (code.elf_address + (place.changed_offset - code.file_offset));
  const uint64_t semaphore = code.semaphore == 0 ? 0 : code.semaphore + bias;
  const std::optional<uint64_t> stub = patch::TakeStub(plan, address, space);
  if (!stub.has_value()) return std::nullopt;
  return patch::BuildPatch(plan, address, *stub, CountersOf(leader, slot), semaphore,
                           EdgeIn(slot, place.edge));
}

std::optional<patch::CodePatch> PatchedPlaces::PatchFor(size_t number, uint64_t address,
                                                        const shared::ProcessSlot& slot,
                                                        Process* known) {
  Place& place = places_[number];
  const auto built = known->built.find({address, number});
  if (built != known->built.end() && built->second.way == place.way) return built->second;
  const auto build = [&](const patch::PlacePlan& plan) {
    return Build(number, plan, address, slot, &known->space);
  };
  const PlacePlans& plans = place.plans;
  std::optional<patch::CodePatch> patch;
  if (place.way == patch::Way::kJump || !plans.by_trap.has_value()) {
    patch = build(plans.best);
    if (!patch.has_value() && plans.by_shared_jump.has_value()) {
      patch = build(*plans.by_shared_jump);
    }
  }
  if (!patch.has_value() && plans.by_trap.has_value()) {
    place.way = patch::Way::kTrap;
    patch = build(*plans.by_trap);
  }
  if (patch.has_value()) known->built[{address, number}] = *patch;
  return patch;
}

void PatchedPlaces::WriteRemovals(const ImageProcess& process, const Process& known,
                                  shared::PatchRequest* request, Asked* asked) const {
  for (size_t i = 0; i < places_.size() && asked->places.size() < shared::kMaxAskedPatches; ++i) {
    if (places_[i].leader != i || places_[i].counting != 0) continue;
    const uint64_t address =
        RuntimeAddress(process.mapped, places_[i].in_file.file, places_[i].changed_offset);
    if (address == 0 || known.restored.count({address, i}) != 0) continue;
    // Another point may count there now.
    const auto done = known.done.find(address);
    if (done != known.done.end() && done->second != i) continue;
    request->patches[asked->places.size()].address = address;
    asked->places.push_back(i);
    asked->addresses.push_back(address);
  }
}

void PatchedPlaces::WriteInsertions(const shared::ProcessSlot& slot, const ImageProcess& process,
                                    bool waits, Process* known, shared::PatchRequest* request,
                                    Asked* asked, std::vector<Refused>* refused) {
  bool is_first = true;
  std::string why_not;
  for (size_t at = 0; at < 2 * places_.size(); ++at) {
    if (asked->places.size() == shared::kMaxAskedPatches) break;
    const size_t i = at % places_.size();
    if (!IsToInsert(i, *known, /*comes_last=*/at >= places_.size())) continue;
    Place& place = places_[i];
    int& tries = known->tries[i];
    const uint64_t address =
        RuntimeAddress(process.mapped, place.in_file.file, place.changed_offset);
    if (address == 0 || known->done.count(address) != 0) continue;
    if (is_first && late_.why_not != nullptr) why_not = late_.why_not(process.pid);
    if (is_first) SetMapped(process.pid, &known->space);
    is_first = false;
    const bool may_block = !waits && !place.was_asked && MayBlockSigtrap(place.in_file.file);
    if (may_block || !why_not.empty()) {
      tries = kMostTries;
      Refuse(i, may_block ? kBlocksInside : why_not, refused);
      continue;
    }
    const std::optional<patch::CodePatch> patch = PatchFor(i, address, slot, known);
    if (++tries == kMostTries) Refuse(i, kNoMemory, refused);
    if (!patch.has_value()) continue;
    place.was_asked = true;
    request->patches[asked->places.size()] = *patch;
    asked->places.push_back(i);
    asked->addresses.push_back(address);
  }
}

bool PatchedPlaces::IsToInsert(size_t number, const Process& known, bool comes_last) const {
  const Place& place = places_[number];
  const auto tries = known.tries.find(number);
  return place.leader == number && place.comes_last == comes_last && !place.given_up &&
         place.counting != 0 && (tries == known.tries.end() || tries->second < kMostTries);
}

bool PatchedPlaces::Write(shared::ControlBlock& control, const shared::ProcessSlot& slot,
                          const ImageProcess& process, bool waits, Process* known,
                          std::vector<Refused>* refused) {
  shared::PatchRequest& request = control.patch_request;
  const uint64_t now_ns = MonotonicNowNs();
  if (asked_.has_value() || now_ns < known->ask_again_ns ||
      request.state.load(std::memory_order_acquire) != shared::PatchRequestState::kFree) {
    return false;
  }
  Asked asked = {Identity(process.pid, process.start_ns), {}, {}, now_ns, true};
  WriteRemovals(process, *known, &request, &asked);
  if (asked.places.empty()) {
    asked.removes = false;
    WriteInsertions(slot, process, waits, known, &request, &asked, refused);
  }
  known->is_behind = !asked.places.empty();
  if (asked.places.empty()) return false;
  request.removes = asked.removes ? 1 : 0;
  request.count = static_cast<uint32_t>(asked.places.size());
  request.pid.store(process.pid, std::memory_order_relaxed);
  request.state.store(shared::PatchRequestState::kAsked, std::memory_order_release);
  asked_ = std::move(asked);
  return true;
}

void PatchedPlaces::TakeRemoval(size_t number, uint64_t address, uint32_t result, Process* known) {
  if (static_cast<patch::PatchResult>(result) == patch::PatchResult::kBusy) return;
  known->done.erase(address);
  known->restored.insert({address, number});
  known->changed_ns = MonotonicNowNs();
}

void PatchedPlaces::TakeResult(size_t number, uint64_t address, uint32_t result, Process* known,
                               std::vector<Refused>* refused) {
  Place& place = places_[number];
  switch (static_cast<patch::PatchResult>(result)) {
    case patch::PatchResult::kDone:
    case patch::PatchResult::kAlready:
      known->done[address] = number;
      known->tries[number] = 0;
      known->changed_ns = MonotonicNowNs();
      return;
    case patch::PatchResult::kBusy:
      return;  // it is asked again
    case patch::PatchResult::kNoStubSpace:
      known->built.erase({address, number});  // and at another address
      return;
    case patch::PatchResult::kManyThreads:
      known->built.erase({address, number});
      if (place.plans.by_shared_jump.has_value()) {
        place.plans.best = *std::exchange(place.plans.by_shared_jump, std::nullopt);
      }
      // A jump that shares bytes needs no int3s within, and so may come while threads run.
      if (place.way == patch::Way::kJump && place.plans.best.shared_bytes != 0) return;
      [[fallthrough]];
    // An int3 touches fewer bytes: another tool's breakpoint may stand in the others.
    case patch::PatchResult::kOtherCode:
    case patch::PatchResult::kOverlaps:
    case patch::PatchResult::kShadowStack:
      if (place.way == patch::Way::kJump && place.plans.by_trap.has_value()) {
        place.way = patch::Way::kTrap;
        return;
      }
      break;
    default:
      break;
  }
  known->tries[number] = kMostTries;
  Refuse(number, patch::Describe(static_cast<patch::PatchResult>(result)), refused);
}

void PatchedPlaces::TakeAnswer(shared::ControlBlock& control, std::vector<Refused>* refused) {
  shared::PatchRequest& request = control.patch_request;
  if (!asked_.has_value() ||
      request.state.load(std::memory_order_acquire) != shared::PatchRequestState::kAnswered) {
    return;
  }
  const auto known = processes_.find(asked_->process);
  for (size_t i = 0; i < asked_->places.size() && known != processes_.end(); ++i) {
    known->second.silent = 0;
    if (asked_->removes) {
      TakeRemoval(asked_->places[i], asked_->addresses[i], request.results[i], &known->second);
    } else {
      TakeResult(asked_->places[i], asked_->addresses[i], request.results[i], &known->second,
                 refused);
    }
  }
  asked_.reset();
  request.state.store(shared::PatchRequestState::kFree, std::memory_order_release);
}

// Nobody has answered for long: the process sleeps, or has ended.
void PatchedPlaces::Withdraw(shared::ControlBlock& control) {
  if (!asked_.has_value()) return;
  shared::PatchRequest& request = control.patch_request;
  auto asked = shared::PatchRequestState::kAsked;
  const bool is_free =
      request.state.compare_exchange_strong(asked, shared::PatchRequestState::kFree) ||
      kill(asked_->process.first, 0) != 0;
  if (!is_free) return;
  const auto known = processes_.find(asked_->process);
  if (known != processes_.end()) {
    for (const size_t place : asked_->places) {
      if (!asked_->removes) --known->second.tries[place];
    }
    ++known->second.silent;
    known->second.ask_again_ns = MonotonicNowNs() + kAskAgainNs;
  }
  asked_.reset();
  request.state.store(shared::PatchRequestState::kFree, std::memory_order_release);
}

void PatchedPlaces::AwaitAnswer(shared::ControlBlock& control, std::vector<Refused>* refused) {
  constexpr timespec kLook = {0, 50 * kNsPerUs};
  const uint64_t begin_ns = MonotonicNowNs();
  const uint64_t longest_ns =
      unanswered_ < kMostUnanswered ? kLongestAnswerNs : kLongestAnswerOfSilentNs;
  bool was_made_to = late_.answer == nullptr;
  while (asked_.has_value() && MonotonicNowNs() < begin_ns + longest_ns) {
    nanosleep(&kLook, nullptr);
    if (!was_made_to && MonotonicNowNs() > begin_ns + kBySampleNs) {
      late_.answer(asked_->process.first);
      was_made_to = true;
    }
    TakeAnswer(control, refused);
  }
  unanswered_ = asked_.has_value() ? unanswered_ + 1 : 0;
}

std::vector<PatchedPlaces::Refused> PatchedPlaces::AskAtStart(shared::ControlBlock& control,
                                                              const shared::ProcessSlot& slot,
                                                              const ImageProcess& process) {
  std::vector<Refused> refused;
  if (places_.empty() || slot.counters_fs_offset == 0) return refused;
  TakeAnswer(control, &refused);
  Withdraw(control);
  const size_t told_by_others = refused.size();
  Process& known = Remember(slot, process);
  const bool waits = late_.answer == nullptr;
  for (int round = 0;
       round < kMostRoundsAtStart && Write(control, slot, process, waits, &known, &refused);
       ++round) {
    AwaitAnswer(control, &refused);
    if (!asked_.has_value()) continue;
    Withdraw(control);
    break;
  }
  for (size_t i = 0; i < places_.size(); ++i) {
    const uint64_t address =
        RuntimeAddress(process.mapped, places_[i].in_file.file, places_[i].changed_offset);
    if (address == 0 || places_[i].is_removed || known.done.count(address) != 0) continue;
    const bool is_told = std::any_of(refused.begin(), refused.end(),
                                     [i](const Refused& told) { return told.place == i; });
    if (!is_told) refused.push_back({i, kNoMemory});
  }
  ForgetRefusalsOfEnded(process, told_by_others, &refused);
  for (const Refused& told : refused) places_[places_[told.place].leader].given_up = true;
  return refused;
}

void PatchedPlaces::ForgetRefusalsOfEnded(const ImageProcess& process, size_t told_by_others,
                                          std::vector<Refused>* refused) const {
  if (late_.has_ended == nullptr || refused->size() == told_by_others) return;
  if (!late_.has_ended(process.pid)) return;
  refused->erase(refused->begin() + static_cast<ptrdiff_t>(told_by_others), refused->end());
}

std::vector<PatchedPlaces::Refused> PatchedPlaces::Ask(shared::ControlBlock& control,
                                                       const shared::ProcessSlot& slot,
                                                       const ImageProcess& process) {
  std::vector<Refused> refused;
  if (places_.empty() || slot.counters_fs_offset == 0) return refused;
  TakeAnswer(control, &refused);
  if (asked_.has_value()) {
    const uint64_t waited_ns = MonotonicNowNs() - asked_->since_ns;
    const bool is_over = waited_ns > kWithdrawNs;
    const bool is_asleep = waited_ns > kAsleepNs && IsAsleep(asked_->process.first);
    if (is_asleep && late_.answer != nullptr) {
      late_.answer(asked_->process.first);
      TakeAnswer(control, &refused);
    }
    if (asked_.has_value() && (is_over || is_asleep)) Withdraw(control);
  }
  const size_t told_by_others = refused.size();
  Process& known = Remember(slot, process);
  const uint32_t unloads = slot.unloads.load(std::memory_order_acquire);
  if (unloads != known.unloads) {
    // The process knows best what has gone.
    known.unloads = unloads;
    known.done.clear();
    known.tries.clear();
    known.restored.clear();
    known.built.clear();
    known.is_behind = true;
  }
  Write(control, slot, process, /*waits=*/false, &known, &refused);
  ForgetRefusalsOfEnded(process, told_by_others, &refused);
  return refused;
}

}  // namespace coz::supervisor
