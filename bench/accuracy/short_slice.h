// Short scheduler slices, so that on a busy machine a woken thread gets its CPU at once.
#ifndef COZ_BENCH_ACCURACY_SHORT_SLICE_H_
#define COZ_BENCH_ACCURACY_SHORT_SLICE_H_

namespace coz::accuracy {

// The calling process and those that it starts ask for slices of 0.1 ms instead of some ms, which lets them preempt neighbours when
// they wake (Linux 6.12 and later; nothing elsewhere).
void UseShortSlices();

}  // namespace coz::accuracy

#endif  // COZ_BENCH_ACCURACY_SHORT_SLICE_H_
