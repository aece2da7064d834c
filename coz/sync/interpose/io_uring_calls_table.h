// All symbols of liburing that the runtime wraps.
//
// Shape    COZ_IO_URING_CALLS(X): X(version, result, name, parameters, arguments). `version` is
//          liburing's symbol version
// Units    those of the calls
// Errors   none: see wrapped_calls_table.h
// Threads  none
// Signals  none
// Source   liburing 2.3, liburing.h and liburing.map. Its other functions are inline, and end in
//          these
#ifndef COZ_SYNC_INTERPOSE_IO_URING_CALLS_TABLE_H_
#define COZ_SYNC_INTERPOSE_IO_URING_CALLS_TABLE_H_

namespace coz::interpose {
struct Ring;  // struct io_uring
}  // namespace coz::interpose

// clang-format off
#define COZ_IO_URING_CALLS(X) \
  X("LIBURING_2.0", int, io_uring_queue_init, (unsigned n, Ring* r, unsigned g), (n, r, g)) \
  X("LIBURING_2.0", int, io_uring_queue_init_params, (unsigned n, Ring* r, void* p), (n, r, p)) \
  X("LIBURING_2.0", int, io_uring_submit, (Ring* r), (r)) \
  X("LIBURING_2.3", int, io_uring_submit_and_get_events, (Ring* r), (r)) \
  X("LIBURING_2.0", int, io_uring_submit_and_wait, (Ring* r, unsigned n), (r, n)) \
  X("LIBURING_2.2", int, io_uring_submit_and_wait_timeout, (Ring* r, void** c, unsigned n, timespec* t, sigset_t* s), (r, c, n, t, s)) \
  X("LIBURING_2.0", int, io_uring_wait_cqes, (Ring* r, void** c, unsigned n, timespec* t, sigset_t* s), (r, c, n, t, s)) \
  X("LIBURING_2.0", int, io_uring_wait_cqe_timeout, (Ring* r, void** c, timespec* t), (r, c, t)) \
  X("LIBURING_2.0", int, __io_uring_get_cqe, (Ring* r, void** c, unsigned g, unsigned n, sigset_t* s), (r, c, g, n, s)) \
  X("LIBURING_2.3", int, io_uring_enter, (unsigned f, unsigned g, unsigned n, unsigned o, sigset_t* s), (f, g, n, o, s)) \
  X("LIBURING_2.3", int, io_uring_enter2, (unsigned f, unsigned g, unsigned n, unsigned o, sigset_t* s, size_t z), (f, g, n, o, s, z))
// clang-format on

#endif  // COZ_SYNC_INTERPOSE_IO_URING_CALLS_TABLE_H_
