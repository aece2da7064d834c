// Means against neighbours, for measurements on a machine that others use too.
#ifndef COZ_BENCH_ACCURACY_SCHEDULING_H_
#define COZ_BENCH_ACCURACY_SCHEDULING_H_

namespace coz::accuracy {

// The calling process and those that it starts ask for slices of 0.1 ms instead of some ms, which
// lets them preempt neighbours when they wake (Linux 6.12 and later; nothing elsewhere).
void UseShortSlices();

// The calling process and those that it starts run before all ordinary ones (SCHED_RR). The
// accuracy programs then put themselves one step below, so that the supervisor is not starved. The
// kernel still gives 5 % of a CPU to the others. False without the right to.
bool UseRealtime();

}  // namespace coz::accuracy

#endif  // COZ_BENCH_ACCURACY_SCHEDULING_H_
