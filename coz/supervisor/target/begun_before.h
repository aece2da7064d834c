// How many requests of a pair were under way when its visits began to be counted, as at an attach.
// Their ends count and their begins do not, so the number under way seems too small by as many.
//
// A thread that serves one request after the other had one under way where its ends are ever ahead
// of its begins. Where requests go from thread to thread, only all threads together tell: at least
// as many were under way as ends ever were ahead of begins.
//
// Shape    fed with each look at the counters; what it tells grows, but may fall once, when threads
//          turn out to pass requests on
// Units    visits, cumulative; requests
// Errors   none
// Threads  compatible
// Signals  none
// Source   docs/design/attach.md, "Wrapped calls"
#ifndef COZ_SUPERVISOR_TARGET_BEGUN_BEFORE_H_
#define COZ_SUPERVISOR_TARGET_BEGUN_BEFORE_H_

#include <cstdint>
#include <vector>

namespace coz::supervisor {

// Ends are read before begins, so that none that counts seems to lack its begin.
struct PairVisits {
  uint64_t departures = 0;
  uint64_t arrivals = 0;
};

class BegunBefore {
 public:
  // `thread` is any number that stays the thread's.
  void LookAtThread(uint32_t thread, const PairVisits& visits);
  // Visits whose threads are not known count for all threads only.
  void LookAtAll(const PairVisits& visits);
  void PassesRequestsOn() { passes_on_ = true; }

  uint64_t requests() const;

 private:
  std::vector<bool> had_one_;  // by thread
  uint64_t threads_that_had_one_ = 0;
  uint64_t ahead_ = 0;  // the most ends beyond begins, over all threads
  bool passes_on_ = false;
};

}  // namespace coz::supervisor

#endif  // COZ_SUPERVISOR_TARGET_BEGUN_BEFORE_H_
