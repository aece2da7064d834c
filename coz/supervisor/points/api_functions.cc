#include "coz/supervisor/points/api_functions.h"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <map>
#include <memory>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "coz/points/closest_names.h"
#include "coz/points/exported_functions.h"
#include "coz/points/point_spec.h"
#include "coz/supervisor/points/place_slots.h"
#include "coz/supervisor/points/refused_calls.h"
#include "coz/supervisor/target/shared_text.h"

namespace coz::supervisor {
namespace {

// Of patch::kMaxPatches, which the process's other places share.
constexpr size_t kMostPlaces = 1600;

std::string FileName(const std::string& path) {
  return std::filesystem::path(path).filename().string();
}

bool IsGlob(const std::string& text) { return text.find_first_of("*?") != std::string::npos; }

// The loader's own code finds the objects of callers.
bool IsLoader(const std::string& path) { return absl::StartsWith(FileName(path), "ld-"); }

struct Range {
  uint64_t begin;
  uint64_t end;
};

Range ChangedBy(const PlaceInFile& place, const PlacePlans& plans) {
  const uint64_t begin = place.code.function_offset + plans.best.offset;
  return {begin, begin + plans.best.original.size()};
}

bool AnyOverlap(std::vector<Range> ranges) {
  std::sort(ranges.begin(), ranges.end(),
            [](const Range& a, const Range& b) { return a.begin < b.begin; });
  return std::adjacent_find(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) {
           return b.begin < a.end;
         }) != ranges.end();
}

// Its slot + 1; 0: the table was full.
uint32_t PointSlotOf(const shared::ControlBlock& control, const std::string& name) {
  for (uint32_t i = 0; i < shared::kMaxPoints; ++i) {
    const shared::PointSlot& slot = control.points[i];
    if (slot.state.load(std::memory_order_acquire) != shared::PointState::kReady) continue;
    if (slot.kind == shared::PointKind::kPlace && SharedText(slot.name) == name) return i + 1;
  }
  return 0;
}

}  // namespace

absl::StatusOr<ApiPattern> ParseApiPattern(absl::string_view text) {
  const std::string globs = absl::StrReplaceAll(text, {{"%", "*"}});
  const size_t colon = globs.find(':');
  ApiPattern pattern = {std::string(text), globs.substr(0, colon), ""};
  if (colon != std::string::npos) pattern.function = globs.substr(colon + 1);
  if (pattern.library.empty() || (colon != std::string::npos && pattern.function.empty())) {
    return absl::InvalidArgumentError(
        "this names no library; write LIBRARY or LIBRARY:FUNCTION, as in libz.so or "
        "libz.so:deflate");
  }
  return pattern;
}

bool IsCallLatency(const std::string& text) {
  return absl::StartsWith(text, kApiPrefix) && !points::SplitPair(text).ok();
}

bool IsLibrary(const ApiPattern& pattern, const std::string& path) {
  const std::string name = FileName(path);
  return points::MatchesGlob(pattern.library, path) || points::MatchesGlob(pattern.library, name) ||
         points::MatchesGlob(absl::StrCat(pattern.library, ".*"), name);
}

absl::Status ApiFunctions::Ask(const std::string& option, const std::string& text,
                               uint32_t latency) {
  const bool is_point = option != "--api";
  absl::StatusOr<ApiPattern> pattern =
      ParseApiPattern(is_point ? absl::StripPrefix(text, kApiPrefix) : absl::string_view(text));
  if (!pattern.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(option, "='", text, "': ", pattern.status().message()));
  }
  Asked asked;
  asked.pattern = *std::move(pattern);
  if (is_point) asked.point = text;
  asked.latency = latency;
  asked_.push_back(std::move(asked));
  return absl::OkStatus();
}

absl::Status ApiFunctions::Prepare(const std::vector<std::string>& patterns, const Points& points,
                                   bool times) {
  times_ = times;
  latencies_ = points.latencies;
  if (!latencies_.empty() && !times) {
    return absl::FailedPreconditionError(absl::StrFormat(
        "--latency='%s' measures by the CPU's time-stamp counter, which does not run at one rate "
        "here (/proc/cpuinfo lacks constant_tsc or nonstop_tsc); name the lines around the call: "
        "--latency=FILE:LINE,FILE:LINE",
        latencies_.front()));
  }
  if (latencies_.size() > shared::kMaxCallLatencies) {
    return absl::ResourceExhaustedError(
        absl::StrFormat("--latency names calls of libraries %d times, and %d have room; give fewer",
                        latencies_.size(), shared::kMaxCallLatencies));
  }
  absl::Status status;
  for (const std::string& text : patterns) status.Update(Ask("--api", text, 0));
  for (const std::string& text : points.progress) {
    if (absl::StartsWith(text, kApiPrefix)) status.Update(Ask("--progress", text, 0));
  }
  uint32_t latency = 0;
  for (const std::string& text : latencies_) status.Update(Ask("--latency", text, ++latency));
  return status;
}

