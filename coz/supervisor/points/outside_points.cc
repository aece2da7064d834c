#include "coz/supervisor/points/outside_points.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "coz/base/clock.h"
#include "coz/points/closest_names.h"
#include "coz/shared/slot_loops.h"
#include "coz/supervisor/points/place_slots.h"
#include "coz/supervisor/target/mapped_code.h"

namespace coz::supervisor {
namespace {

static_assert(shared::kMaxCountedPlaces >= static_cast<uint32_t>(points::kBreakpoints));

bool IsBinary(const std::string& glob, const std::string& path) {
  return points::MatchesGlob(glob, path) ||
         points::MatchesGlob(glob, std::filesystem::path(path).filename().string());
}

}  // namespace

std::vector<OutsidePoints::Counted*> OutsidePoints::Point::all() const {
  if (visits != nullptr) return {visits.get()};
  return {end.get(), begin.get()};
}

absl::Status OutsidePoints::SetProbes(Counted* counted) {
  for (size_t i = counted->probes.size(); i < counted->places.size(); ++i) {
    const PlaceInFile& place = counted->places[i];
    absl::StatusOr<points::VisitCounter> counter =
        points::VisitCounter::ForProbe(place.file, place.code.probe_offset);
    if (!counter.ok()) return counter.status();
    counted->probes.push_back(*std::move(counter));
  }
  return absl::OkStatus();
}

// Says each problem once.
void OutsidePoints::Warn(const absl::Status& status) {
  if (status.ok() || !warned_of_.emplace(status.message()).second) return;
  warnings_.emplace_back(status.message());
}

void OutsidePoints::SetBreakpoints(Counted* counted, ImageBreakpoints* breakpoints,
                                   const std::vector<ImageProcess>& processes) {
  absl::Status status = breakpoints->Set(counted->places, processes);
  if (absl::IsResourceExhausted(status) && processes.size() > 1) {
    status = absl::ResourceExhaustedError(absl::StrFormat(
        "'%s' is not counted in all processes, for some have opened its library after fork, each "
        "at another address, and have no hardware breakpoint left for it; count no more than two "
        "places in such libraries, or count by probes: --progress-source=uprobe",
        counted->spec.text));
  }
  Warn(status);
}

// A program has attached and waits. Its later threads inherit what is set or reserved now.
void OutsidePoints::EnterProgram(shared::ControlBlock& control, uint32_t number,
                                 const Image& image) {
  if (!probes_) {
    for (Counted* counted : places_) {
      counted->breakpoints.emplace_back(image.processes.front().pid, number, with_children_);
    }
  }
  FindPlaces(image.processes);
  AskForPatches(control, image, /*at_start=*/true);
  Look(number, image.processes);
  for (Counted* counted : places_) {
    if (probes_ || changes_code_ || counted->spec.binary.empty()) continue;
    ImageBreakpoints& breakpoints = counted->breakpoints.back();
    if (!breakpoints.has_room()) Warn(breakpoints.Reserve());
  }
  DescribePoints();
}

void OutsidePoints::AskForPatches(shared::ControlBlock& control, const Image& image,
                                  bool at_start) {
  for (size_t i = 0; i < image.slots.size(); ++i) {
    const shared::ProcessSlot& slot = *image.slots[i];
    const ImageProcess& process = image.processes[i];
    TakeRefused(at_start ? patched_.AskAtStart(control, slot, process)
                         : patched_.Ask(control, slot, process),
                at_start);
  }
  if (!at_start || !patched_.HasChangesToUndo()) return;
  // A breakpoint counts in all processes. Those that were asked first restore their code before.
  for (size_t i = 0; i < image.slots.size(); ++i) {
    TakeRefused(patched_.AskAtStart(control, *image.slots[i], image.processes[i]), at_start);
  }
}

// What a program refuses when it starts is counted by a breakpoint.
void OutsidePoints::TakeRefused(const std::vector<PatchedPlaces::Refused>& refused, bool is_final) {
  for (const PatchedPlaces::Refused& told : refused) {
    const PlaceInFile& place = patched_.place(told.place);
    for (Counted* counted : places_) {
      const auto patched = std::find(counted->patched.begin(), counted->patched.end(), told.place);
      if (patched == counted->patched.end()) continue;
      counted->why_not_patched = told.why;
      if (changing_ != nullptr && changing_->made != nullptr && IsOf(*changing_->made, counted)) {
        changing_->refused = told.why;
      } else if (is_final) {
        counted->patched.erase(patched);
        if (patched_.is_late()) patched_.Remove(told.place);
        counted->places.push_back(place);
      } else {
        Warn(absl::UnavailableError(absl::StrFormat(
            "'%s' is not counted in all processes, for %s; count it by a hardware breakpoint: "
            "--progress-source=breakpoint",
            counted->spec.text, told.why)));
      }
    }
  }
}

bool OutsidePoints::IsOf(const Point& point, const Counted* counted) {
  const std::vector<Counted*> all = point.all();
  return std::find(all.begin(), all.end(), counted) != all.end();
}

// Says of each place that could not be counted by changed code why, and tells the target how each
// point is counted.
void OutsidePoints::DescribePoints() {
  for (const Counted* counted : places_) {
    if (!changes_code_ || counted->places.empty() || counted->why_not_patched.empty()) continue;
    Warn(absl::UnavailableError(absl::StrFormat(
        "'%s' is counted by a %s, for its code is not to be changed: %s", counted->spec.text,
        probes_ ? "probe" : "hardware breakpoint", counted->why_not_patched)));
  }
  for (const Point& point : points_) {
    const Counted* counted = point.visits != nullptr ? point.visits.get() : point.begin.get();
    const bool is_at_places = !counted->by_samples && counted->mark.empty();
    const bool ends_at_places = point.end != nullptr && point.end->mark.empty();
    std::vector<std::string> ways;
    if (is_at_places) ways.push_back(CountedBy(*counted));
    if (ends_at_places) ways.push_back(CountedBy(*point.end));
    if (target_ == nullptr || ways.empty()) continue;
    if (ways.size() == 2 && ways[0] == ways[1]) ways.pop_back();
    LiveTarget::Point counting;
    counting.counted_by = absl::StrJoin(ways, " and ");
    if (point.visits != nullptr) counting.visit_cost_ns = VisitCostNs(*counted);
    for (const Counted* end : point.all()) {
      counting.breakpoint_slowdown = std::max(counting.breakpoint_slowdown, SlowdownBeside(*end));
    }
    target_->SetCounting(point.id, counting);
  }
}

LendableCounter OutsidePoints::Lendable(const Counted& counted, uint32_t point, shared::PairEnd end,
                                        bool with_reserved) const {
  LendableCounter lendable = {point, end, counted.visits_before, {}};
  const auto add = [&lendable](const points::VisitCounter& counter) {
    for (const int fd : counter.Descriptors()) lendable.descriptors.push_back(fd);
  };
  for (const points::VisitCounter& probe : counted.probes) add(probe);
  for (const ImageBreakpoints& set : counted.breakpoints) {
    const bool may_be_set = with_reserved && !counted.spec.binary.empty();
    if (!set.was_set() && !may_be_set) continue;
    if (live_images_.count(set.image()) == 0) {
      lendable.visits_before += set.Read();
      continue;
    }
    lendable.visits_before += set.visits_before();
    for (const int fd : set.Descriptors()) lendable.descriptors.push_back(fd);
  }
  return lendable;
}

void OutsidePoints::Lend(shared::ControlBlock& control) const {
  if (!has_pairs_at_places_) return;
  // What is reserved for later libraries is lent too, if it has room.
  for (const bool with_reserved : {true, false}) {
    std::vector<LendableCounter> counters;
    const auto add = [&](const Counted* counted, uint32_t point, shared::PairEnd end) {
      if (counted == nullptr || !counted->mark.empty()) return;
      counters.push_back(Lendable(*counted, point, end, with_reserved));
    };
    for (const Point& point : points_) {
      add(point.begin.get(), point.id, shared::PairEnd::kBegin);
      add(point.end.get(), point.id, shared::PairEnd::kEnd);
    }
    if (LendCounters(counters, &control.lent_counters)) return;
  }
}

void OutsidePoints::LookInFile(const std::string& path, bool is_program) {
  if (path == runtime_library_) return;
  for (Counted* counted : places_) {
    const bool may_be_there = counted->spec.binary.empty() ? is_launcher_ && is_program
                                                           : IsBinary(counted->spec.binary, path);
    if (!may_be_there) continue;
    const absl::StatusOr<std::unique_ptr<points::CodePlaces>> opened =
        points::CodePlaces::Open(path);
    if (!opened.ok()) continue;
    std::string note;
    const absl::StatusOr<std::vector<points::CodePlace>> found =
        (*opened)->Find(counted->spec, points::InlinedCopies::kFind, &note);
    if (!found.ok()) {
      counted->why_missing = std::string(found.status().message());
      continue;
    }
    if (!note.empty()) warnings_.push_back(note);
    Warn(AddPlaces(RealPath(path), **opened, *found, counted));
    Warn(CheckSemaphores(*counted));
    if (probes_) Warn(SetProbes(counted));
  }
}

void OutsidePoints::FindPlaces(const std::vector<ImageProcess>& processes) {
  for (const ImageProcess& process : processes) {
    std::string executable;
    for (const MappedCode& code : process.mapped) {
      if (!seen_files_.insert(code.path).second) continue;
      if (executable.empty()) executable = RealPath(absl::StrFormat("/proc/%d/exe", process.pid));
      LookInFile(code.path, code.path == executable);
    }
  }
}

void OutsidePoints::Look(uint32_t image, const std::vector<ImageProcess>& processes) {
  for (Counted* counted : places_) {
    for (ImageBreakpoints& set : counted->breakpoints) {
      if (set.image() != image) continue;
      // A program does not move.
      if (set.was_set() && counted->spec.binary.empty()) continue;
      SetBreakpoints(counted, &set, processes);
    }
  }
}

std::vector<uint64_t> OutsidePoints::WhereProbesResume(const ImageProcess& process) const {
  std::vector<uint64_t> addresses;
  for (const Counted* counted : places_) {
    for (const PlaceInFile& place : counted->places) {
      if (place.code.resume_offset == 0) continue;
      const uint64_t address = RuntimeAddress(process.mapped, place.file, place.code.resume_offset);
      if (address != 0) addresses.push_back(address);
    }
  }
  return addresses;
}

std::vector<uint64_t> OutsidePoints::WhereBreakpointsAre(uint32_t image, pid_t pid) const {
  std::vector<uint64_t> addresses;
  for (const Counted* counted : places_) {
    for (const ImageBreakpoints& set : counted->breakpoints) {
      if (set.image() != image) continue;
      for (const uint64_t address : set.AddressesIn(pid)) addresses.push_back(address);
    }
  }
  return addresses;
}

void OutsidePoints::TellPlaces(shared::ProcessSlot* slot, const ImageProcess& process) const {
  std::vector<uint64_t> addresses =
      probes_ ? WhereProbesResume(process)
              : WhereBreakpointsAre(slot->image.load(std::memory_order_relaxed), process.pid);
  addresses.resize(shared::kMaxCountedPlaces);
  for (size_t i = 0; i < shared::kMaxCountedPlaces; ++i) {
    slot->counted_places[i].store(addresses[i], std::memory_order_relaxed);
  }
}

// Frees descriptors of ended programs.
void OutsidePoints::ForgetEnded() {
  for (Counted* counted : places_) {
    auto& sets = counted->breakpoints;
    const auto ended = std::partition(sets.begin(), sets.end(), [this](const auto& set) {
      // Children that are not in the profile go on counting, in events that are read through the
      // first process's own.
      return live_images_.count(set.image()) != 0 || (with_children_ && set.was_set());
    });
    for (auto set = ended; set != sets.end(); ++set) counted->visits_before += set->Read();
    sets.erase(ended, sets.end());
  }
}

// The processes of each program that runs. One that does not belong to the profile, or may not be
// looked into, goes on.
std::map<uint32_t, OutsidePoints::Image> OutsidePoints::ReadImages(shared::ControlBlock& control) {
  std::map<uint32_t, Image> images;
  live_images_.clear();
  const uint64_t now_ns = MonotonicNowNs();
  shared::ForEachProcess(control, [&](shared::ProcessSlot& slot, uint32_t index) {
    const shared::ProcessState state = slot.state.load(std::memory_order_acquire);
    if (state == shared::ProcessState::kFree) return;
    const uint32_t number = slot.image.load(std::memory_order_relaxed);
    live_images_.insert(number);
    if (state != shared::ProcessState::kRunning) return;
    const pid_t pid = slot.pid;
    if (!members_.Has(control, index, pid, now_ns)) {
      slot.armed.store(number + 1, std::memory_order_release);
      return;
    }
    Image& image = images[number];
    image.slots.push_back(&slot);
    image.processes.push_back({pid, slot.start_ns, {}});
  });
  return images;
}

bool OutsidePoints::SeesOtherProcesses(shared::ControlBlock& control) {
  processes_before_.swap(processes_);
  processes_.clear();
  shared::ForEachProcess(control, [this](shared::ProcessSlot& slot, uint32_t index) {
    const shared::ProcessState state = slot.state.load(std::memory_order_acquire);
    if (state == shared::ProcessState::kFree) return;
    processes_.push_back({index, static_cast<uint32_t>(state),
                          slot.image.load(std::memory_order_relaxed),
                          static_cast<uint32_t>(slot.pid)});
  });
  return processes_ != processes_before_;
}

void OutsidePoints::Poll(shared::ControlBlock& control, uint64_t now_ns) {
  if (!has_places_) return;
  const bool look = look_pace_.IsDue(now_ns) || is_changing();
  if (!SeesOtherProcesses(control) && !look) return;
  uint64_t cost_ns = 0;
  std::map<uint32_t, Image> images = ReadImages(control);
  if (look) {
    ForgetEnded();
    std::vector<std::pair<pid_t, uint64_t>> live;
    for (const auto& [number, image] : images) {
      for (const ImageProcess& process : image.processes) {
        live.emplace_back(process.pid, process.start_ns);
      }
    }
    patched_.Forget(live);
  }
  for (Counted* counted : places_) {
    if (look) JudgeCost(counted, now_ns);
  }
  for (const Point& point : points_) {
    const bool crosses = point.end != nullptr && point.end->catch_up != nullptr &&
                         point.end->catch_up->crosses_threads();
    if (crosses) target_->LeaveUncharged(point.id);
  }
  for (auto& [number, image] : images) {
    // Children of fork have their parent's image and its breakpoints.
    const bool is_new = seen_images_.Insert(number);
    const bool has_child =
        look && std::any_of(image.processes.begin(), image.processes.end(),
                            [this](const ImageProcess& process) {
                              return patched_.IsToBeAsked(process.pid, process.start_ns);
                            });
    const bool is_told = is_new || seen_images_.is_full();
    if (!is_told && !has_child && !(look && may_move_)) continue;
    const uint64_t start_ns = MonotonicNowNs();
    for (ImageProcess& process : image.processes) process.mapped = ReadMappedCode(process.pid);
    if (is_new) {
      EnterProgram(control, number, image);
      Lend(control);
    } else {
      const size_t known = seen_files_.size();
      FindPlaces(image.processes);
      AskForPatches(control, image, /*at_start=*/false);
      if (seen_files_.size() != known) DescribePoints();
      Look(number, image.processes);
      cost_ns += MonotonicNowNs() - start_ns;
    }
    for (size_t i = 0; i < image.slots.size(); ++i) {
      TellPlaces(image.slots[i], image.processes[i]);
      if (is_told) image.slots[i]->armed.store(number + 1, std::memory_order_release);
    }
  }
  if (look) {
    Lend(control);
    look_pace_.Looked(now_ns, cost_ns);
  }
  if (is_changing()) GoOnChanging(control, now_ns);
}

std::vector<std::string> OutsidePoints::TakeWarnings() { return std::exchange(warnings_, {}); }

void OutsidePoints::AddMissingMark(const Counted& counted, const std::vector<std::string>& marks,
                                   std::vector<std::string>* missing) const {
  if (counted.mark.empty() || std::count(marks.begin(), marks.end(), counted.mark) != 0) return;
  missing->push_back(absl::StrFormat(
      "'%s%s' was not counted, for the program has no COZ_PROGRESS_NAMED(\"%s\"); it has %s",
      kMarkPrefix, counted.mark, counted.mark,
      marks.empty() ? "none: put one, or name a place" : absl::StrJoin(marks, ", ")));
}

std::vector<std::string> OutsidePoints::Missing(const LiveTarget& target) const {
  std::vector<std::string> missing;
  const std::vector<std::string> marks = target.Marks();
  for (const Point& point : points_) {
    if (point.begin != nullptr) AddMissingMark(*point.begin, marks, &missing);
    if (point.end != nullptr) AddMissingMark(*point.end, marks, &missing);
  }
  for (const Counted* counted : places_) {
    if (counted->was_found) continue;
    missing.push_back(
        absl::StrFormat("'%s' was not counted%s", counted->spec.text, WhyNotFound(*counted)));
  }
  return missing;
}

std::string OutsidePoints::WhyNotFound(const Counted& counted) const {
  if (!counted.why_missing.empty()) return absl::StrCat(": ", counted.why_missing);
  const std::string& binary = counted.spec.binary;
  const std::string closest = points::ClosestLibraries(binary, seen_files_);
  return absl::StrFormat(
      ", for no program loaded a binary %s%s", binary,
      closest.empty() ? "; see what is loaded with: LD_DEBUG=files PROGRAM" : closest);
}

std::vector<std::string> OutsidePoints::NotFoundYet() const {
  std::vector<std::string> sentences;
  for (const Counted* counted : places_) {
    if (counted->was_found) continue;
    sentences.push_back(
        absl::StrFormat("'%s' is not counted so far%s", counted->spec.text, WhyNotFound(*counted)));
  }
  return sentences;
}

bool OutsidePoints::IsFound(uint32_t point) const {
  for (const Point& known : points_) {
    if (known.id != point) continue;
    const std::vector<Counted*> all = known.all();
    return std::all_of(all.begin(), all.end(), [](const Counted* counted) {
      return counted->was_found || !counted->is_at_places();
    });
  }
  return true;
}

void OutsidePoints::TakeSlots(shared::ControlBlock* control) {
  if (!changes_code_) return;
  for (Counted* counted : places_) {
    if (counted->slots.visits >= shared::kMaxPoints) continue;
    counted->slots.visits = TakePlaceSlot(counted->spec.text, control);
    if (counted->slots.visits != kNoSlot) {
      counted->control = control;
      continue;
    }
    for (const size_t place : counted->patched) patched_.Remove(place);
    Warn(absl::ResourceExhaustedError(absl::StrFormat(
        "'%s' is not counted, for the process has %d points and marks already; give fewer",
        counted->spec.text, shared::kMaxPoints)));
  }
  // Requests may be under way already.
  for (Point& point : points_) {
    const bool is_pair = is_late_ && point.end != nullptr && point.begin->control != nullptr &&
                         point.end->control != nullptr;
    if (!is_pair) continue;
    BeginCatchUp(point, /*were_theirs=*/false, control);
    for (const size_t place : point.begin->patched) patched_.PutLast(place);
  }
  for (const Counted* counted : places_) {
    for (const size_t place : counted->patched) patched_.SetSlots(place, counted->slots);
  }
}

void OutsidePoints::SetLate(const LateProcess& late) {
  is_late_ = true;
  patched_.SetLate(late);
}

void OutsidePoints::AddTo(LiveTarget* target, const UnitIndex* units) {
  target_ = target;
  units_ = units;
  for (Point& point : points_) AddToTarget(&point);
}

void OutsidePoints::AddToTarget(Point* point) {
  const auto place_of = [](const Counted& counted) {
    return counted.control != nullptr ? counted.slots.visits + 1 : 0;
  };
  LiveTarget::Point described;
  described.name = point->name;
  if (point->visits == nullptr) {
    described.is_latency = true;
    described.begin_mark = point->begin->mark;
    described.end_mark = point->end->mark;
    const bool marks_only = !described.begin_mark.empty() && !described.end_mark.empty();
    if (!marks_only) {
      described.counted_by = CountedBy(point->begin->mark.empty() ? *point->begin : *point->end);
    }
    described.begin_place = place_of(*point->begin);
    described.end_place = place_of(*point->end);
    point->id = target_->AddPoint(described, ReaderOf(*point->begin), ReaderOf(*point->end));
    return;
  }
  const Counted& visits = *point->visits;
  described.kind = visits.by_samples ? OutsideKind::kSampled : OutsideKind::kBreakpoint;
  described.counted_by = visits.by_samples ? "samples" : CountedBy(visits);
  if (!visits.by_samples) described.visit_cost_ns = VisitCostNs(visits);
  described.breakpoint_slowdown = SlowdownBeside(visits);
  point->id = target_->AddPoint(described, ReaderOf(visits), nullptr);
}

}  // namespace coz::supervisor
