// What changes while the program runs: points come and go.
//
// A place is sought in another thread, since debug information may take seconds. Of a pair the end
// is counted first, so that no request seems to stay under way for ever.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "coz/base/clock.h"
#include "coz/base/command_name.h"
#include "coz/points/closest_names.h"
#include "coz/shared/slot_loops.h"
#include "coz/supervisor/points/api_functions.h"
#include "coz/supervisor/points/outside_points.h"
#include "coz/supervisor/points/place_slots.h"

namespace coz::supervisor {
namespace {

// Processes that sleep are not waited for any longer. They change their code when they wake.
constexpr uint64_t kLongestStageNs = 5 * kNsPerSecond;
constexpr size_t kShownNames = 3;

// Whether the counts of a pair that nobody counts at are nearly even in each thread. They are not
// where requests go from thread to thread.
bool AreNearlyEven(uint32_t begins, uint32_t ends, const shared::ControlBlock& control) {
  constexpr uint64_t kMostUnderWay = 16;
  bool are_few = true;
  shared::ForEachThread(control, [&](const shared::ThreadSlot& thread) {
    const uint64_t began = thread.visits[begins].load(std::memory_order_relaxed);
    const uint64_t ended = thread.visits[ends].load(std::memory_order_relaxed);
    are_few &= std::max(began, ended) - std::min(began, ended) <= kMostUnderWay;
  });
  return are_few;
}

// Makes them even. Requests that were under way when the pair was removed would meet ends of
// others.
void EvenOut(uint32_t begins, uint32_t ends, shared::ControlBlock* control) {
  shared::ForEachThread(*control, [&](shared::ThreadSlot& thread) {
    std::atomic<uint64_t>& began = thread.visits[begins];
    std::atomic<uint64_t>& ended = thread.visits[ends];
    const uint64_t most =
        std::max(began.load(std::memory_order_relaxed), ended.load(std::memory_order_relaxed));
    began.store(most, std::memory_order_relaxed);
    ended.store(most, std::memory_order_relaxed);
  });
}

// What threads have counted in the slot in an earlier session is none of their figures.
void BeginFigures(uint32_t point, shared::ControlBlock* control) {
  shared::ForEachThread(*control, [point](shared::ThreadSlot& thread) {
    thread.figures.visits_before[point].store(thread.visits[point].load(std::memory_order_relaxed),
                                              std::memory_order_relaxed);
  });
}

std::string FileName(const std::string& path) {
  return std::filesystem::path(path).filename().string();
}

absl::Status NotFoundAmong(const std::string& text, const std::vector<std::string>& names) {
  const std::vector<std::string> closest = points::ClosestMatches(text, names, kShownNames);
  return absl::NotFoundError(absl::StrFormat(
      "'%s' is not counted in this session%s", text,
      names.empty()     ? "; nothing is that could be removed"
      : closest.empty() ? absl::StrCat("; it counts ", absl::StrJoin(names, ", "))
                        : absl::StrCat("; the closest are: ", absl::StrJoin(closest, ", "))));
}

}  // namespace

bool OutsidePoints::IsThere(uint32_t point) const {
  return std::none_of(points_.begin(), points_.end(),
                      [point](const Point& known) { return known.id == point && known.is_away; });
}

absl::StatusOr<std::unique_ptr<OutsidePoints::Point>> OutsidePoints::MakePoint(
    const std::string& text) {
  auto point = std::make_unique<Point>();
  point->name = text;
  const auto parse = [](const std::string& place) -> absl::StatusOr<std::unique_ptr<Counted>> {
    absl::StatusOr<points::PointSpec> spec = points::ParsePointSpec(place);
    if (!spec.ok()) return spec.status();
    auto counted = std::make_unique<Counted>();
    counted->spec = *std::move(spec);
    return counted;
  };
  const auto pair = points::SplitPair(text);
  absl::StatusOr<std::unique_ptr<Counted>> begin = parse(pair.ok() ? pair->first : text);
  if (!begin.ok()) return begin.status();
  if (!pair.ok()) {
    point->visits = *std::move(begin);
    return point;
  }
  absl::StatusOr<std::unique_ptr<Counted>> end = parse(pair->second);
  if (!end.ok()) return end.status();
  point->begin = *std::move(begin);
  point->end = *std::move(end);
  return point;
}

// Where the place may be: in the program, or in what its processes have mapped.
absl::StatusOr<std::vector<std::string>> OutsidePoints::FilesOf(
    const points::PointSpec& spec, const std::vector<ImageProcess>& processes) {
  if (spec.binary.empty() && !is_launcher_) return std::vector<std::string>{program_};
  std::set<std::string> files;
  std::set<std::string> loaded;
  for (const ImageProcess& process : processes) {
    if (spec.binary.empty()) {
      files.insert(RealPath(absl::StrFormat("/proc/%d/exe", process.pid)));
      continue;
    }
    for (const MappedCode& code : ReadMappedCode(process.pid)) {
      if (code.path == runtime_library_) continue;
      loaded.insert(code.path);
      const bool is_meant = points::MatchesGlob(spec.binary, code.path) ||
                            points::MatchesGlob(spec.binary, FileName(code.path));
      if (is_meant) files.insert(RealPath(code.path));
    }
  }
  files.erase("");
  if (!files.empty()) return std::vector<std::string>(files.begin(), files.end());
  const std::string closest = points::ClosestLibraries(spec.binary, loaded);
  return absl::NotFoundError(absl::StrFormat(
      "no process of the session has loaded a binary %s%s", spec.binary,
      closest.empty() ? "; see what is loaded with: grep r-x /proc/PID/maps" : closest));
}

absl::StatusOr<OutsidePoints::FoundPlaces> OutsidePoints::Seek(
    const points::PointSpec& spec, const std::vector<std::string>& files) {
  FoundPlaces places;
  absl::Status missing;
  for (const std::string& file : files) {
    const auto opened = points::CodePlaces::Open(file);
    if (!opened.ok()) {
      missing.Update(opened.status());
      continue;
    }
    std::string note;
    const auto found = (*opened)->Find(spec, points::InlinedCopies::kFind, &note);
    if (!found.ok()) {
      missing.Update(MayBeInLibrary(spec, found.status()));
      continue;
    }
    if (!note.empty()) places.note = note;
    PlanPlaces(file, **opened, *found, /*may_change=*/true, &places);
  }
  if (places.places.empty()) return missing;
  return places;
}

absl::StatusOr<std::future<OutsidePoints::FoundForAll>> OutsidePoints::SeekPlaces(
    shared::ControlBlock& control, const Point& point) {
  std::vector<ImageProcess> processes;
  for (auto& [number, image] : ReadImages(control)) {
    for (ImageProcess& process : image.processes) processes.push_back(process);
  }
  std::vector<std::pair<points::PointSpec, std::vector<std::string>>> tasks;
  for (const Counted* counted : point.all()) {
    absl::StatusOr<std::vector<std::string>> files = FilesOf(counted->spec, processes);
    if (!files.ok()) return files.status();
    tasks.emplace_back(counted->spec, *std::move(files));
  }
  return std::async(std::launch::async, [tasks]() -> FoundForAll {
    std::vector<FoundPlaces> all;
    for (const auto& [spec, files] : tasks) {
      absl::StatusOr<FoundPlaces> found = Seek(spec, files);
      if (!found.ok()) return found.status();
      all.push_back(*std::move(found));
    }
    return all;
  });
}

bool OutsidePoints::CanChangeCode(shared::ControlBlock& control) {
  for (const auto& [number, image] : ReadImages(control)) {
    for (const shared::ProcessSlot* slot : image.slots) {
      if (slot->counters_fs_offset != 0) return true;
    }
  }
  return false;
}

// Programs that run now have not waited for their points; later ones will.
void OutsidePoints::ExpectChanges(shared::ControlBlock& control) {
  if (!has_places_) {
    for (const auto& [number, image] : ReadImages(control)) seen_images_.Insert(number);
  }
  has_places_ = true;
  may_move_ = true;
  control.awaits_breakpoints.store(1, std::memory_order_relaxed);
}

absl::Status OutsidePoints::BeginToAdd(shared::ControlBlock& control, const std::string& text) {
  if (!changes_code_) {
    return absl::FailedPreconditionError(
        "this session changes no code, so points cannot be added; start it without "
        "--progress-source");
  }
  if (absl::StartsWith(text, kApiPrefix)) {
    return absl::UnimplementedError(absl::StrFormat(
        "'%s' cannot be added while the program runs, for calls into libraries are looked for from "
        "the start; start another session with: %s",
        text, ProfilingCommand(absl::StrCat("--progress=", text))));
  }
  if (!CanChangeCode(control)) {
    return absl::FailedPreconditionError(
        absl::StrFormat("'%s' cannot be counted, for no process of this session can change its "
                        "code; start one with: coz run --- PROGRAM",
                        text));
  }
  auto changing = std::make_unique<Changing>();
  for (Point& point : points_) {
    if (point.name != text) continue;
    if (!point.is_away) {
      return absl::AlreadyExistsError(
          absl::StrFormat("'%s' is counted already; see all points with --list", text));
    }
    // What was counted before goes on. Pairs start anew: nobody knows what is under way.
    if (point.visits != nullptr && !point.visits->patched.empty()) changing->point = &point;
  }
  if (changing->point != nullptr) {
    places_.push_back(changing->point->visits.get());
    for (const size_t place : changing->point->visits->patched) patched_.Restore(place);
    changing->stage = Changing::Stage::kAdd;
  } else {
    absl::StatusOr<std::unique_ptr<Point>> made = MakePoint(text);
    if (!made.ok()) return made.status();
    absl::StatusOr<std::future<FoundForAll>> found = SeekPlaces(control, **made);
    if (!found.ok()) return found.status();
    changing->made = *std::move(made);
    changing->found = *std::move(found);
    changing->stage = Changing::Stage::kSeek;
  }
  changing->since_ns = MonotonicNowNs();
  changing_ = std::move(changing);
  ExpectChanges(control);
  return absl::OkStatus();
}

absl::Status OutsidePoints::BeginToRemove(shared::ControlBlock& control, const std::string& text) {
  std::vector<std::string> names;
  Point* found = nullptr;
  for (Point& point : points_) {
    const std::vector<Counted*> all = point.all();
    const bool is_at_places =
        std::all_of(all.begin(), all.end(), [](const Counted* c) { return c->is_at_places(); });
    if (point.is_away || !is_at_places) continue;
    names.push_back(point.name);
    if (point.name == text) found = &point;
  }
  if (found == nullptr) return NotFoundAmong(text, names);
  ExpectChanges(control);
  changing_ = std::make_unique<Changing>();
  changing_->stage = Changing::Stage::kRemove;
  changing_->point = found;
  changing_->since_ns = changing_->removed_ns = MonotonicNowNs();
  TakeAway(found);
  return absl::OkStatus();
}

// Its visits stand still; processes restore their code when they answer.
void OutsidePoints::TakeAway(Point* point) {
  point->is_away = true;
  for (Counted* counted : point->all()) {
    counted->visits_at_end = counted->Read();
    counted->is_away = true;
    for (const size_t place : counted->patched) patched_.Remove(place);
    counted->visits_before = counted->ReadAll() - counted->ReadChangedCode();
    counted->probes.clear();
    counted->breakpoints.clear();
    places_.erase(std::remove(places_.begin(), places_.end(), counted), places_.end());
  }
}

std::optional<absl::StatusOr<PointCame>> OutsidePoints::TakeOutcome() {
  return std::exchange(outcome_, std::nullopt);
}

void OutsidePoints::BeginStage(Changing::Stage stage, uint64_t now_ns) {
  changing_->stage = stage;
  changing_->since_ns = now_ns;
}

// Leaves out what only a breakpoint could count: threads that run already have none.
absl::Status OutsidePoints::TakeChangeable(FoundPlaces* found, Counted* counted) {
  const std::string& text = counted->spec.text;
  auto& places = found->places;
  const auto unchangeable = std::stable_partition(places.begin(), places.end(), [](const auto& p) {
    return p.second.best.way != patch::Way::kNone;
  });
  const auto missing = static_cast<size_t>(places.end() - unchangeable);
  if (missing == places.size()) {
    return absl::FailedPreconditionError(absl::StrFormat(
        "'%s' cannot be counted while the program runs, for its code is not to be changed: %s; "
        "start the session with --progress",
        text, places.front().second.best.why_none));
  }
  if (missing != 0) {
    found->note = absl::StrFormat(
        "%d of %d places of '%s' are not counted, for their code is not "
        "to be changed: %s",
        missing, places.size(), text, unchangeable->second.best.why_none);
    places.erase(unchangeable, places.end());
  }
  for (const auto& [place, plans] : places) counted->found.push_back(place);
  for (const Counted* other : places_) {
    if (!ShareAPlace(*counted, *other)) continue;
    return absl::AlreadyExistsError(
        absl::StrFormat("'%s' is a place that '%s' counts already; name another, or remove "
                        "that one first with --remove",
                        text, other->spec.text));
  }
  for (auto& [place, plans] : places) {
    if (absl::Status status = MakeRoom(place, &plans, *counted); !status.ok()) return status;
  }
  return absl::OkStatus();
}

// A pair that was there before gets its slots back, where every process has restored its code.
bool OutsidePoints::TakeSlotsAgain(const Point& made, const shared::ControlBlock& control) {
  for (Point& before : points_) {
    if (!before.is_away || before.has_passed_slots_on || before.name != made.name) continue;
    const auto is_gone = [this](size_t place) { return patched_.IsGone(place); };
    const auto is_unused = [&is_gone](const Counted* counted) {
      return counted->control != nullptr && counted->slots.visits < shared::kMaxPoints &&
             std::all_of(counted->patched.begin(), counted->patched.end(), is_gone);
    };
    const std::vector<Counted*> all = before.all();
    if (all.size() != 2 || !std::all_of(all.begin(), all.end(), is_unused)) continue;
    if (!AreNearlyEven(before.begin->slots.visits, before.end->slots.visits, control)) continue;
    before.has_passed_slots_on = true;
    made.begin->slots.visits = before.begin->slots.visits;
    made.end->slots = before.end->slots;
    return true;
  }
  return false;
}

// The pair's slots may have counted before, for a pair of the same name. Not where no slot is left.
void OutsidePoints::BeginCatchUp(const Point& pair, bool were_theirs,
                                 shared::ControlBlock* control) {
  Counted& end = *pair.end;
  if (end.slots.without_begin == kNoSlot) {
    end.slots.without_begin = TakePlaceSlot(end.spec.text, control);
  }
  if (end.slots.without_begin == kNoSlot) return;
  end.slots.begins = pair.begin->slots.visits;
  EvenOut(end.slots.begins, end.slots.visits, control);
  if (!were_theirs) {
    BeginFigures(end.slots.begins, control);
    BeginFigures(end.slots.visits, control);
  }
  end.catch_up = std::make_unique<CatchUp>();
  end.before = end.ReadEnds();
  pair.begin->before.ends = end.before.begins;
  shared::ForEachThread(*control, [&end](const shared::ThreadSlot& thread) {
    end.without_begin_before.push_back(
        thread.visits[end.slots.without_begin].load(std::memory_order_relaxed));
  });
}

absl::Status OutsidePoints::TakeSlots(const Point& made, shared::ControlBlock& control) {
  bool has_room = true;
  const auto take = [&](const Counted& counted, uint32_t* slot) {
    if (*slot == kNoSlot) *slot = TakePlaceSlot(counted.spec.text, &control);
    has_room &= *slot != kNoSlot;
  };
  const bool is_pair = made.end != nullptr;
  const bool were_theirs = is_pair && TakeSlotsAgain(made, control);
  for (Counted* counted : made.all()) {
    counted->control = &control;
    take(*counted, &counted->slots.visits);
  }
  if (is_pair && has_room) {
    BeginCatchUp(made, were_theirs, &control);
    has_room = made.end->catch_up != nullptr;
  }
  if (has_room) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrFormat(
      "no room is left for '%s': a session counts at most %d places and marks, and those that were "
      "removed keep theirs until they come again",
      made.name, shared::kMaxPoints));
}

