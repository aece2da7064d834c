#include "coz/supervisor/points/counted_functions.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "coz/base/clock.h"
#include "coz/points/closest_names.h"
#include "coz/shared/slot_loops.h"
#include "coz/supervisor/points/place_slots.h"
#include "coz/supervisor/target/call_latencies.h"
#include "coz/supervisor/target/mapped_code.h"

namespace coz::supervisor {
namespace {

// Of the 256 that points and functions share.
constexpr size_t kMostFunctions = 160;

absl::Status OfOption(bool is_timed, const std::string& text, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat(is_timed ? "--time='" : "--count='", text,
                                                  "': ", status.message()));
}

bool IsBinary(const std::string& glob, const std::string& path) {
  return points::MatchesGlob(glob, path) ||
         points::MatchesGlob(glob, std::filesystem::path(path).filename().string());
}

bool HasSteadyTicks() {
  std::ifstream info("/proc/cpuinfo");
  std::string line;
  while (std::getline(info, line)) {
    if (!absl::StartsWith(line, "flags")) continue;
    return absl::StrContains(line, " constant_tsc") && absl::StrContains(line, " nonstop_tsc");
  }
  return false;
}

// The number of a function that is timed. Processes take some too, for calls into libraries.
std::optional<uint32_t> TakeTimedFunction(uint32_t slot, shared::ControlBlock* control) {
  for (uint32_t i = 0; i < shared::kMaxTimedFunctions; ++i) {
    uint32_t none = 0;
    if (control->timed_functions[i].compare_exchange_strong(none, slot + 1,
                                                            std::memory_order_release)) {
      return i;
    }
  }
  return std::nullopt;
}

// The file offsets that the places of progress points have in the program.
std::set<uint64_t> OffsetsOf(const points::CodePlaces& binary,
                             const std::vector<std::string>& places) {
  std::set<uint64_t> offsets;
  for (const std::string& text : places) {
    const absl::StatusOr<points::PointSpec> spec = points::ParsePointSpec(text);
    if (!spec.ok() || !spec->binary.empty()) continue;
    std::string note;
    const absl::StatusOr<std::vector<points::CodePlace>> found =
        binary.Find(*spec, points::InlinedCopies::kLeave, &note);
    if (!found.ok()) continue;
    for (const points::CodePlace& place : *found) offsets.insert(place.file_offset);
  }
  return offsets;
}

}  // namespace

absl::StatusOr<std::unique_ptr<CountedFunctions>> CountedFunctions::Prepare(
    const CountedFunctionOptions& options, const std::string& program, bool is_launcher) {
  auto counted = std::make_unique<CountedFunctions>();
  counted->program_ = RealPath(program);
  counted->runtime_library_ = RealPath(options.runtime_library);
  counted->is_launcher_ = is_launcher;
  // What is timed is counted too.
  for (const bool is_timed : {true, false}) {
    absl::Status status =
        Parse(is_timed ? options.time : options.count, is_timed, &counted->specs_);
    if (!status.ok()) return status;
  }
  if (!options.time.empty() && !HasSteadyTicks()) {
    return absl::FailedPreconditionError(
        "--time measures by the CPU's time-stamp counter, which does not run at one rate here "
        "(/proc/cpuinfo lacks constant_tsc or nonstop_tsc); use --count");
  }
  const ApiFunctions::Points points = {options.points, options.latencies};
  if (absl::Status status = counted->api_.Prepare(options.api, points, HasSteadyTicks());
      !status.ok()) {
    return status;
  }
  counted->may_come_later_ = !counted->api_.empty();
  for (Spec& spec : counted->specs_) {
    counted->may_come_later_ |= !spec.spec.binary.empty() || is_launcher;
    if (!spec.spec.binary.empty() || is_launcher) continue;
    if (absl::Status status = counted->ResolveInProgram(&spec, options.points); !status.ok()) {
      return OfOption(spec.is_timed, spec.spec.text, status);
    }
  }
  return counted;
}

