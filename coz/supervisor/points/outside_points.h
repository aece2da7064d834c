// Progress points that the program's source does not mark: places in its code, samples in a line,
// and pairs of any two.
//
// Shape    prepared before the program starts; Poll has each program that attaches change its code,
//          or sets breakpoints where code may not be changed, and in libraries as they are mapped
// Units    visits, cumulative over all processes
// Errors   Prepare: what can be known before the program runs, one sentence with the option. Later:
//          warnings, the program runs on
// Threads  compatible
// Signals  none
// Source   docs/progress-points.md; proc(5) for maps
#ifndef COZ_TOOLS_SUPERVISOR_OUTSIDE_POINTS_H_
#define COZ_TOOLS_SUPERVISOR_OUTSIDE_POINTS_H_

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <deque>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "coz/points/code_places.h"
#include "coz/points/point_spec.h"
#include "coz/points/visit_counter.h"
#include "coz/shared/control_block.h"
#include "coz/supervisor/points/catch_up.h"
#include "coz/supervisor/points/counter_lending.h"
#include "coz/supervisor/points/image_breakpoints.h"
#include "coz/supervisor/points/look_pace.h"
#include "coz/supervisor/points/patched_places.h"
#include "coz/supervisor/points/seen_images.h"
#include "coz/supervisor/target/live_target.h"
#include "coz/supervisor/target/tree_members.h"
#include "coz/supervisor/units/unit_index.h"

namespace coz::supervisor {

enum class VisitSource { kBest, kBreakpoint, kProbe };

struct OutsidePointOptions {
  std::vector<std::string> progress;  // place specs
  std::vector<std::string> sampled;   // FILE:LINE
  std::vector<std::string> latency;   // BEGIN,END: each a place, or mark:NAME
  VisitSource source = VisitSource::kBest;
  std::string runtime_library;  // no BINARY matches it
};

// A point that was added or removed while the program ran.
struct PointCame {
  uint32_t point = 0;  // of the target
  bool added = false;
  uint64_t at_ns = 0;
  std::string said;  // in words
};

class OutsidePoints {
 public:
  // `program` is the executable, or a launcher that becomes one by exec.
  static absl::StatusOr<std::unique_ptr<OutsidePoints>> Prepare(const OutsidePointOptions& options,
                                                                const std::string& program,
                                                                bool is_launcher,
                                                                bool with_children);

  // Before the program starts, or when one that runs has joined: takes the point slots to which
  // changed code adds its visits.
  void TakeSlots(shared::ControlBlock* control);
  // Before that: the program runs already.
  void SetLate(const LateProcess& late);
  // Adds the points to the target, which then calls back for their counts.
  void AddTo(LiveTarget* target, const UnitIndex* units);

  // Whether programs that attach have to wait for Poll.
  bool programs_wait() const {
    return has_places_ && (!probes_ || has_pairs_at_places_ || changes_code_);
  }
  void Poll(shared::ControlBlock& control, uint64_t now_ns);

  // Begins to add a place, or a pair BEGIN,END, or to remove one, while the program runs. One at a
  // time; Poll goes on with it.
  absl::Status BeginToAdd(shared::ControlBlock& control, const std::string& text);
  absl::Status BeginToRemove(shared::ControlBlock& control, const std::string& text);
  bool is_changing() const { return changing_ != nullptr; }
  // Of what Poll has brought to an end.
  std::optional<absl::StatusOr<PointCame>> TakeOutcome();
  // Places that no program has had so far, a sentence each.
  std::vector<std::string> NotFoundYet() const;
  // Whether a program had all places of the point of the target.
  bool IsFound(uint32_t point) const;
  // Whether the point of the target is there now.
  bool IsThere(uint32_t point) const;

  // Notes (on inlined copies) and problems since the last call.
  std::vector<std::string> TakeWarnings();
  // Points whose place, or mark in `target`, was never found, a sentence each.
  std::vector<std::string> Missing(const LiveTarget& target) const;