std::vector<ApiFunctions::Function> ApiFunctions::FindAsked(const shared::ControlBlock& control,
                                                            const points::CodePlaces& binary,
                                                            const std::string& path,
                                                            LeftOut* left_out) {
  std::map<std::pair<uint64_t, std::string>, const points::CodePlaces::Function*> by_address;
  for (const points::CodePlaces::Function& function : binary.functions()) {
    by_address.emplace(std::make_pair(function.begin, function.linkage_name), &function);
  }
  std::vector<Function> found;
  for (const points::ExportedFunction& exported : points::ReadExportedFunctions(path)) {
    const auto known = by_address.find({exported.begin, exported.linkage_name});
    const points::CodePlaces::Function code =
        known != by_address.end()
            ? *known->second
            : points::CodePlaces::Function{exported.begin, exported.end, exported.linkage_name,
                                           exported.linkage_name};
    bool is_asked = false;
    Function function = {code, 0, 0};
    for (Asked& asked : asked_) {
      if (!IsLibrary(asked.pattern, path)) continue;
      if (!asked.pattern.function.empty() &&
          !points::MatchesFunction(asked.pattern.function, code.linkage_name, code.name)) {
        continue;
      }
      asked.has_function = true;
      is_asked = true;
      if (function.latency == 0) function.latency = asked.latency;
      if (function.point == 0 && !asked.point.empty() && asked.latency == 0) {
        function.point = PointSlotOf(control, asked.point);
      }
    }
    if (!is_asked) continue;
    if (exported.is_chosen_at_load) {
      left_out->calls.insert(code.name);
    } else if (!found.empty() && found.back().code.begin == code.begin) {
      // Another name of it, by which it may be asked for as a point.
      if (found.back().point == 0) found.back().point = function.point;
      if (found.back().latency == 0) found.back().latency = function.latency;
    } else {
      found.push_back(function);
    }
  }
  return found;
}

// None where not all of them can be seen by jumps. One that shares bytes may find no stub address,
// and nothing takes its place.
std::vector<TimedEnd> ApiFunctions::EndsOf(const PlaceInFile& entry, const PlacePlans& plans,
                                           bool has_restartable_code) const {
  std::vector<TimedEnd> ends;
  if (!times_ || !FindTimedEnds(entry, has_restartable_code, &ends).empty()) return {};
  std::vector<Range> changed = {ChangedBy(entry, plans)};
  for (TimedEnd& end : ends) {
    const patch::PlacePlan& best = end.plans.best;
    if (best.way != patch::Way::kJump || best.shared_bytes != 0) return {};
    end.plans.by_trap.reset();
    changed.push_back(ChangedBy(end.place, end.plans));
  }
  if (places_ + ends.size() >= kMostPlaces || AnyOverlap(std::move(changed))) return {};
  return ends;
}

void ApiFunctions::AddFunction(shared::ControlBlock* control, const Function& function,
                               const points::CodePlaces& binary, const std::string& path,
                               std::vector<Place>* places, LeftOut* left_out) {
  const uint32_t number = count_;
  PlaceInFile entry = {path, {}};
  PlacePlans plans;
  const bool has_restartable_code = binary.has_restartable_code();
  if (binary.PlaceOf(function.code, &entry.code)) {
    plans = PlanInFile(path, entry.code, has_restartable_code);
  }
  const std::string name = points::WithoutParameters(function.code.name);
  if (plans.best.way != patch::Way::kJump) {
    left_out->calls.insert(name);
    return;
  }
  if (number == shared::kMaxApiFunctions || places_ >= kMostPlaces) {
    left_out->no_room.insert(name);
    return;
  }
  shared::ApiFunction& written = control->api.functions[number];
  const std::string full_name = absl::StrCat(FileName(path), "!", name);
  absl::SNPrintF(written.name, sizeof(written.name), "%s", full_name);
  written.point = function.point;
  const std::vector<TimedEnd> ends = EndsOf(entry, plans, has_restartable_code);
  written.ends_in_jump = EndsInJump(ends) ? 1 : 0;
  written.latency = ends.empty() ? 0 : function.latency;
  control->api.count.store(++count_, std::memory_order_release);
  if (ends.empty() && function.latency != 0) left_out->latency.insert(name);
  const uint32_t end_argument =
      (shared::kFirstApiEnd + number) | (written.latency != 0 ? shared::kEndHasLatency : 0);
  // Ends first: a begin whose end is not there yet would be dropped later.
  for (const TimedEnd& end : ends) {
    places->push_back(
        {full_name, end.place, end.plans, {PlaceEdge::Kind::kEnd, end_argument, end.frame}});
  }
  const PlaceEdge::Kind kind =
      ends.empty() ? PlaceEdge::Kind::kCountApi : PlaceEdge::Kind::kBeginApi;
  places->push_back({full_name, entry, plans, {kind, number, {0, 0}}});
  places_ += ends.size() + 1;
}

