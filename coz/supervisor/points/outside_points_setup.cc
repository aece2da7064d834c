// What is done before the program starts: places are parsed, found in the program, and a source of
// counts is chosen.
#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "coz/supervisor/points/api_functions.h"
#include "coz/supervisor/points/outside_points.h"
#include "coz/supervisor/target/mapped_code.h"

namespace coz::supervisor {
namespace {

// "--progress=x: " before the sentence.
absl::Status WithOption(const std::string& option, const std::string& text,
                        const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat(option, "='", text, "': ", status.message()));
}

}  // namespace

bool OutsidePoints::IsOnePlace(const Counted& a, const Counted& b) {
  if (!a.mark.empty() || !b.mark.empty()) return a.mark == b.mark;
  return a.spec.text == b.spec.text || ShareAPlace(a, b);
}

bool OutsidePoints::ShareAPlace(const Counted& a, const Counted& b) {
  return std::any_of(a.found.begin(), a.found.end(), [&b](const PlaceInFile& place) {
    return std::any_of(b.found.begin(), b.found.end(), [&place](const PlaceInFile& other) {
      return place.file == other.file && place.code.file_offset == other.code.file_offset;
    });
  });
}

absl::StatusOr<std::unique_ptr<OutsidePoints>> OutsidePoints::Prepare(
    const OutsidePointOptions& options, const std::string& program, bool is_launcher,
    bool with_children) {
  std::unique_ptr<OutsidePoints> points(new OutsidePoints);
  points->program_ = RealPath(program);
  points->runtime_library_ = RealPath(options.runtime_library);
  points->is_launcher_ = is_launcher;
  points->with_children_ = with_children;
  points->changes_code_ = options.source == VisitSource::kBest;
  if (absl::Status status = points->ParseAll(options); !status.ok()) return status;
  if (!points->has_places_) return points;
  if (absl::Status status = points->ChooseSource(options.source); !status.ok()) return status;
  points->program_places_.reset();
  return points;
}

