#include "bench/patch/executed_copies.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <random>
#include <set>

#include "absl/strings/str_format.h"
#include "bench/patch/displaced_needs.h"
#include "bench/patch/mapped_here.h"
#include "bench/patch/register_puppet.h"
#include "bench/patch/start_state.h"
#include "coz/patch/code_patch.h"
#include "coz/patch/patch_builder.h"
#include "coz/patch/place_plan.h"
#include "coz/patch/relocation.h"
#include "coz/patch/stub_space.h"

namespace coz::bench {
namespace {

using patch::CodePatch;
using patch::Way;

constexpr uint64_t kPageBytes = 4096;
constexpr int kMostSteps = 200;
constexpr uint64_t kTrapAndResumeFlags = 0x10100;
// Of XSAVE's area: the x87 unit's last instruction, whose address differs by design.
constexpr size_t kX87PlaceBegin = 6;
constexpr size_t kX87PlaceEnd = 16;
// And its header: which parts are in use. One that is zero may be in use or not.
constexpr size_t kHeaderBegin = 512;
constexpr size_t kHeaderEnd = 576;
// What is compared of memory that an instruction names by its own address.
constexpr uint64_t kNamedBefore = 64;
constexpr size_t kNamedBytes = 256;

struct Place {
  patch::PlacePlan plan;
  CodePatch patch;
  DisplacedNeeds needs;
  bool is_entry = false;
  bool is_best = false;
};

void Count(const CodePatch& patch, Kinds* kinds) {
  const bool is_shared = patch.way == Way::kJump && patch.changed_bytes < patch::kJumpBytes;
  ++(patch.way == Way::kTrap ? kinds->traps : is_shared ? kinds->shared : kinds->jumps);
}

uint64_t RandomOffset(const FunctionCode& function, std::mt19937_64* random) {
  std::vector<uint64_t> begins;
  for (uint64_t at = 0; at < function.bytes;) {
    const auto found = patch::Decode(function.code() + at, function.bytes - at);
    if (!found.has_value()) break;
    begins.push_back(at);
    at += found->bytes;
  }
  return begins.empty() ? 0 : begins[(*random)() % begins.size()];
}

class Execution {
 public:
  explicit Execution(uint64_t seed) : random_(seed) {}

  ExecutedCopies Run(const LibraryCode& library, size_t places) {
    Choose(library, places);
    MapStubs();
    puppet_ = std::make_unique<RegisterPuppet>();
    for (const Place& place : places_) Compare(place);
    return std::move(result_);
  }

 private:
  struct Outcome {
    Stop stop;
    std::vector<uint8_t> memory;
    std::vector<std::vector<uint8_t>> named;
    uint64_t visits = 0;
  };

  void Choose(const LibraryCode& library, size_t places) {
    const size_t most_tries = 4 * places;
    places_.reserve(places);  // what is mapped from here on may lie where a stub is to be
    stubs_.SetMapped(MappedHere());
    for (size_t i = 0; places_.size() < places && i < most_tries; ++i) {
      const FunctionCode& function = library.functions[random_() % library.functions.size()];
      const bool is_entry = i % 2 == 0;
      const uint64_t offset = is_entry ? 0 : RandomOffset(function, &random_);
      Place place;
      place.is_entry = is_entry;
      place.is_best = i / 2 % 3 == 0;
      place.plan = PlanOf(function, offset, i / 2 % 3);
      if (place.plan.way == Way::kNone) {
        ++result_.refused;
        continue;
      }
      Take(function.address + place.plan.offset, &place);
    }
  }

  // In turns: the kind that is best there; a jump that shares bytes, where one can be; an int3.
  static patch::PlacePlan PlanOf(const FunctionCode& function, uint64_t offset, size_t turn) {
    const patch::PlaceInCode place = {function.code(), function.bytes, function.room, offset,
                                      function.behind};
    patch::PlanLimits limits;
    limits.allow_five_bytes = turn == 0;
    limits.allow_jump = turn < 2;
    return patch::PlanPlace(place, limits);
  }

  void Take(uint64_t address, Place* place) {
    place->needs = NeedsOf(place->plan.displaced, address);
    if (place->needs.varies) {
      ++result_.varying;
      return;
    }
    const patch::CounterPlace counter = {arena_.counter_offset(), 0, 0, 0, {}, 0};
    const std::optional<CodePatch> patch = PatchFor(place->plan, address, counter);
    if (!patch.has_value()) {
      ++result_.without_stub;
      return;
    }
    place->patch = *patch;
    places_.push_back(*place);
  }

