// Has processes change their code, so that it counts visits to places (coz/patch).
//
// Shape    places are planned once, in their file. Each process is asked for those that it has
//          mapped, and is remembered until it ends. A child of fork has its parent's. Places come
//          and go while processes run
// Units    runtime addresses; offsets in the file; ns of CLOCK_MONOTONIC
// Errors   a place that a process refuses is told with the reason, once
// Threads  compatible
// Signals  none
// Source   docs/design/patching.md; docs/design/points.md
#ifndef COZ_SUPERVISOR_POINTS_PATCHED_PLACES_H_
#define COZ_SUPERVISOR_POINTS_PATCHED_PLACES_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "coz/patch/place_plan.h"
#include "coz/patch/stub_space.h"
#include "coz/shared/control_block.h"
#include "coz/supervisor/points/place_in_file.h"
#include "coz/supervisor/points/place_slots.h"
#include "coz/supervisor/points/plan_in_file.h"

namespace coz::supervisor {

// A place where a call of a timed function begins or ends. Of a function of a library calls are
// told apart by caller, whether or not their ends are seen. kOwnCall: a system call of the program.
// kGoroutine: a moment of Go's scheduler.
struct PlaceEdge {
  enum class Kind { kNone, kBegin, kEnd, kBeginApi, kCountApi, kOwnCall, kGoroutine };
  Kind kind = Kind::kNone;
  uint32_t argument = 0;  // of the runtime's routine
  patch::FrameRule frame = {0, 0};
};

// The point slots to which a place adds its visits, with the meaning of patch::CounterPlace.
struct VisitSlots {
  uint32_t visits = kNoSlot;
  uint32_t begins = kNoSlot;  // kNoSlot: each visit counts
  uint32_t without_begin = kNoSlot;
};

// Processes that run already when they join, and so do not wait at their start.
struct LateProcess {
  // Why its code is not to be changed now, a clause; empty: it may be. Asked before each change.
  std::function<std::string(pid_t)> why_not;
  // Has it do at once what it is asked for, though it sleeps.
  std::function<void(pid_t)> answer;
  // A process that has ended refuses nothing.
  std::function<bool(pid_t)> has_ended;
};

class PatchedPlaces {
 public:
  struct Refused {
    size_t place;
    std::string why;
  };

  // So that it can be added, where nothing that is there already forbids that. Of two places whose
  // bytes overlap, one may have to be counted by an int3: changes its plans, or the other's. A
  // clause where that does not help.
  std::string MakeRoom(const PlaceInFile& place, PlacePlans* plans);
  // Returns the place's number. Several points may count at one place, as long as no process has
  // been asked for it.
  size_t Add(const VisitSlots& slots, const PlaceInFile& place, const PlacePlans& plans,
             const PlaceEdge& edge = {});
  // Before any process is asked.
  void SetLate(LateProcess late) { late_ = std::move(late); }
  void SetSlots(size_t number, const VisitSlots& slots) { places_[number].slots = slots; }
  // The place is changed after the others: where a pair begins, whose ends have to count by then.
  void PutLast(size_t number) { places_[number].comes_last = true; }
  // The code is restored, with the next answers of the processes; and changed again.
  void Remove(size_t number);
  void Restore(size_t number);
  // Whether every process has answered for all changes, or has been asleep whenever it was asked.
  bool IsSettled() const;
  bool empty() const { return places_.empty(); }
  bool is_late() const { return late_.answer != nullptr; }
  // Whether a process still counts at a place that was removed.
  bool HasChangesToUndo() const;
  const PlaceInFile& place(size_t number) const { return places_[number].in_file; }
  // How it is counted now: an int3 may have taken the place of a jump.
  patch::Way way(size_t number) const { return places_[places_[number].leader].way; }
  // Whether a process counts there now.
  bool IsThere(size_t number) const;
  // Whether this process counts at all of these places.
  bool AreThere(const std::vector<size_t>& numbers, const ImageProcess& process) const;
  // Whether every process that is known has restored the place's code.
  bool IsGone(size_t number) const;