std::vector<ApiFunctions::Place> ApiFunctions::LookInFile(shared::ControlBlock* control,
                                                          const std::string& path) {
  std::vector<Place> places;
  bool is_asked = false;
  for (Asked& asked : asked_) {
    if (!IsLibrary(asked.pattern, path) || IsLoader(path)) continue;
    // A glob means the libraries that a program has chosen.
    if (MayBlockSigtrap(path) && IsGlob(asked.pattern.library)) {
      asked.passed_over = FileName(path);
      continue;
    }
    asked.has_library = true;
    is_asked = true;
  }
  if (!is_asked) return places;
  const absl::StatusOr<std::unique_ptr<points::CodePlaces>> binary = points::CodePlaces::Open(path);
  if (!binary.ok()) {
    warnings_.push_back(absl::StrFormat("calls into %s are not counted: %s", FileName(path),
                                        binary.status().message()));
    return places;
  }
  LeftOut left_out;
  for (const Function& function : FindAsked(*control, **binary, path, &left_out)) {
    AddFunction(control, function, **binary, path, &places, &left_out);
  }
  WarnOf(left_out, FileName(path));
  return places;
}

void ApiFunctions::WarnOf(const LeftOut& left_out, const std::string& library) {
  if (!left_out.calls.empty()) {
    warnings_.push_back(absl::StrFormat(
        "calls of %d function%s of %s are not counted, for their code is not to be changed: %s",
        left_out.calls.size(), left_out.calls.size() == 1 ? "" : "s", library,
        SomeNames(left_out.calls)));
  }
  if (!left_out.no_room.empty()) {
    warnings_.push_back(absl::StrFormat(
        "calls of %d functions of %s are not counted, for %d functions and %d places where they "
        "begin and end have room: %s; name fewer, as in --api='%s:%s'",
        left_out.no_room.size(), library, shared::kMaxApiFunctions, kMostPlaces,
        SomeNames(left_out.no_room), library, *left_out.no_room.begin()));
  }
  if (!left_out.latency.empty()) {
    warnings_.push_back(absl::StrFormat(
        "the latency of calls of %d function%s of %s is not known, for not all of their ends are "
        "seen: %s; name the lines around a call: --latency=FILE:LINE,FILE:LINE",
        left_out.latency.size(), left_out.latency.size() == 1 ? "" : "s", library,
        SomeNames(left_out.latency)));
  }
}

std::vector<std::string> ApiFunctions::TakeWarnings() { return std::exchange(warnings_, {}); }

std::vector<std::string> ApiFunctions::Missing(const std::set<std::string>& loaded) const {
  std::vector<std::string> missing;
  for (const Asked& asked : asked_) {
    if (asked.has_function) continue;
    const std::string text = asked.point.empty() ? asked.pattern.text : asked.point;
    if (asked.has_library) {
      missing.push_back(
          absl::StrFormat("calls of '%s' were not counted, for the library exports no such "
                          "function; see those that it does with: nm -D --defined-only LIBRARY",
                          text));
      continue;
    }
    if (!asked.passed_over.empty()) {
      missing.push_back(
          absl::StrFormat("calls of '%s' were not counted, for a pattern means no library of the "
                          "system; write the whole name of the library: %s",
                          text, asked.passed_over));
      continue;
    }
    const std::string closest = points::ClosestLibraries(asked.pattern.library, loaded);
    missing.push_back(absl::StrFormat(
        "calls of '%s' were not counted, for no program loaded such a library%s", text,
        closest.empty() ? "; see what is loaded with: ldd PROGRAM" : closest));
  }
  return missing;
}

}  // namespace coz::supervisor