absl::Status CountedFunctions::Parse(const std::vector<std::string>& texts, bool is_timed,
                                     std::vector<Spec>* specs) {
  for (const std::string& text : texts) {
    const absl::StatusOr<points::PointSpec> spec = points::ParsePointSpec(text);
    if (!spec.ok()) return OfOption(is_timed, text, spec.status());
    if (spec->function.empty()) {
      return OfOption(is_timed, text,
                      absl::InvalidArgumentError(
                          "calls are counted of functions, not of lines and probes; name the "
                          "function, or count those with --progress"));
    }
    specs->push_back({*spec, is_timed, false, ""});
  }
  return absl::OkStatus();
}

absl::Status CountedFunctions::ResolveInProgram(Spec* spec,
                                                const std::vector<std::string>& points) {
  const absl::StatusOr<std::unique_ptr<points::CodePlaces>> binary =
      points::CodePlaces::Open(program_);
  if (!binary.ok()) return binary.status();
  std::string note;
  const absl::StatusOr<std::vector<points::CodePlace>> found =
      (*binary)->Find(spec->spec, points::InlinedCopies::kLeave, &note);
  if (!found.ok()) {
    return absl::IsNotFound(found.status())
               ? absl::NotFoundError(
                     absl::StrCat(found.status().message(),
                                  "; for a function of a library write 'libNAME.so*!FUNCTION'"))
               : found.status();
  }
  const std::set<uint64_t> at_points = OffsetsOf(**binary, points);
  for (const points::CodePlace& place : *found) {
    if (at_points.count(place.file_offset) == 0) continue;
    return absl::InvalidArgumentError(absl::StrFormat(
        "%s is a progress point too, whose visits are counted for each thread anyway; leave it out "
        "of --count and --time",
        place.name));
  }
  if (!note.empty()) warnings_.push_back(note);
  spec->was_found = true;
  std::vector<size_t> added;
  return AddFunctions(program_, **binary, *found, *spec, &added);
}

absl::Status CountedFunctions::AddFunctions(const std::string& path,
                                            const points::CodePlaces& binary,
                                            const std::vector<points::CodePlace>& found,
                                            const Spec& spec, std::vector<size_t>* added) {
  const bool has_restartable_code = binary.has_restartable_code();
  std::map<std::string, size_t> by_name;
  for (size_t i = 0; i < functions_.size(); ++i) by_name[functions_[i].name] = i;
  std::set<std::pair<std::string, uint64_t>> known;
  for (const Function& function : functions_) {
    for (const PlaceInFile& place : function.places) {
      known.insert({place.file, place.code.file_offset});
    }
  }
  for (const points::CodePlace& code : found) {
    if (!known.insert({path, code.file_offset}).second) continue;
    const std::string short_name = points::WithoutParameters(code.name);
    const std::string name =
        spec.spec.binary.empty()
            ? short_name
            : absl::StrCat(std::filesystem::path(path).filename().string(), "!", short_name);
    PlacePlans plans = PlanInFile(path, code, has_restartable_code);
    if (plans.best.way == patch::Way::kNone) {
      Warn(absl::StrFormat("calls of %s are not counted, for its code is not to be changed: %s",
                           name, plans.best.why_none));
      continue;
    }
    const auto [function, is_new] = by_name.emplace(name, functions_.size());
    if (is_new) {
      functions_.emplace_back().name = name;
      added->push_back(function->second);
    }
    AddPlace({path, code}, std::move(plans), spec.is_timed, has_restartable_code,
             &functions_[function->second]);
  }
  if (functions_.size() <= kMostFunctions) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrFormat("%d functions are to be counted, and %d have room; name them more closely",
                      functions_.size(), kMostFunctions));
}

// A function is timed where all ends of all its places are seen.
void CountedFunctions::AddPlace(const PlaceInFile& place, PlacePlans plans, bool is_timed,
                                bool has_restartable_code, Function* function) {
  const bool is_first = function->places.empty();
  function->places.push_back(place);
  function->plans.push_back(std::move(plans));
  if (!is_timed || (!is_first && !function->is_timed)) return;
  std::string why = timed_ >= shared::kMaxTimedFunctions && is_first
                        ? absl::StrCat("so many are timed already: ", timed_)
                        : FindTimedEnds(place, has_restartable_code, &function->ends);
  if (why.empty()) {
    if (is_first) ++timed_;
    function->is_timed = true;
    return;
  }
  if (!is_first) --timed_;
  function->is_timed = false;
  function->ends.clear();
  Warn(absl::StrFormat("calls of %s are counted, and not timed, for %s", function->name, why));
}