 private:
  static constexpr char kMarkPrefix[] = "mark:";
  // What is counted for a point: places, samples of a line, or a mark's visits.
  struct Counted {
    points::PointSpec spec;
    std::string mark;
    bool by_samples = false;
    bool is_api = false;                // calls into a library
    std::vector<PlaceInFile> found;     // all of its places
    std::vector<size_t> patched;        // those that are counted by changed code
    std::vector<PlaceInFile> places;    // the others
    std::string why_not_patched;        // of the last of these
    VisitSlots slots;                   // where changed code counts
    std::unique_ptr<CatchUp> catch_up;  // with all three slots
    // Of slots that another point had: what was counted in them by then, also by thread slot.
    EndSums before;
    std::vector<uint64_t> without_begin_before;
    const shared::ControlBlock* control = nullptr;  // with the slot
    std::vector<points::VisitCounter> probes;       // one for each place
    std::vector<ImageBreakpoints> breakpoints;
    uint64_t visits_before = 0;  // of programs that have ended
    std::string why_missing;
    bool was_found = false;
    // Start of the first second with visits, in which the cost of counting is judged.
    uint64_t judged_from_ns = 0;
    uint64_t judged_from_visits = 0;
    bool is_judged = false;
    // After it was removed: its visits then. Later ones belong to nobody.
    bool is_away = false;
    uint64_t visits_at_end = 0;
    uint64_t visits_of_nobody = 0;
    bool is_at_places() const { return mark.empty() && !by_samples && !is_api; }
    uint64_t Read() const;
    uint64_t ReadAll() const;
    uint64_t ReadChangedCode() const;
    EndSums ReadEnds() const;
  };
  struct Point {
    std::string name;
    std::unique_ptr<Counted> visits;  // or begin and end
    std::unique_ptr<Counted> begin;
    std::unique_ptr<Counted> end;
    uint32_t id = 0;  // of the target
    bool is_away = false;
    bool has_passed_slots_on = false;  // to a point that came later
    std::vector<Counted*> all() const;
  };
  // Places of one PointSpec, each with what it allows.
  struct FoundPlaces {
    std::vector<std::pair<PlaceInFile, PlacePlans>> places;
    std::string note;
  };
  using FoundForAll = absl::StatusOr<std::vector<FoundPlaces>>;
  struct Changing {
    enum class Stage { kSeek, kAddEnd, kAdd, kRemove };
    Stage stage;
    Point* point = nullptr;          // one of points_
    std::unique_ptr<Point> made;     // or one that is new
    std::future<FoundForAll> found;  // of `made`, in the order of Point::all
    FoundPlaces begins;              // of a pair, until the end is counted
    uint64_t since_ns = 0;           // of the stage
    uint64_t removed_ns = 0;
    std::string refused;
  };

