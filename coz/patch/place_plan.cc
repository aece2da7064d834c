#include "coz/patch/place_plan.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include "coz/patch/relocation.h"

namespace coz::patch {
namespace {

// What a walk through the whole function says of jumps.
struct Scan {
  bool is_whole = false;  // every byte was decoded
  bool jumps_by_table = false;
  std::vector<size_t> targets;  // within the function
};

Scan ScanFunction(const PlaceInCode& place) {
  Scan scan;
  size_t at = 0;
  while (at < place.function_bytes) {
    const std::optional<Instruction> found = Decode(place.code + at, place.function_bytes - at);
    if (!found.has_value()) return scan;
    if (found->flow == Flow::kJump && found->is_indirect) scan.jumps_by_table = true;
    if (found->target.has_value()) {
      const int64_t target = static_cast<int64_t>(at) + *found->target;
      if (target >= 0) scan.targets.push_back(static_cast<size_t>(target));
    }
    at += found->bytes;
  }
  scan.is_whole = place.function_bytes != 0;
  return scan;
}

bool HasTargetIn(const Scan& scan, size_t begin, size_t end) {
  return std::any_of(scan.targets.begin(), scan.targets.end(),
                     [=](size_t target) { return target >= begin && target < end; });
}

// Whether code reads flags before it sets them. Behind the first branch nothing is known, and there
// the calling convention says that a function gets none.
bool ReadsFlagsFirst(const uint8_t* code, size_t bytes) {
  for (size_t at = 0; at < bytes;) {
    const std::optional<Instruction> found = Decode(code + at, bytes - at);
    if (!found.has_value() || found->reads_flags) return found.has_value();
    if (found->sets_flags || found->flow != Flow::kOn) return false;
    at += found->bytes;
  }
  return false;
}

class Planner {
 public:
  Planner(const PlaceInCode& place, const PlanLimits& limits)
      : place_(place), limits_(limits), scan_(ScanFunction(place)) {}

  PlacePlan PlanCall() {
    plan_.offset = place_.offset;
    plan_.replaces_call = IsSystemCall(place_.offset);
    if (!plan_.replaces_call) return None("it makes no system call there");
    plan_.why_no_jump = TryJumps();
    return plan_.way == Way::kJump ? plan_ : None(plan_.why_no_jump);
  }

  PlacePlan Plan() {
    plan_.offset = place_.offset;
    const std::optional<Instruction> first = At(place_.offset);
    const bool has_endbr64 = first.has_value() && first->is_endbr64;
    if (has_endbr64) plan_.offset += first->bytes;
    if (has_endbr64 && place_.offset == 0 && HasTargetIn(scan_, plan_.offset, plan_.offset + 1)) {
      return None("a jump leads back to the instruction behind its endbr64, which is no visit");
    }
    const std::optional<Instruction> moved = At(plan_.offset);
    if (!moved.has_value()) return None("its bytes are no instruction");
    if (!moved->why_not.empty())
      return None("the instruction there cannot be copied: " + moved->why_not);
    plan_.why_no_jump = TryJumps();
    if (plan_.way == Way::kJump) return plan_;
    if (!limits_.allow_trap)
      return None(plan_.why_no_jump + ", and code of this library may block SIGTRAP");
    const std::string why = TryTrap(*moved);
    return why.empty() ? plan_ : None(plan_.why_no_jump + ", and " + why);
  }

 private:
  std::optional<Instruction> At(size_t offset) const {
    return offset >= place_.room ? std::nullopt
                                 : Decode(place_.code + offset, place_.room - offset);
  }

  bool IsSystemCall(size_t offset) const {
    return offset + sizeof(kSystemCall) <= place_.room &&
           std::equal(std::begin(kSystemCall), std::end(kSystemCall), place_.code + offset);
  }

  // Why the instruction cannot be displaced, or nothing.
  std::string WhyNot(size_t offset, const Instruction& instruction) const {
    const bool is_replaced = plan_.replaces_call && offset == plan_.offset;
    return is_replaced ? "" : instruction.why_not;
  }

  PlacePlan None(const std::string& why) {
    plan_.way = Way::kNone;
    plan_.why_none = why;
    return plan_;
  }

  void StartAnew() {
    plan_.displaced.clear();
    plan_.instructions.clear();
    plan_.pushes_return_address = false;
    plan_.goes_on = true;
  }

  void Displace(size_t offset, const Instruction& instruction) {
    plan_.instructions.push_back(offset - plan_.offset);
    plan_.displaced.insert(plan_.displaced.end(), place_.code + offset,
                           place_.code + offset + instruction.bytes);
    plan_.pushes_return_address |= instruction.flow == Flow::kCall;
    plan_.goes_on = instruction.flow != Flow::kJump && instruction.flow != Flow::kReturn;
  }

  // Returns why not, or nothing. The address behind an int3 has to belong to no other instruction
  // that a thread may come to: it tells a trap from a sample where the kernel drops one of the two.
  // A thread that is there already has passed a push, which it shows, or a nop, which does nothing.
  std::string TryTrap(const Instruction& first) {
    StartAnew();
    Displace(plan_.offset, first);
    if (first.bytes == 1) {
      const size_t behind = plan_.offset + 1;
      if (!scan_.is_whole || scan_.jumps_by_table)
        return "it is not known who jumps behind an int3";
      if (HasTargetIn(scan_, behind, behind + 1)) return "a jump leads behind an int3";
      if (behind >= place_.room) return "another function begins behind an int3";
      if (plan_.goes_on) {
        if (!IsPushOfOneByte(place_.code[plan_.offset]) && !first.is_padding)
          return "nobody sees whether a thread has passed its first byte";
        const std::optional<Instruction> second = At(behind);
        if (!second.has_value()) return "its bytes are no instruction";
        if (!second->why_not.empty()) return "the next instruction cannot be copied";
        Displace(behind, *second);
      }
    }
    plan_.original = plan_.displaced;
    plan_.way = Way::kTrap;
    return "";
  }

