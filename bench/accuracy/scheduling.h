// Protection from neighbours, for measurements on a machine that others use too; or neighbours.
#ifndef COZ_BENCH_ACCURACY_SCHEDULING_H_
#define COZ_BENCH_ACCURACY_SCHEDULING_H_

#include <sys/types.h>

#include <vector>

namespace coz::accuracy {

// Asks for slices of 0.1 ms instead of some ms, for the calling process and those that it starts.
// They can then preempt neighbours when they wake. Needs Linux 6.12 or later; does nothing
// elsewhere.
void UseShortSlices();

// Lets the calling process and those that it starts run before all ordinary ones (SCHED_RR). The
// accuracy programs then put themselves one step lower, so that the supervisor is not starved. The
// kernel still gives 5 % of a CPU to the others. Returns false without the right to do this.
bool UseRealtime();

// Processes that compute and never wait, as compilers do. They end with this object, or with the
// process. With `lifetime_s` each is replaced by another when it has computed for so long, as in a
// build; 0: none ends.
class BusyNeighbours {
 public:
  explicit BusyNeighbours(int count, double lifetime_s = 0);
  ~BusyNeighbours();
  BusyNeighbours(const BusyNeighbours&) = delete;
  BusyNeighbours& operator=(const BusyNeighbours&) = delete;

 private:
  std::vector<pid_t> pids_;
};

}  // namespace coz::accuracy

#endif  // COZ_BENCH_ACCURACY_SCHEDULING_H_