  std::optional<CodePatch> PatchFor(const patch::PlacePlan& plan, uint64_t address,
                                    const patch::CounterPlace& counter) {
    const std::optional<uint64_t> stub = patch::TakeStub(plan, address, &stubs_);
    if (!stub.has_value()) return std::nullopt;
    return patch::BuildPatch(plan, address, *stub, counter);
  }

  void MapStubs() const {
    std::set<uint64_t> pages;
    for (const Place& place : places_) {
      const uint64_t end = place.patch.stub + place.patch.stub_bytes;
      for (uint64_t at = place.patch.stub / kPageBytes; at <= (end - 1) / kPageBytes; ++at) {
        pages.insert(at);
      }
    }
    for (const uint64_t page : pages) {
      void* const wanted = reinterpret_cast<void*>(page * kPageBytes);
      if (mmap(wanted, kPageBytes, PROT_READ | PROT_WRITE | PROT_EXEC,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) != wanted) {
        abort();
      }
    }
    for (const Place& place : places_) {
      memcpy(reinterpret_cast<void*>(place.patch.stub), place.patch.stub_code,
             place.patch.stub_bytes);
    }
  }

  Outcome RunFrom(MachineState state, uint64_t begin, uint64_t end, uint64_t outside_again,
                  const Place& place) {
    arena_.Refill();
    state.general.rip = begin;
    Outcome outcome;
    // A jump back to the place itself leaves it.
    const auto is_inside = [=](uint64_t at) {
      return at >= begin && at < end && at != outside_again;
    };
    std::vector<std::vector<uint8_t>> before = ReadNamed(place);
    outcome.stop = puppet_->Run(state, is_inside, kMostSteps);
    outcome.memory = arena_.Contents();
    outcome.visits = *arena_.counter();
    outcome.named = ReadNamed(place);
    for (size_t i = 0; i < before.size(); ++i) {
      if (before[i] != outcome.named[i]) puppet_->Write(NamedAt(place, i), before[i]);
    }
    return outcome;
  }

  static uint64_t NamedAt(const Place& place, size_t i) {
    return place.needs.named_memory[i] - kNamedBefore;
  }

  std::vector<std::vector<uint8_t>> ReadNamed(const Place& place) const {
    std::vector<std::vector<uint8_t>> all;
    for (size_t i = 0; i < place.needs.named_memory.size(); ++i) {
      std::vector<uint8_t> bytes(kNamedBytes);
      if (!puppet_->Read(NamedAt(place, i), &bytes)) bytes.clear();
      all.push_back(std::move(bytes));
    }
    return all;
  }

  void Compare(const Place& place) {
    const MachineState start =
        StartState(puppet_->first_state(), arena_, random_(), place.is_entry, place.needs.wishes);
    const CodePatch& patch = place.patch;
    const Outcome original =
        RunFrom(start, patch.address, patch.address + patch.displaced_bytes, patch.address, place);
    Outcome copy = RunFrom(start, patch.stub, patch.stub + patch.stub_bytes, 0, place);
    ++result_.places;
    Count(patch, &result_.kinds);
    if (place.is_best && !place.is_entry) Count(patch, &result_.best);
    result_.instructions += patch.displaced_count;
    if (original.stop.fault_signal != 0) ++result_.faults;
    const std::string difference = Difference(place, start, original, &copy);
    if (difference.empty()) return;
    result_.differences.push_back(absl::StrFormat(
        "%#x, %d displaced bytes %s, by %s: %s", patch.address, patch.displaced_bytes,
        Hex(place.plan.displaced), patch.way == Way::kJump ? "a jump" : "an int3", difference));
  }

  static std::string Hex(const std::vector<uint8_t>& bytes) {
    std::string text;
    for (const uint8_t byte : bytes) absl::StrAppendFormat(&text, "%02x", byte);
    return text;
  }

  // A stub that faults stands for an instruction of the original, with so much pushed.
  static void Translate(const CodePatch& patch, user_regs_struct* registers) {
    const uint64_t within = registers->rip - patch.stub;
    const patch::StubStep* step = nullptr;
    for (size_t i = 0; i < patch.step_count && patch.steps[i].stub_offset <= within; ++i) {
      step = &patch.steps[i];
    }
    if (step == nullptr) return;
    registers->rip = patch.address + step->original_offset;
    registers->rsp += step->pushed_bytes;
  }