// As marks take theirs, beside which it stands.
void CountedFunctions::TakeSlot(shared::ControlBlock* control, Function* function) {
  function->slot = TakePlaceSlot(function->name, control);
  if (function->slot == kNoSlot) {
    Warn(
        absl::StrFormat("calls of %s are not counted, for %d points and functions are counted "
                        "already; name fewer",
                        function->name, shared::kMaxPoints));
    return;
  }
  AddPatches(control, *function);
}

void CountedFunctions::AddPatches(shared::ControlBlock* control, const Function& function) {
  PlaceEdge begin;
  PlaceEdge end;
  const std::optional<uint32_t> number =
      function.is_timed ? TakeTimedFunction(function.slot, control) : std::nullopt;
  control->points[function.slot].ends_in_jump.store(
      number.has_value() && EndsInJump(function.ends) ? 1 : 0, std::memory_order_relaxed);
  if (number.has_value()) {
    begin = {PlaceEdge::Kind::kBegin, function.slot << 8 | *number, {0, 0}};
    end = {PlaceEdge::Kind::kEnd, *number, {0, 0}};
  } else if (function.is_timed) {
    Warn(
        absl::StrFormat("calls of %s are counted, and not timed, for %d functions are timed "
                        "already; name fewer",
                        function.name, shared::kMaxTimedFunctions));
  }
  // Ends first: a begin whose end is not there yet would be dropped later.
  for (const TimedEnd& at : function.ends) {
    if (!number.has_value()) break;
    end.frame = at.frame;
    patched_.Add({function.slot}, at.place, at.plans, end);
    refusals_.push_back({function.name, /*only_times=*/true, ""});
  }
  for (size_t i = 0; i < function.places.size(); ++i) {
    patched_.Add({function.slot}, function.places[i], function.plans[i], begin);
    refusals_.push_back({function.name, /*only_times=*/false, ""});
  }
}

void CountedFunctions::TakeSlots(shared::ControlBlock* control) {
  for (Function& function : functions_) TakeSlot(control, &function);
}

void CountedFunctions::AddTo(const shared::ControlBlock* control, LiveTarget* target) const {
  for (uint32_t i = 0; i < api_.latencies().size(); ++i) {
    LiveTarget::Point point;
    point.name = api_.latencies()[i];
    point.is_latency = true;
    point.counted_by = "jumps to stubs";
    target->AddCalls(point, [calls = CallLatencies(control, i)]() mutable { return calls.Read(); });
  }
}

void CountedFunctions::LookInFile(shared::ControlBlock* control, const std::string& path,
                                  bool is_program) {
  if (path == runtime_library_) return;
  if (!is_program) LookForApi(control, RealPath(path));
  for (Spec& spec : specs_) {
    const bool may_be_there =
        spec.spec.binary.empty() ? is_launcher_ && is_program : IsBinary(spec.spec.binary, path);
    if (!may_be_there) continue;
    const absl::StatusOr<std::unique_ptr<points::CodePlaces>> binary =
        points::CodePlaces::Open(path);
    if (!binary.ok()) continue;
    std::string note;
    const absl::StatusOr<std::vector<points::CodePlace>> found =
        (*binary)->Find(spec.spec, points::InlinedCopies::kLeave, &note);
    if (!found.ok()) {
      spec.why_missing = std::string(found.status().message());
      continue;
    }
    if (!note.empty()) Warn(note);
    spec.was_found = true;
    std::vector<size_t> added;
    const absl::Status status = AddFunctions(RealPath(path), **binary, *found, spec, &added);
    if (!status.ok()) Warn(std::string(status.message()));
    for (const size_t function : added) {
      if (function < kMostFunctions) TakeSlot(control, &functions_[function]);
    }
  }
}