  static bool ShareAPlace(const Counted& a, const Counted& b);
  static bool IsOnePlace(const Counted& a, const Counted& b);
  absl::StatusOr<std::unique_ptr<Counted>> Parse(const std::string& option,
                                                 const std::string& text);
  absl::StatusOr<std::unique_ptr<Counted>> ParseApi(const std::string& option,
                                                    const std::string& text);
  absl::Status ParseAll(const OutsidePointOptions& options);
  static absl::Status MayBeInLibrary(const points::PointSpec& spec, const absl::Status& status);
  absl::Status CheckSemaphores(const Counted& counted) const;
  absl::Status MakeRoom(const PlaceInFile& place, PlacePlans* plans, const Counted& counted);
  absl::Status TakePlaces(const FoundPlaces& found, Counted* counted);
  static absl::StatusOr<FoundPlaces> Seek(const points::PointSpec& spec,
                                          const std::vector<std::string>& files);
  absl::Status ResolveInProgram(const std::string& option, Counted* counted);
  static void PlanPlaces(const std::string& path, const points::CodePlaces& binary,
                         const std::vector<points::CodePlace>& found, bool may_change,
                         FoundPlaces* places);
  absl::Status AddPlaces(const std::string& path, const points::CodePlaces& binary,
                         const std::vector<points::CodePlace>& found, Counted* counted);
  absl::Status ChooseSource(VisitSource wanted);
  struct Image {
    std::vector<shared::ProcessSlot*> slots;
    std::vector<ImageProcess> processes;  // of each
  };
  std::map<uint32_t, Image> ReadImages(shared::ControlBlock& control);
  void EnterProgram(shared::ControlBlock& control, uint32_t number, const Image& image);
  // Has processes change their code. `at_start`: they wait for it.
  void AskForPatches(shared::ControlBlock& control, const Image& image, bool at_start);
  void TakeRefused(const std::vector<PatchedPlaces::Refused>& refused, bool is_final);
  void FindPlaces(const std::vector<ImageProcess>& processes);
  std::string CountedBy(const Counted& counted) const;
  uint64_t VisitCostNs(const Counted& counted) const;
  double SlowdownBeside(const Counted& counted) const;
  void DescribePoints();
  LiveTarget::CountVisits ReaderOf(const Counted& counted) const;
  static bool IsOf(const Point& point, const Counted* counted);
  void AddToTarget(Point* point);
  // In outside_points_changes.cc.
  absl::StatusOr<std::unique_ptr<Point>> MakePoint(const std::string& text);
  absl::StatusOr<std::vector<std::string>> FilesOf(const points::PointSpec& spec,
                                                   const std::vector<ImageProcess>& processes);
  absl::StatusOr<std::future<FoundForAll>> SeekPlaces(shared::ControlBlock& control,
                                                      const Point& point);
  bool CanChangeCode(shared::ControlBlock& control);
  void ExpectChanges(shared::ControlBlock& control);
  void GoOnChanging(shared::ControlBlock& control, uint64_t now_ns);
  absl::Status TakeSlots(const Point& made, shared::ControlBlock& control);
  // `were_theirs`: this session has counted the pair in its slots before.
  static void BeginCatchUp(const Point& pair, bool were_theirs, shared::ControlBlock* control);
  bool TakeSlotsAgain(const Point& made, const shared::ControlBlock& control);
  absl::Status TakeFound(shared::ControlBlock& control);
  absl::Status TakeChangeable(FoundPlaces* found, Counted* counted);
  void BeginStage(Changing::Stage stage, uint64_t now_ns);
  void EndAdding(uint64_t now_ns);
  void EndRemoving();
  void GiveUpAdding();
  void TakeAway(Point* point);
  // Lets processes read the counts of pairs.
  void Lend(shared::ControlBlock& control) const;
  LendableCounter Lendable(const Counted& counted, uint32_t point, shared::PairEnd end,
                           bool with_reserved) const;
  // Finds places in binaries that a process has loaded, and sets breakpoints where they lie now.
  void Look(uint32_t image, const std::vector<ImageProcess>& processes);
  void LookInFile(const std::string& path, bool is_program);
  void SetBreakpoints(Counted* counted, ImageBreakpoints* breakpoints,
                      const std::vector<ImageProcess>& processes);
  // Tells the process at which addresses samples fall into the cost of counting.
  void TellPlaces(shared::ProcessSlot* slot, const ImageProcess& process) const;
  std::vector<uint64_t> WhereBreakpointsAre(uint32_t image, pid_t pid) const;
  std::vector<uint64_t> WhereProbesResume(const ImageProcess& process) const;
  absl::Status SetProbes(Counted* counted);
  void ForgetEnded();
  // Whether other processes run, or other programs in them, than at the call before.
  bool SeesOtherProcesses(shared::ControlBlock& control);
  void JudgeCost(Counted* counted, uint64_t now_ns);
  void Warn(const absl::Status& status);
  std::string WhyNotFound(const Counted& counted) const;
  void AddMissingMark(const Counted& counted, const std::vector<std::string>& marks,
                      std::vector<std::string>* missing) const;
  size_t PlaceCount() const;

  std::string program_;
  std::string runtime_library_;
  bool is_launcher_ = false;
  bool is_late_ = false;  // the program runs already
  bool with_children_ = false;
  bool changes_code_ = false;
  bool probes_ = false;
  bool has_places_ = false;
  bool has_pairs_at_places_ = false;
  bool may_move_ = false;  // places may appear or move later
  uint64_t visit_cost_ns_ = 0;
  double breakpoint_slowdown_ = 0;
  std::unique_ptr<points::CodePlaces> program_places_;
  std::deque<Point> points_;      // they stay where they are
  std::vector<Counted*> places_;  // those that are counted at places
  PatchedPlaces patched_;
  LiveTarget* target_ = nullptr;
  std::set<std::string> seen_files_;
  SeenImages seen_images_;
  TreeMembers members_;
  std::set<uint32_t> live_images_;                  // of processes that run now
  std::vector<std::array<uint32_t, 4>> processes_;  // slot, state, image and pid of each
  std::vector<std::array<uint32_t, 4>> processes_before_;
  LookPace look_pace_;
  const UnitIndex* units_ = nullptr;
  std::unique_ptr<Changing> changing_;
  std::optional<absl::StatusOr<PointCame>> outcome_;
  std::vector<std::string> warnings_;
  std::set<std::string> warned_of_;
};

}  // namespace coz::supervisor

#endif  // COZ_TOOLS_SUPERVISOR_OUTSIDE_POINTS_H_