  std::string Difference(const Place& place, const MachineState& start, const Outcome& original,
                         Outcome* copy) const {
    const CodePatch& patch = place.patch;
    const bool counts = patch.way == Way::kJump;
    if (!original.stop.is_over || !copy->stop.is_over) return "it does not come to an end";
    if (original.stop.fault_signal != copy->stop.fault_signal ||
        original.stop.fault_address != copy->stop.fault_address) {
      return absl::StrFormat("signal %d at %#x, and %d at %#x", original.stop.fault_signal,
                             original.stop.fault_address, copy->stop.fault_signal,
                             copy->stop.fault_address);
    }
    const bool has_faulted = original.stop.fault_signal != 0;
    const uint64_t copy_rsp = copy->stop.state.general.rsp;
    if (has_faulted) Translate(patch, &copy->stop.state.general);
    if (copy->visits != (counts ? 1u : 0u)) return absl::StrFormat("%d visits", copy->visits);
    // At an entry flags mean nothing, where the function does not read them.
    const bool has_flags = !counts || place.plan.keeps_flags;
    const uint64_t flags = has_flags     ? ~kTrapAndResumeFlags
                           : has_faulted ? 0
                                         : place.needs.set_flags & ~kTrapAndResumeFlags;
    std::string difference = DifferentRegister(original.stop.state, copy->stop.state, flags);
    if (!difference.empty()) return difference;
    const bool pushed = has_faulted && copy_rsp != copy->stop.state.general.rsp;
    return DifferentMemory(place, start.general.rsp, pushed ? copy_rsp : 0, original, *copy);
  }

  static std::string DifferentRegister(const MachineState& original, const MachineState& copy,
                                       uint64_t flags) {
    user_regs_struct a = original.general;
    user_regs_struct b = copy.general;
    a.eflags &= flags;
    b.eflags &= flags;
    const auto* words = reinterpret_cast<const unsigned long long*>(&a);
    const auto* others = reinterpret_cast<const unsigned long long*>(&b);
    for (size_t i = 0; i < sizeof(a) / sizeof(*words); ++i) {
      if (words[i] != others[i]) {
        return absl::StrFormat("word %d of user_regs_struct is %#x, and %#x", i, words[i],
                               others[i]);
      }
    }
    for (size_t i = 0; i < original.vector.size(); ++i) {
      const bool is_compared =
          (i < kX87PlaceBegin || i >= kX87PlaceEnd) && (i < kHeaderBegin || i >= kHeaderEnd);
      if (is_compared && original.vector[i] != copy.vector[i]) {
        return absl::StrFormat("byte %d of the vector state differs", i);
      }
    }
    return "";
  }

  // Below the stack pointer and the red zone the stub may write what it likes, and so may the
  // push of a call that then faults.
  std::string DifferentMemory(const Place& place, uint64_t rsp, uint64_t pushed_at,
                              const Outcome& original, const Outcome& copy) const {
    constexpr uint64_t kMostOfStub = 64;
    const uint64_t free_end = rsp - (place.plan.keeps_red_zone ? kRedZoneBytes : 0);
    const uint64_t free_begin = free_end - kMostOfStub;
    for (size_t i = 0; i < Arena::kBytes; ++i) {
      if (original.memory[i] == copy.memory[i]) continue;
      const uint64_t at = arena_.address() + i;
      const bool is_free =
          at >= free_begin && at < free_end && original.memory[i] == arena_.pristine()[i];
      if (is_free || (pushed_at != 0 && at >= pushed_at && at < pushed_at + 8)) continue;
      return absl::StrFormat("memory at rsp%+d differs", static_cast<int64_t>(at - rsp));
    }
    for (size_t i = 0; i < original.named.size(); ++i) {
      if (original.named[i] != copy.named[i]) {
        return absl::StrFormat("memory at %#x differs", place.needs.named_memory[i]);
      }
    }
    return "";
  }

  Arena arena_;
  std::mt19937_64 random_;
  patch::StubSpace stubs_;
  std::vector<Place> places_;
  std::unique_ptr<RegisterPuppet> puppet_;
  ExecutedCopies result_;
};

}  // namespace

ExecutedCopies ExecuteCopies(const LibraryCode& library, size_t places, uint64_t seed) {
  return Execution(seed).Run(library, places);
}

}  // namespace coz::bench