absl::Status OutsidePoints::ParseAll(const OutsidePointOptions& options) {
  for (const std::string& text : options.progress) {
    absl::StatusOr<std::unique_ptr<Counted>> visits = Parse("--progress", text);
    if (!visits.ok()) return visits.status();
    points_.push_back({text, *std::move(visits), nullptr, nullptr, 0, false, false});
  }
  for (const std::string& text : options.sampled) {
    const absl::StatusOr<points::PointSpec> spec = points::ParsePointSpec(text);
    if (!spec.ok()) return WithOption("--progress-sampled", text, spec.status());
    if (spec->file.empty() || !spec->binary.empty()) {
      return absl::InvalidArgumentError(absl::StrFormat(
          "--progress-sampled='%s' is no line; write --progress-sampled=FILE:LINE, for samples are "
          "counted by line",
          text));
    }
    auto visits = std::make_unique<Counted>();
    visits->spec = *spec;
    visits->by_samples = true;
    points_.push_back({text, std::move(visits), nullptr, nullptr, 0, false, false});
  }
  for (const std::string& text : options.latency) {
    // Of calls: CountedFunctions has it.
    if (IsCallLatency(text) && changes_code_) continue;
    if (IsCallLatency(text)) return ParseApi("--latency", text).status();
    const auto pair = points::SplitPair(text);
    if (!pair.ok()) return pair.status();
    const size_t places = places_.size();
    absl::StatusOr<std::unique_ptr<Counted>> begin = Parse("--latency", pair->first);
    if (!begin.ok()) return begin.status();
    absl::StatusOr<std::unique_ptr<Counted>> end = Parse("--latency", pair->second);
    if (!end.ok()) return end.status();
    has_pairs_at_places_ |= places_.size() > places;
    if (IsOnePlace(**begin, **end)) {
      return absl::InvalidArgumentError(
          absl::StrFormat("--latency='%s' begins and ends at one place, where no time passes; name "
                          "as END the place where a request is done",
                          text));
    }
    points_.push_back({text, nullptr, *std::move(begin), *std::move(end), 0, false, false});
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<OutsidePoints::Counted>> OutsidePoints::Parse(
    const std::string& option, const std::string& text) {
  auto counted = std::make_unique<Counted>();
  if (absl::StartsWith(text, kMarkPrefix)) {
    counted->mark = text.substr(sizeof(kMarkPrefix) - 1);
    return counted;
  }
  if (absl::StartsWith(text, kApiPrefix)) return ParseApi(option, text);
  const absl::StatusOr<points::PointSpec> spec = points::ParsePointSpec(text);
  if (!spec.ok()) return WithOption(option, text, spec.status());
  counted->spec = *spec;
  has_places_ = true;
  counted->slots.visits = static_cast<uint32_t>(places_.size());
  may_move_ |= is_launcher_ || !spec->binary.empty();
  places_.push_back(counted.get());
  if (!spec->binary.empty() || is_launcher_) return counted;
  if (absl::Status status = ResolveInProgram(option, counted.get()); !status.ok()) return status;
  return counted;
}

// Counted where calls into libraries are (api_functions.h), in the point's slot.
absl::StatusOr<std::unique_ptr<OutsidePoints::Counted>> OutsidePoints::ParseApi(
    const std::string& option, const std::string& text) {
  if (option != "--progress" || !changes_code_) {
    return WithOption(option, text,
                      absl::InvalidArgumentError(
                          "calls into libraries are counted by changed code, and begin and end no "
                          "pair with another place; leave --progress-source out, and write "
                          "--latency=api:LIBRARY:FUNCTION for the time from a call to its end"));
  }
  auto counted = std::make_unique<Counted>();
  counted->spec.text = text;
  counted->is_api = true;
  counted->was_found = true;  // whether it is, is told there
  has_places_ = true;
  counted->slots.visits = static_cast<uint32_t>(places_.size());
  places_.push_back(counted.get());
  return counted;
}

absl::Status OutsidePoints::ResolveInProgram(const std::string& option, Counted* counted) {
  if (program_places_ == nullptr) {
    absl::StatusOr<std::unique_ptr<points::CodePlaces>> opened = points::CodePlaces::Open(program_);
    if (!opened.ok()) return opened.status();
    program_places_ = *std::move(opened);
  }
  std::string note;
  const absl::StatusOr<std::vector<points::CodePlace>> found =
      program_places_->Find(counted->spec, points::InlinedCopies::kFind, &note);
  if (!found.ok()) {
    return WithOption(option, counted->spec.text, MayBeInLibrary(counted->spec, found.status()));
  }
  absl::Status added = AddPlaces(program_, *program_places_, *found, counted);
  if (!added.ok()) return WithOption(option, counted->spec.text, added);
  if (absl::Status status = CheckSemaphores(*counted); !status.ok()) return status;
  if (!note.empty()) warnings_.push_back(note);
  return absl::OkStatus();
}

// Each place gets the cheapest way that it allows.
void OutsidePoints::PlanPlaces(const std::string& path, const points::CodePlaces& binary,
                               const std::vector<points::CodePlace>& found, bool may_change,
                               FoundPlaces* places) {
  const bool has_restartable_code = may_change && binary.has_restartable_code();
  for (const points::CodePlace& code : found) {
    PlacePlans plans;
    if (may_change) plans = PlanInFile(path, code, has_restartable_code);
    places->places.push_back({{path, code}, plans});
  }
}

absl::Status OutsidePoints::AddPlaces(const std::string& path, const points::CodePlaces& binary,
                                      const std::vector<points::CodePlace>& found,
                                      Counted* counted) {
  const bool may_change = changes_code_ && counted->slots.visits < shared::kMaxPoints;
  FoundPlaces places;
  PlanPlaces(path, binary, found, may_change, &places);
  return TakePlaces(places, counted);
}

// A program passes such a probe only where somebody has raised its semaphore, which changed code
// does.
absl::Status OutsidePoints::CheckSemaphores(const Counted& counted) const {
  for (const PlaceInFile& place : counted.places) {
    if (place.code.semaphore == 0) continue;
    return absl::FailedPreconditionError(absl::StrFormat(
        "'%s' cannot be counted, for it is passed only where its code is changed: %s; name the "
        "function around it instead",
        counted.spec.text,
        changes_code_ ? counted.why_not_patched : "--progress-source leaves code as it is"));
  }
  return absl::OkStatus();
}

absl::Status OutsidePoints::MakeRoom(const PlaceInFile& place, PlacePlans* plans,
                                     const Counted& counted) {
  const std::string why = patched_.MakeRoom(place, plans);
  if (why.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrFormat("'%s' cannot be counted at %s beside the other points, for %s; leave one out",
                      counted.spec.text, place.code.name, why));
}

absl::Status OutsidePoints::TakePlaces(const FoundPlaces& found, Counted* counted) {
  for (const auto& [place, in_file] : found.places) {
    counted->found.push_back(place);
    counted->was_found = true;
    if (in_file.best.way == patch::Way::kNone) {
      counted->places.push_back(place);
      counted->why_not_patched = in_file.best.why_none;
      continue;
    }
    PlacePlans plans = in_file;
    if (absl::Status status = MakeRoom(place, &plans, *counted); !status.ok()) return status;
    counted->patched.push_back(patched_.Add(counted->slots, place, plans));
  }
  return absl::OkStatus();
}

absl::Status OutsidePoints::MayBeInLibrary(const points::PointSpec& spec,
                                           const absl::Status& status) {
  const bool may_be_elsewhere =
      status.code() == absl::StatusCode::kNotFound && spec.binary.empty() && spec.file.empty();
  if (!may_be_elsewhere) return status;
  return absl::NotFoundError(absl::StrCat(
      status.message(), spec.provider.empty()
                            ? "; for a function of a library write 'libNAME.so*!FUNCTION'"
                            : "; for a probe of a library write 'libNAME.so*!usdt:PROVIDER:NAME'"));
}

// Places that need a breakpoint or probe. Those that are not found yet may.
size_t OutsidePoints::PlaceCount() const {
  size_t count = 0;
  for (const Counted* counted : places_) {
    const bool is_unknown = counted->found.empty() && !changes_code_;
    count += is_unknown ? 1 : counted->places.size();
  }
  return count;
}

absl::Status OutsidePoints::ChooseSource(VisitSource wanted) {
  if (PlaceCount() == 0) return absl::OkStatus();
  const bool too_many = PlaceCount() > static_cast<size_t>(points::kBreakpoints);
  absl::Status breakpoints = points::CheckBreakpoints();
  if (too_many) {
    std::vector<std::string> names;
    for (const Counted* counted : places_) {
      if (!counted->found.empty() && counted->places.empty()) continue;
      names.push_back(absl::StrFormat("%d of %s", std::max<size_t>(1, counted->places.size()),
                                      counted->spec.text));
    }
    breakpoints = absl::ResourceExhaustedError(
        absl::StrFormat("%d places are to be counted (%s), but a thread has only %d hardware "
                        "breakpoints; leave some out, name "
                        "them more closely, or count by probes, as root: --progress-source=uprobe",
                        PlaceCount(), absl::StrJoin(names, ", "), points::kBreakpoints));
  }
  if (wanted != VisitSource::kProbe && breakpoints.ok()) {
    visit_cost_ns_ = static_cast<uint64_t>(points::MeasureBreakpointCostNs());
    breakpoint_slowdown_ = points::MeasureBreakpointSlowdown();
    return absl::OkStatus();
  }
  if (wanted == VisitSource::kBreakpoint) return breakpoints;
  probes_ = true;
  absl::Status probes;
  for (Counted* counted : places_) {
    if (probes.ok()) probes = SetProbes(counted);
  }
  if (probes.ok()) visit_cost_ns_ = static_cast<uint64_t>(points::MeasureProbeCostNs());
  // The message about breakpoints names both ways out.
  return probes.ok() || wanted == VisitSource::kProbe ? probes : breakpoints;
}

}  // namespace coz::supervisor