absl::Status OutsidePoints::TakeFound(shared::ControlBlock& control) {
  Point& made = *changing_->made;
  FoundForAll found = changing_->found.get();
  if (!found.ok()) return found.status();
  const std::vector<Counted*> all = made.all();
  for (size_t i = 0; i < all.size(); ++i) {
    absl::Status status = TakeChangeable(&(*found)[i], all[i]);
    if (!status.ok()) return status;
  }
  if (made.end != nullptr && ShareAPlace(*made.begin, *made.end)) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "'%s' begins and ends at one place, where no time passes; name as END the place where a "
        "request is done",
        made.name));
  }
  if (absl::Status status = TakeSlots(made, control); !status.ok()) return status;
  for (size_t i = 0; i < all.size(); ++i) {
    all[i]->found.clear();  // TakePlaces fills it
    if (!(*found)[i].note.empty()) warnings_.push_back((*found)[i].note);
    places_.push_back(all[i]);
  }
  if (all.size() == 2) changing_->begins = std::move(found->back());
  return TakePlaces(found->front(), all.front());
}

void OutsidePoints::GiveUpAdding() {
  for (Counted* counted : changing_->made->all()) {
    for (const size_t place : counted->patched) patched_.Remove(place);
    places_.erase(std::remove(places_.begin(), places_.end(), counted), places_.end());
  }
  changing_.reset();
}