  // The process waits at its start: asks it for all places that it has, and waits for the answers.
  // What it refuses is given up for good.
  std::vector<Refused> AskAtStart(shared::ControlBlock& control, const shared::ProcessSlot& slot,
                                  const ImageProcess& process);
  // Asks a running process for what it does not have yet, and takes answers. As often as wanted.
  std::vector<Refused> Ask(shared::ControlBlock& control, const shared::ProcessSlot& slot,
                           const ImageProcess& process);
  void Forget(const std::vector<std::pair<pid_t, uint64_t>>& live);
  // A child of fork of a process that was attached to, which may have been forked before its parent
  // had changed its code, and has not been asked for all yet.
  bool IsToBeAsked(pid_t pid, uint64_t start_ns) const;

 private:
  struct Place {
    VisitSlots slots;
    PlaceInFile in_file;
    PlacePlans plans;
    uint64_t changed_offset;  // in the file
    patch::Way way;
    bool given_up = false;
    bool is_removed = false;
    PlaceEdge edge;
    // The first of those at the same place, by which processes are asked for all of them.
    size_t leader = 0;
    // Of a leader.
    size_t counting = 0;  // of them, those that are not removed
    bool was_asked = false;
    bool comes_last = false;
  };
  using AddressAndPlace = std::pair<uint64_t, size_t>;
  struct Process {
    patch::StubSpace space;
    std::map<uint64_t, size_t> done;  // places by address
    std::set<AddressAndPlace> restored;
    std::map<AddressAndPlace, patch::CodePatch> built;  // a stub serves again
    std::map<size_t, int> tries;                        // of places
    uint32_t unloads = 0;
    uint64_t changed_ns = 0;  // when code was last changed
    bool is_behind = true;    // has changes to make
    int silent = 0;           // times that it was asked in vain
    uint64_t ask_again_ns = 0;
  };
  using Identity = std::pair<pid_t, uint64_t>;  // with its start
  struct Asked {
    Identity process;
    std::vector<size_t> places;
    std::vector<uint64_t> addresses;
    uint64_t since_ns = 0;
    bool removes = false;
  };

  size_t LeaderAt(const PlaceInFile& place, uint64_t changed_offset) const;
  void Refuse(size_t leader, const std::string& why, std::vector<Refused>* refused) const;
  patch::CounterPlace CountersOf(size_t leader, const shared::ProcessSlot& slot) const;
  Process& Remember(const shared::ProcessSlot& slot, const ImageProcess& process);
  // Writes a request; false where there is nothing to ask. `waits`: at its start, with one thread.
  bool Write(shared::ControlBlock& control, const shared::ProcessSlot& slot,
             const ImageProcess& process, bool waits, Process* known,
             std::vector<Refused>* refused);
  void WriteRemovals(const ImageProcess& process, const Process& known,
                     shared::PatchRequest* request, Asked* asked) const;
  void WriteInsertions(const shared::ProcessSlot& slot, const ImageProcess& process, bool waits,
                       Process* known, shared::PatchRequest* request, Asked* asked,
                       std::vector<Refused>* refused);
  bool IsToInsert(size_t number, const Process& known, bool comes_last) const;
  // Returns once it has come, or has not for long.
  void AwaitAnswer(shared::ControlBlock& control, std::vector<Refused>* refused);
  std::optional<patch::CodePatch> PatchFor(size_t number, uint64_t address,
                                           const shared::ProcessSlot& slot, Process* known);
  void TakeAnswer(shared::ControlBlock& control, std::vector<Refused>* refused);
  void TakeResult(size_t place, uint64_t address, uint32_t result, Process* known,
                  std::vector<Refused>* refused);
  static void TakeRemoval(size_t place, uint64_t address, uint32_t result, Process* known);
  // `told_by_others`: the first of them, which are not the process's.
  void ForgetRefusalsOfEnded(const ImageProcess& process, size_t told_by_others,
                             std::vector<Refused>* refused) const;
  void ExpectChanges();
  void Withdraw(shared::ControlBlock& control);
  std::optional<patch::CodePatch> Build(size_t leader, const patch::PlacePlan& plan,
                                        uint64_t address, const shared::ProcessSlot& slot,
                                        patch::StubSpace* space) const;

  LateProcess late_;
  std::vector<Place> places_;
  std::map<Identity, Process> processes_;
  std::optional<Asked> asked_;
  int unanswered_ = 0;  // processes at their start, in sequence
};

}  // namespace coz::supervisor

#endif  // COZ_SUPERVISOR_POINTS_PATCHED_PLACES_H_
