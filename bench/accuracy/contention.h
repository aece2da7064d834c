// How much longer work takes on one CPU while another CPU works. CPUs that share a core, or its
// clock, are not independent. No pause of a thread can make up for what a busy neighbour takes.
//
// Shape    one figure
// Units    a ratio: 1 means no slowdown
// Errors   1 where there is only one CPU
// Threads  makes two of its own
// Signals  none
// Source   none
#ifndef COZ_BENCH_ACCURACY_CONTENTION_H_
#define COZ_BENCH_ACCURACY_CONTENTION_H_

namespace coz::accuracy {

// The median over a fifth of a second of this ratio: the time of work on CPU 0 while CPU 1 works,
// over the time of the same work right after, while CPU 1 idles.
double SlowdownBesideWork(double steps_per_us);

}  // namespace coz::accuracy

#endif  // COZ_BENCH_ACCURACY_CONTENTION_H_
