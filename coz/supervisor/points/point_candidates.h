// The functions of a program whose calls are worth counting: those that samples show, with their
// callers and callees, and their counts.
//
// Shape    one program. Functions are counted all the time by changed code where that is possible;
//          of the others a bounded number is active, and counted in turns, four at a time
// Units    runtime addresses; offsets in the file; ns
// Errors   Open: as CodePlaces, and FAILED_PRECONDITION for a program without symbols
// Threads  compatible
// Signals  none
// Source   docs/progress-points.md, "Which place?"
#ifndef COZ_TOOLS_SUPERVISOR_POINT_CANDIDATES_H_
#define COZ_TOOLS_SUPERVISOR_POINT_CANDIDATES_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "coz/base/unique_fd.h"
#include "coz/points/code_places.h"
#include "coz/points/point_rating.h"
#include "coz/supervisor/points/code_counters.h"
#include "coz/supervisor/points/plan_in_file.h"
#include "coz/supervisor/target/mapped_code.h"

namespace coz::supervisor {

struct FoundPoint {
  std::string name;   // for --progress: names this function alone
  std::string where;  // FILE:LINE, or empty
  double sample_share;
  points::PointRating rating;
  bool is_least;       // the true rate is above the rating's, by an unknown factor
  double run_cost_ns;  // of a visit, by the way in which `coz run` counts it
};

struct FoundPoints {
  std::vector<FoundPoint> points;    // best first
  std::vector<FoundPoint> frequent;  // steady, too, but dear to count; best first
  double visit_cost_ns = 0;
  size_t counted = 0;   // functions, of which so many were left out:
  size_t too_rare = 0;  // most of them never called again
  size_t unsteady = 0;
  size_t uncounted = 0;       // their code could not be changed, and nothing else was to count them
  size_t beyond = 0;          // others were counted, of which there may be so many at a time
  std::string why_uncounted;  // of the last that the program refused
  uint64_t samples = 0;
  std::vector<std::string> probes;  // in the source, for --progress, by name
};

class PointCandidates {
 public:
  static absl::StatusOr<std::unique_ptr<PointCandidates>> Open(const std::string& program);

  // Mappings of the running program; call first. False: the program is not among them yet.
  bool SetMapped(const std::vector<MappedCode>& mapped);
  void AddSample(uint64_t ip, const std::vector<uint64_t>& stack);
  // From now on functions are counted by changed code where their code allows a jump.
  void CountByCode(CodeCounters* counters) { counters_ = counters; }
  // The same, and no other function is counted. `most`: so many are. A program that has no more is
  // counted as a whole, whatever samples show.
  void CountByCodeAlone(CodeCounters* counters, size_t most);
  // Functions that changed code does not count after all are counted in turns, where any are.
  void CountInTurns(const std::vector<size_t>& counters);
  // Takes what changed code has counted since the last time.
  void TakeCodeSlices();
  // Activates the functions that most samples show, then those that they call, while there is room.
  void Admit();

  // The functions whose turn it is: at most `count`. Those that are dear to count have few turns,
  // among themselves. The last of such a set is a yardstick, if there is one: a cheap function that
  // is on the stack where the first is.
  std::vector<size_t> NextSet(size_t count);
  uint64_t AddressOf(size_t candidate) const { return candidates_[candidate].address; }
  // Whether it is not known to be cheap to count.
  bool MayBeDear(size_t candidate) const {
    return candidates_[candidate].is_dear || candidates_[candidate].slices.empty();
  }
  // Whether the set has a yardstick that has not been counted often enough: the slice is to be
  // longer.
  bool AwaitsYardstick(const std::vector<size_t>& set) const;
  // Counts of a set in one slice. A function that slows the program down has spoilt the others'
  // counts.
  void AddSlices(const std::vector<size_t>& set, const std::vector<points::VisitSlice>& slices,
                 double visit_cost_ns);

  FoundPoints Result(double visit_cost_ns) const;

 private:
  struct Function {
    size_t index;    // in places_->functions()
    uint64_t begin;  // file offsets
    uint64_t end;
    uint64_t samples = 0;  // that had it on the stack
    uint64_t last_sample = 0;
    bool is_candidate = false;
  };
  static constexpr size_t kNone = ~size_t{0};
  struct Candidate {
    size_t function;
    uint64_t address;
    std::vector<points::VisitSlice> slices;
    std::optional<size_t> counter;  // of changed code, which counts it
    bool is_active = true;          // has turns
    bool is_dear = false;           // takes much of a slice to count
    // Of a dear one: as it was counted, and its visits and those of a yardstick in the same slices.
    points::VisitSlice counted = {0, 0};
    double counting_ns = 0;
    size_t yardstick = kNone;
    uint64_t visits_beside = 0;
    uint64_t yardstick_visits = 0;
  };

  PointCandidates() = default;
  // Null where the address is in no function of the program.
  Function* FunctionAt(uint64_t runtime_address);
  void CountOnStack(Function* function, std::vector<size_t>* on_stack);
  double SampleShare(const Candidate& candidate) const;
  // Of the last samples with `candidate` on the stack, the share that has `other` there, too.
  double ShareBeside(const Candidate& candidate, const Candidate& other) const;
  // The most called one that is cheap to count and on the stack where `dear` is, or kNone.
  size_t YardstickOf(const Candidate& dear) const;
  size_t YardstickIn(const std::vector<size_t>& set) const;
  void AddDear(const points::VisitSlice& slice, double counting_ns, size_t yardstick,
               uint64_t yardstick_visits, Candidate* candidate);
  // Corrects a dear one's rate. True: it is a lower bound.
  bool CorrectRate(const std::vector<points::PointRating>& all, const Candidate& candidate,
                   points::PointRating* rating) const;
  size_t ActiveCount() const;
  size_t OwnFunctions() const;
  std::vector<size_t> NextOf(const std::vector<size_t>& all, size_t count, size_t* next) const;
  bool IsUncounted(const Candidate& candidate) const {
    return most_by_code_ != 0 && !candidate.counter.has_value();
  }
  PlacePlans PlanOf(const points::CodePlaces::Function& function, points::CodePlace* place) const;
  double CostNs(const Candidate& candidate, double breakpoint_ns) const;
  double RunCostNs(const points::CodePlaces::Function& function, double breakpoint_ns) const;
  std::vector<FoundPoint> Ranked(const std::vector<points::PointRating>& ratings,
                                 const std::vector<bool>& is_least, double breakpoint_ns,
                                 points::PointFitness fitness) const;
  // Makes room; false where all are being called.
  bool DropIdle();
  void Add(Function* function);
  void AddCallees(const Function& function);
  std::string NameOf(const Function& function) const;

  std::string program_;
  UniqueFd file_;
  std::unique_ptr<points::CodePlaces> places_;
  std::vector<Function> functions_;  // by begin; one for each address
  std::vector<MappedCode> mapped_;   // of the program alone
  std::vector<Candidate> candidates_;
  CodeCounters* counters_ = nullptr;
  size_t most_by_code_ = 0;  // 0: others are counted in turns
  size_t uncounted_ = 0;
  size_t beyond_ = 0;
  std::vector<size_t> counted_;  // candidates, by the counter
  uint64_t samples_ = 0;
  std::vector<std::vector<size_t>> recent_;  // functions on the stack, of the last samples
  size_t next_ = 0;                          // whose turn is next: of the cheap; of the dear
  size_t next_dear_ = 0;
  size_t turns_ = 0;
};

}  // namespace coz::supervisor

#endif  // COZ_TOOLS_SUPERVISOR_POINT_CANDIDATES_H_