void OutsidePoints::EndAdding(uint64_t now_ns) {
  Point* point = changing_->point;
  if (point == nullptr) {
    points_.push_back(std::move(*changing_->made));
    point = &points_.back();
    has_pairs_at_places_ |= point->begin != nullptr;
    AddToTarget(point);
  } else {
    Counted& visits = *point->visits;
    visits.visits_of_nobody = visits.ReadAll() - visits.visits_at_end;
    visits.is_away = false;
    point->is_away = false;
  }
  PointCame came = {point->id, true, now_ns, ""};
  const Counted& counted = point->visits != nullptr ? *point->visits : *point->begin;
  came.said = absl::StrFormat("'%s' is counted by %s", point->name, CountedBy(counted));
  if (!patched_.IsSettled()) {
    came.said += "; processes that sleep count from when they wake";
  }
  changing_.reset();
  outcome_ = came;
}

void OutsidePoints::EndRemoving() {
  const Point& point = *changing_->point;
  outcome_ = PointCame{point.id, false, changing_->removed_ns,
                       absl::StrFormat("'%s' is not counted any more", point.name)};
  changing_.reset();
}

void OutsidePoints::GoOnChanging(shared::ControlBlock& control, uint64_t now_ns) {
  using Stage = Changing::Stage;
  if (changing_->stage == Stage::kSeek) {
    if (changing_->found.wait_for(std::chrono::seconds(0)) != std::future_status::ready) return;
    if (absl::Status status = TakeFound(control); !status.ok()) {
      GiveUpAdding();
      outcome_ = status;
      return;
    }
    BeginStage(changing_->made->end != nullptr ? Stage::kAddEnd : Stage::kAdd, now_ns);
    return;
  }
  if (!changing_->refused.empty()) {
    outcome_ = absl::UnavailableError(
        absl::StrFormat("'%s' cannot be counted while the program runs, for a process refuses to "
                        "change its code: %s; start the session with --progress",
                        changing_->made->name, changing_->refused));
    GiveUpAdding();
    return;
  }
  if (!patched_.IsSettled() && now_ns < changing_->since_ns + kLongestStageNs) return;
  switch (changing_->stage) {
    case Stage::kAddEnd:
      if (absl::Status status = TakePlaces(changing_->begins, changing_->made->begin.get());
          !status.ok()) {
        GiveUpAdding();
        outcome_ = status;
        return;
      }
      BeginStage(Stage::kAdd, now_ns);
      return;
    case Stage::kAdd:
      EndAdding(now_ns);
      return;
    default:
      EndRemoving();
      return;
  }
}

}  // namespace coz::supervisor
