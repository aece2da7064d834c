#include "coz/supervisor/points/patched_places.h"

#include <fcntl.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "coz/base/clock.h"
#include "coz/base/unique_fd.h"
#include "coz/patch/patch_builder.h"
#include "coz/patch/patch_result.h"
#include "coz/supervisor/target/mapped_code.h"

namespace coz::supervisor {
namespace {

// A process at its start answers at once, unless it is stopped.
constexpr uint64_t kLongestAnswerNs = 1 * kNsPerSecond;
// A process that runs answers with its next sample. One that sleeps visits nothing meanwhile.
constexpr uint64_t kWithdrawNs = 300 * kNsPerMs;
constexpr int kMostTries = 20;

// Libraries that block signals inside, or that the runtime's own handler calls.
bool MayBlockSigtrap(const std::string& file) {
  const std::string name = std::filesystem::path(file).filename().string();
  for (const char* prefix : {"libc.so", "libc-", "ld-linux", "ld-2", "libpthread", "librt", "libdl",
                             "libgcc_s", "libunwind", "libasan", "libtsan", "libubsan"}) {
    if (absl::StartsWith(name, prefix)) return true;
  }
  return false;
}

void SetMapped(pid_t pid, patch::StubSpace* space) {
  std::vector<patch::AddressRange> ranges;
  for (const MappedRange& range : ReadMappedRanges(pid)) ranges.push_back({range.begin, range.end});
  space->SetMapped(std::move(ranges));
}

// The routines lie elsewhere in each process.
patch::CallEdge EdgeIn(const shared::ProcessSlot& slot, const PlaceEdge& edge) {
  switch (edge.kind) {
    case PlaceEdge::Kind::kBegin:
      return {slot.begin_call, slot.begin_call_in_handler, edge.argument, edge.frame};
    case PlaceEdge::Kind::kEnd:
      return {slot.end_call, slot.end_call_in_handler, edge.argument, edge.frame};
    case PlaceEdge::Kind::kNone:
      break;
  }
  return {};
}

PlacePlans NoPlan(const std::string& why) {
  PlacePlans plans;
  plans.best.why_none = why;
  return plans;
}

}  // namespace

PlacePlans PlanInFile(const std::string& file, const points::CodePlace& place,
                      bool has_restartable_code) {
  if (has_restartable_code) return NoPlan("its binary has code that the kernel restarts (rseq)");
  if (place.function_bytes == 0) return NoPlan("it is not known where its function ends");
  const UniqueFd fd(open(file.c_str(), O_RDONLY | O_CLOEXEC));
  std::vector<uint8_t> code(place.function_room);
  const ssize_t read =
      pread(fd.get(), code.data(), code.size(), static_cast<off_t>(place.function_offset));
  if (read != static_cast<ssize_t>(code.size())) return NoPlan("its code cannot be read");
  patch::PlanLimits limits;
  limits.allow_trap = !MayBlockSigtrap(file);
  const patch::PlaceInCode in_code = {code.data(), place.function_bytes, code.size(),
                                      place.file_offset - place.function_offset};
  PlacePlans plans;
  plans.best = patch::PlanPlace(in_code, limits);
  limits.allow_jump = false;
  if (plans.best.way != patch::Way::kJump || !limits.allow_trap) return plans;
  patch::PlacePlan by_trap = patch::PlanPlace(in_code, limits);
  if (by_trap.way == patch::Way::kTrap) plans.by_trap = std::move(by_trap);
  return plans;
}

size_t PatchedPlaces::Add(uint32_t slot, const PlaceInFile& place, const PlacePlans& plans,
                          const PlaceEdge& edge) {
  Place added = {slot,           place, plans, place.code.function_offset + plans.best.offset,
                 plans.best.way, false, edge};
  places_.push_back(added);
  return places_.size() - 1;
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
  inherited.unloads = slot.unloads.load(std::memory_order_acquire);
  return processes_.emplace(identity, std::move(inherited)).first->second;
}

void PatchedPlaces::Forget(const std::vector<std::pair<pid_t, uint64_t>>& live) {
  for (auto process = processes_.begin(); process != processes_.end();) {
    const bool is_live = std::count(live.begin(), live.end(), process->first) != 0;
    process = is_live ? std::next(process) : processes_.erase(process);
  }
}

std::optional<patch::CodePatch> PatchedPlaces::Build(const Place& place, uint64_t address,
                                                     const shared::ProcessSlot& slot, bool by_trap,
                                                     patch::StubSpace* space) const {
  const patch::PlacePlan& plan = by_trap ? *place.plans.by_trap : place.plans.best;
  const size_t bytes = patch::MostStubBytes(plan);
  const patch::CounterPlace counter = {
      slot.counters_fs_offset,
      static_cast<int32_t>(offsetof(shared::ThreadSlot, visits) + place.slot * sizeof(uint64_t))};
  const uint32_t traps = plan.way == patch::Way::kJump ? patch::TrapsInDistance(plan) : 0;
  std::optional<uint64_t> stub = space->Take(address, bytes, traps);
  if (!stub.has_value() && plan.no_entry_inside) stub = space->Take(address, bytes, 0);
  if (!stub.has_value()) return std::nullopt;
  return patch::BuildPatch(plan, address, *stub, counter, EdgeIn(slot, place.edge));
}

bool PatchedPlaces::Write(shared::ControlBlock& control, const shared::ProcessSlot& slot,
                          const ImageProcess& process, Process* known) {
  shared::PatchRequest& request = control.patch_request;
  if (asked_.has_value() ||
      request.state.load(std::memory_order_acquire) != shared::PatchRequestState::kFree) {
    return false;
  }
  Asked asked = {Identity(process.pid, process.start_ns), {}, {}, MonotonicNowNs()};
  bool has_ranges = false;
  for (size_t i = 0; i < places_.size() && asked.places.size() < shared::kMaxAskedPatches; ++i) {
    Place& place = places_[i];
    int& tries = known->tries[i];
    if (place.given_up || tries >= kMostTries) continue;
    const uint64_t address =
        RuntimeAddress(process.mapped, place.in_file.file, place.changed_offset);
    if (address == 0 || known->done.count(address) != 0) continue;
    if (!has_ranges) SetMapped(process.pid, &known->space);
    has_ranges = true;
    const bool tries_trap = place.plans.by_trap.has_value();
    std::optional<patch::CodePatch> patch;
    if (place.way == patch::Way::kJump || !tries_trap) {
      patch = Build(place, address, slot, false, &known->space);
    }
    if (!patch.has_value() && tries_trap) {
      place.way = patch::Way::kTrap;
      patch = Build(place, address, slot, true, &known->space);
    }
    ++tries;
    if (!patch.has_value()) continue;
    request.patches[asked.places.size()] = *patch;
    asked.places.push_back(i);
    asked.addresses.push_back(address);
  }
  if (asked.places.empty()) return false;
  request.count = static_cast<uint32_t>(asked.places.size());
  request.pid.store(process.pid, std::memory_order_relaxed);
  request.state.store(shared::PatchRequestState::kAsked, std::memory_order_release);
  asked_ = std::move(asked);
  return true;
}

void PatchedPlaces::TakeResult(size_t number, uint64_t address, uint32_t result, Process* known,
                               std::vector<Refused>* refused) {
  Place& place = places_[number];
  switch (static_cast<patch::PatchResult>(result)) {
    case patch::PatchResult::kDone:
    case patch::PatchResult::kAlready:
      known->done[address] = number;
      known->changed_ns = MonotonicNowNs();
      return;
    case patch::PatchResult::kBusy:
    case patch::PatchResult::kNoStubSpace:
      return;  // it is asked again, at another address
    case patch::PatchResult::kManyThreads:
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
  refused->push_back({number, patch::Describe(static_cast<patch::PatchResult>(result))});
}

void PatchedPlaces::TakeAnswer(shared::ControlBlock& control, std::vector<Refused>* refused) {
  shared::PatchRequest& request = control.patch_request;
  if (!asked_.has_value() ||
      request.state.load(std::memory_order_acquire) != shared::PatchRequestState::kAnswered) {
    return;
  }
  const auto known = processes_.find(asked_->process);
  for (size_t i = 0; i < asked_->places.size() && known != processes_.end(); ++i) {
    TakeResult(asked_->places[i], asked_->addresses[i], request.results[i], &known->second,
               refused);
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
    for (const size_t place : asked_->places) --known->second.tries[place];
  }
  asked_.reset();
  request.state.store(shared::PatchRequestState::kFree, std::memory_order_release);
}

std::vector<PatchedPlaces::Refused> PatchedPlaces::AskAtStart(shared::ControlBlock& control,
                                                              const shared::ProcessSlot& slot,
                                                              const ImageProcess& process) {
  std::vector<Refused> refused;
  if (places_.empty() || slot.counters_fs_offset == 0) return refused;
  TakeAnswer(control, &refused);
  Withdraw(control);
  Process& known = Remember(slot, process);
  constexpr timespec kLook = {0, 50 * kNsPerUs};
  while (Write(control, slot, process, &known)) {
    const uint64_t deadline_ns = MonotonicNowNs() + kLongestAnswerNs;
    while (asked_.has_value() && MonotonicNowNs() < deadline_ns) {
      nanosleep(&kLook, nullptr);
      TakeAnswer(control, &refused);
    }
    if (!asked_.has_value()) continue;
    Withdraw(control);
    break;
  }
  for (size_t i = 0; i < places_.size(); ++i) {
    const uint64_t address =
        RuntimeAddress(process.mapped, places_[i].in_file.file, places_[i].changed_offset);
    if (address == 0 || known.done.count(address) != 0) continue;
    const bool is_told = std::any_of(refused.begin(), refused.end(),
                                     [i](const Refused& told) { return told.place == i; });
    if (!is_told) refused.push_back({i, "no memory near the code is free"});
  }
  for (const Refused& told : refused) places_[told.place].given_up = true;
  return refused;
}

std::vector<PatchedPlaces::Refused> PatchedPlaces::Ask(shared::ControlBlock& control,
                                                       const shared::ProcessSlot& slot,
                                                       const ImageProcess& process) {
  std::vector<Refused> refused;
  if (places_.empty() || slot.counters_fs_offset == 0) return refused;
  TakeAnswer(control, &refused);
  if (asked_.has_value() && MonotonicNowNs() > asked_->since_ns + kWithdrawNs) Withdraw(control);
  Process& known = Remember(slot, process);
  const uint32_t unloads = slot.unloads.load(std::memory_order_acquire);
  if (unloads != known.unloads) {
    // The process knows best what has gone.
    known.unloads = unloads;
    known.done.clear();
    known.tries.clear();
  }
  Write(control, slot, process, &known);
  return refused;
}

}  // namespace coz::supervisor
