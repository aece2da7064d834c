// Protection from neighbours, for measurements on a machine that others use too.
#ifndef COZ_BENCH_ACCURACY_SCHEDULING_H_
#define COZ_BENCH_ACCURACY_SCHEDULING_H_

namespace coz::accuracy {

// Asks for slices of 0.1 ms instead of some ms, for the calling process and those that it starts.
// They can then preempt neighbours when they wake. Needs Linux 6.12 or later; does nothing
// elsewhere.
void UseShortSlices();

// Lets the calling process and those that it starts run before all ordinary ones (SCHED_RR). The
// accuracy programs then put themselves one step lower, so that the supervisor is not starved. The
// kernel still gives 5 % of a CPU to the others. Returns false without the right to do this.
bool UseRealtime();

}  // namespace coz::accuracy

#endif  // COZ_BENCH_ACCURACY_SCHEDULING_H_
