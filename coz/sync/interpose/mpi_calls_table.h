// All calls of MPI that the runtime wraps, by both of their names (MPI_ and PMPI_).
//
// Shape    COZ_MPI_CALLS(X): X(shape, name, parameters). `parameters`: how many. `shape`:
//          WAIT      may wait for another rank, and may end the wait of another
//          START     may end the wait of another rank, and does not wait
// Units    those of the calls
// Errors   none
// Threads  none
// Signals  none
// Source   MPI 3.1, appendix A.2. Libraries differ in the types of handles: an int (MPICH) or a
//          pointer (Open MPI). No parameter of these calls is a floating-point number
#ifndef COZ_SYNC_INTERPOSE_MPI_CALLS_TABLE_H_
#define COZ_SYNC_INTERPOSE_MPI_CALLS_TABLE_H_

// clang-format off
#define COZ_MPI_CALLS(X)                                                                                    \
  X(WAIT, Send, 6) X(WAIT, Bsend, 6) X(WAIT, Ssend, 6) X(WAIT, Rsend, 6) X(WAIT, Recv, 7)                   \
  X(WAIT, Sendrecv, 12) X(WAIT, Sendrecv_replace, 9)                                                        \
  X(WAIT, Probe, 4) X(WAIT, Mprobe, 5) X(WAIT, Mrecv, 5)                                                    \
  X(WAIT, Wait, 2) X(WAIT, Waitall, 3) X(WAIT, Waitany, 4) X(WAIT, Waitsome, 5)                             \
  X(WAIT, Barrier, 1) X(WAIT, Bcast, 5) X(WAIT, Gather, 8) X(WAIT, Gatherv, 9) X(WAIT, Scatter, 8)          \
  X(WAIT, Scatterv, 9) X(WAIT, Allgather, 7) X(WAIT, Allgatherv, 8) X(WAIT, Alltoall, 7)                    \
  X(WAIT, Alltoallv, 9) X(WAIT, Alltoallw, 9) X(WAIT, Reduce, 7) X(WAIT, Allreduce, 6)                      \
  X(WAIT, Reduce_scatter, 6) X(WAIT, Reduce_scatter_block, 6) X(WAIT, Scan, 6) X(WAIT, Exscan, 6)           \
  X(WAIT, Neighbor_allgather, 7) X(WAIT, Neighbor_allgatherv, 8) X(WAIT, Neighbor_alltoall, 7)              \
  X(WAIT, Neighbor_alltoallv, 9) X(WAIT, Neighbor_alltoallw, 9)                                             \
  X(WAIT, Win_fence, 2) X(WAIT, Win_lock, 4) X(WAIT, Win_unlock, 2) X(WAIT, Win_lock_all, 2)                \
  X(WAIT, Win_unlock_all, 1) X(WAIT, Win_flush, 2) X(WAIT, Win_flush_all, 1) X(WAIT, Win_start, 3)          \
  X(WAIT, Win_complete, 1) X(WAIT, Win_wait, 1)                                                             \
  X(START, Win_post, 3) X(START, Isend, 7) X(START, Ibsend, 7) X(START, Issend, 7) X(START, Irsend, 7)      \
  X(START, Start, 1) X(START, Startall, 2) X(START, Ibarrier, 2) X(START, Ibcast, 6)                        \
  X(START, Igather, 9) X(START, Igatherv, 10) X(START, Iscatter, 9) X(START, Iscatterv, 10)                 \
  X(START, Iallgather, 8) X(START, Iallgatherv, 9) X(START, Ialltoall, 8) X(START, Ialltoallv, 10)          \
  X(START, Ialltoallw, 10) X(START, Ireduce, 8) X(START, Iallreduce, 7) X(START, Ireduce_scatter, 7)        \
  X(START, Ireduce_scatter_block, 7) X(START, Iscan, 7) X(START, Iexscan, 7)
// clang-format on

#endif  // COZ_SYNC_INTERPOSE_MPI_CALLS_TABLE_H_
