// MPI: a call that waits for other ranks is a wait for threads of the program, whose ranks on this
// host are processes of one tree. An MPI library waits in a loop of its own that polls shared
// memory, so nothing else shows it. Process: target. Context: the program's threads.
//
// A rank pays before it sends, since a message ends the wait of another. Who has ended a wait is
// not known. It has paid, so its local delay is the global one.
//
// The runtime knows no MPI library. Parameters are passed on as words: on this machine a call
// passes each in a register or stack slot of its own, whatever its type, unless it is a
// floating-point number. The functions have no version, as those of MPI libraries.
#include <cstdint>

#include "coz/sync/interpose/io_wait.h"
#include "coz/sync/interpose/library_calls.h"
#include "coz/sync/interpose/mpi_calls_table.h"
#include "coz/sync/interpose/thread_sync.h"

namespace coz::interpose {
namespace {

static_assert(sizeof(long) == 8, "a word holds any parameter");

// Wrapped calls that the thread is in. A tool that stands in front of MPI calls PMPI_Recv in
// MPI_Recv, and Fortran's mpi_recv_ does.
__thread int t_depth __attribute__((tls_model("initial-exec"))) = 0;

class Nested {
 public:
  Nested() : is_first_(t_depth++ == 0) {}
  ~Nested() { --t_depth; }
  Nested(const Nested&) = delete;
  Nested& operator=(const Nested&) = delete;
  bool IsFirst() const { return is_first_; }

 private:
  const bool is_first_;
};

template <typename Call>
long WaitForRanks(Call call) {
  const Nested nested;
  if (!nested.IsFirst()) return call();
  // Open MPI polls descriptors in its loop, which are waits of their own elsewhere.
  const auto unseen_call = [call] {
    const UnseenScope unseen;
    return call();
  };
  return WaitForIo(unseen_call, [](long) {
    return sync_internal::g_ledger->global_delay_ns.load(std::memory_order_acquire);
  });
}

template <typename Call>
long PayAndStart(Call call) {
  const Nested nested;
  if (nested.IsFirst()) PayIfBehind();
  return call();
}

}  // namespace

// clang-format off
#define COZ_PARAMETERS_1 long a
#define COZ_PARAMETERS_2 COZ_PARAMETERS_1, long b
#define COZ_PARAMETERS_3 COZ_PARAMETERS_2, long c
#define COZ_PARAMETERS_4 COZ_PARAMETERS_3, long d
#define COZ_PARAMETERS_5 COZ_PARAMETERS_4, long e
#define COZ_PARAMETERS_6 COZ_PARAMETERS_5, long f
#define COZ_PARAMETERS_7 COZ_PARAMETERS_6, long g
#define COZ_PARAMETERS_8 COZ_PARAMETERS_7, long h
#define COZ_PARAMETERS_9 COZ_PARAMETERS_8, long i
#define COZ_PARAMETERS_10 COZ_PARAMETERS_9, long j
#define COZ_PARAMETERS_11 COZ_PARAMETERS_10, long k
#define COZ_PARAMETERS_12 COZ_PARAMETERS_11, long l
#define COZ_ARGUMENTS_1 a
#define COZ_ARGUMENTS_2 COZ_ARGUMENTS_1, b
#define COZ_ARGUMENTS_3 COZ_ARGUMENTS_2, c
#define COZ_ARGUMENTS_4 COZ_ARGUMENTS_3, d
#define COZ_ARGUMENTS_5 COZ_ARGUMENTS_4, e
#define COZ_ARGUMENTS_6 COZ_ARGUMENTS_5, f
#define COZ_ARGUMENTS_7 COZ_ARGUMENTS_6, g
#define COZ_ARGUMENTS_8 COZ_ARGUMENTS_7, h
#define COZ_ARGUMENTS_9 COZ_ARGUMENTS_8, i
#define COZ_ARGUMENTS_10 COZ_ARGUMENTS_9, j
#define COZ_ARGUMENTS_11 COZ_ARGUMENTS_10, k
#define COZ_ARGUMENTS_12 COZ_ARGUMENTS_11, l
// clang-format on

// A call returns an int; what is in the rest of the register goes on as it came.
#define COZ_DEFINE(handle, symbol, count)                                                          \
  static LibraryCall g_##symbol{#symbol};                                                          \
  extern "C" long symbol(COZ_PARAMETERS_##count) {                                                 \
    auto* const real = RealLibraryCall<decltype(symbol)>(g_##symbol, __builtin_return_address(0)); \
    return handle([=] { return real(COZ_ARGUMENTS_##count); });                                    \
  }
#define COZ_DEFINE_WAIT(name, count) \
  COZ_DEFINE(WaitForRanks, MPI_##name, count) COZ_DEFINE(WaitForRanks, PMPI_##name, count)
#define COZ_DEFINE_START(name, count) \
  COZ_DEFINE(PayAndStart, MPI_##name, count) COZ_DEFINE(PayAndStart, PMPI_##name, count)

#define COZ_X(shape, name, count) COZ_DEFINE_##shape(name, count)
COZ_MPI_CALLS(COZ_X)
#undef COZ_X

}  // namespace coz::interpose