  // The last displaced instruction is the jump's last byte. If that is an int3, its trap must not
  // look like a thread that has come back from the stub, so one more instruction is displaced.
  bool EndsWithAnInt3() const {
    return !plan_.instructions.empty() && plan_.instructions.back() == kJumpBytes - 1 &&
           plan_.displaced.size() == kJumpBytes;
  }

  // Whether nobody executes what lies at `at`, behind the displaced instructions.
  bool IsUnused(size_t at, const Instruction& next) const {
    const bool is_behind = place_.function_bytes != 0 && at >= place_.function_bytes;
    const bool is_skipped = at + next.bytes <= skipped_until_;
    return next.is_padding && (is_behind || is_skipped);
  }

  // Whether jumps to what lies before `end` lead to displaced instructions alone.
  bool EntriesMeetInt3s(size_t end) const {
    return std::all_of(scan_.targets.begin(), scan_.targets.end(), [this, end](size_t target) {
      if (target <= plan_.offset || target >= end) return true;
      const size_t within = target - plan_.offset;
      return within < kJumpBytes && std::find(plan_.instructions.begin(), plan_.instructions.end(),
                                              within) != plan_.instructions.end();
    });
  }

  // Returns why not, or nothing.
  std::string TryJump() {
    size_t at = plan_.offset;
    while (at < plan_.offset + kJumpBytes || EndsWithAnInt3()) {
      const std::optional<Instruction> next = At(at);
      if (!next.has_value()) return "there is no room for a jump";
      if (!plan_.goes_on) {
        if (EndsWithAnInt3()) break;
        if (!IsUnused(at, *next)) return "there is no room for a jump";
        at += next->bytes;
        continue;
      }
      if (const std::string why = WhyNot(at, *next); !why.empty())
        return "an instruction cannot be copied: " + why;
      if (next->is_locked) return "an instruction there has a lock that may be jumped over";
      const size_t end = at + next->bytes;
      if (next->flow == Flow::kCall && end < plan_.offset + kJumpBytes)
        return "a call would return into the jump";
      Displace(at, *next);
      if (next->flow == Flow::kJump && next->target.has_value() && *next->target > 0)
        skipped_until_ = at + static_cast<size_t>(*next->target);
      at = end;
    }
    const size_t inside_end = plan_.offset + std::max(plan_.displaced.size(), kJumpBytes);
    const size_t behind_int3 = EndsWithAnInt3() ? 1 : 0;
    const bool has_entries = HasTargetIn(scan_, plan_.offset + 1, inside_end + behind_int3);
    if (has_entries && !(limits_.allow_entries && EntriesMeetInt3s(inside_end + behind_int3)))
      return "a jump leads into its bytes";
    plan_.no_entry_inside = !has_entries && scan_.is_whole && !scan_.jumps_by_table;
    TakeJump(inside_end);
    return "";
  }

  void TakeJump(size_t end) {
    const bool is_within = place_.offset != 0 || HasTargetIn(scan_, 0, 1);
    plan_.keeps_red_zone = is_within;
    plan_.keeps_flags =
        is_within || ReadsFlagsFirst(place_.code + plan_.offset, place_.room - plan_.offset);
    plan_.original.assign(place_.code + plan_.offset, place_.code + end);
    plan_.way = Way::kJump;
  }

  // Displaces one instruction, or two where the first has one byte: the byte behind an int3 must
  // begin no instruction. What stands behind them is the rest of the jump. Returns why not, or
  // nothing.
  std::string TrySharedJump() {
    StartAnew();
    while (plan_.displaced.size() < 2) {
      const size_t at = plan_.offset + plan_.displaced.size();
      const std::optional<Instruction> next = At(at);
      if (!next.has_value() || !plan_.goes_on) return "there is no room for a jump";
      if (const std::string why = WhyNot(at, *next); !why.empty())
        return "an instruction cannot be copied: " + why;
      if (next->is_locked) return "an instruction there has a lock that may be jumped over";
      if (at != plan_.offset && next->bytes == 1) return "two instructions have a byte each";
      Displace(at, *next);
    }
    const size_t end = plan_.offset + kJumpBytes;
    if (plan_.displaced.size() >= kJumpBytes) return "its instructions are as long as a jump";
    if (end > place_.room + place_.behind) return "what follows is not known";
    if (HasTargetIn(scan_, plan_.offset + 1, plan_.offset + plan_.displaced.size()))
      return "a jump leads into its bytes";
    plan_.shared_bytes = kJumpBytes - plan_.displaced.size();
    TakeJump(end);
    return "";
  }

  // Returns why five bytes may not be displaced, or nothing.
  std::string TryJumps() {
    if (!limits_.allow_jump) return "jumps are not allowed there";
    std::string why = limits_.allow_five_bytes ? TryJump() : "it is to share its bytes";
    if (plan_.way != Way::kJump) TrySharedJump();
    return why;
  }

  const PlaceInCode& place_;
  const PlanLimits& limits_;
  const Scan scan_;
  PlacePlan plan_;
  size_t skipped_until_ = 0;  // by a jump that is displaced
};

}  // namespace

PlacePlan PlanPlace(const PlaceInCode& place, const PlanLimits& limits) {
  return Planner(place, limits).Plan();
}

PlacePlan PlanSystemCall(const PlaceInCode& place) { return Planner(place, {}).PlanCall(); }

}  // namespace coz::patch