void CountedFunctions::LookForApi(shared::ControlBlock* control, const std::string& path) {
  for (ApiFunctions::Place& place : api_.LookInFile(control, path)) {
    patched_.Add({0}, place.in_file, place.plans, place.edge);
    refusals_.push_back({place.function, place.edge.kind == PlaceEdge::Kind::kEnd, ""});
  }
  for (const std::string& warning : api_.TakeWarnings()) Warn(warning);
}

void CountedFunctions::FindInLibraries(shared::ControlBlock* control, const ImageProcess& process) {
  std::string executable;
  for (const MappedCode& code : process.mapped) {
    if (!seen_files_.insert(code.path).second) continue;
    if (executable.empty()) executable = RealPath(absl::StrFormat("/proc/%d/exe", process.pid));
    LookInFile(control, code.path, code.path == executable);
  }
}

void CountedFunctions::WarnOfRefused(const std::vector<PatchedPlaces::Refused>& refused) {
  std::vector<RefusedCalls> calls;
  calls.reserve(refused.size());
  for (const PatchedPlaces::Refused& told : refused) {
    calls.push_back(refusals_[told.place]);
    calls.back().why = told.why;
  }
  for (const std::string& sentence : DescribeRefusedCalls(calls)) Warn(sentence);
}

void CountedFunctions::Poll(shared::ControlBlock& control, uint64_t now_ns, bool releases) {
  const auto release = [releases](shared::ProcessSlot* slot, uint32_t image) {
    if (releases) slot->armed.store(image + 1, std::memory_order_release);
  };
  if (empty()) return;
  const bool look = look_pace_.IsDue(now_ns);
  uint64_t cost_ns = 0;
  std::vector<std::pair<pid_t, uint64_t>> live;
  shared::ForEachProcess(control, [&](shared::ProcessSlot& slot, uint32_t index) {
    if (slot.state.load(std::memory_order_acquire) != shared::ProcessState::kRunning) return;
    ImageProcess process = {slot.pid, slot.start_ns, {}};
    const uint32_t image = slot.image.load(std::memory_order_relaxed);
    if (!members_.Has(control, index, process.pid, now_ns)) return release(&slot, image);
    live.emplace_back(process.pid, process.start_ns);
    const bool is_new = seen_images_.Insert(image);
    // A child of fork has the changes of its parent.
    const bool is_child = look && patched_.IsToBeAsked(process.pid, process.start_ns);
    if (!is_new && !is_child && !(look && may_come_later_)) return;
    const uint64_t start_ns = MonotonicNowNs();
    process.mapped = ReadMappedCode(process.pid);
    FindInLibraries(&control, process);
    WarnOfRefused(is_new ? patched_.AskAtStart(control, slot, process)
                         : patched_.Ask(control, slot, process));
    if (!is_new) cost_ns += MonotonicNowNs() - start_ns;
    if (is_new || seen_images_.is_full()) release(&slot, image);
  });
  if (!look) return;
  patched_.Forget(live);
  look_pace_.Looked(now_ns, cost_ns);
}

// Says each problem once.
void CountedFunctions::Warn(const std::string& sentence) {
  if (warned_of_.insert(sentence).second) warnings_.push_back(sentence);
}

std::vector<std::string> CountedFunctions::TakeWarnings() { return std::exchange(warnings_, {}); }

std::vector<std::string> CountedFunctions::Missing() const {
  std::vector<std::string> missing = api_.Missing(seen_files_);
  for (const Spec& spec : specs_) {
    if (spec.was_found) continue;
    missing.push_back(
        !spec.why_missing.empty()
            ? absl::StrFormat("calls of '%s' were not counted: %s", spec.spec.text,
                              spec.why_missing)
            : absl::StrFormat("calls of '%s' were not counted, for no program loaded a binary %s%s",
                              spec.spec.text, spec.spec.binary,
                              points::ClosestLibraries(spec.spec.binary, seen_files_)));
  }
  return missing;
}

}  // namespace coz::supervisor
