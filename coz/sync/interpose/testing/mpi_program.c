/* What a call of MPI does for the delays of its rank. Another rank is simulated: it imposes delay,
 * and has paid when it ends the wait. */
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "coz/sync/interpose/testing/fake_mpi.h"
#include "coz/sync/interpose/testing/openmp_preload.h"

static const uint64_t kDelayNs = 5 * 1000 * 1000;

static void* g_ledger;
static uint64_t g_credited_ns;
static uint64_t g_paused_ns;
static uint64_t g_paused_in_call_ns;
static int g_failures;

static void Expect(int condition, const char* step, const char* what) {
  if (condition) return;
  fprintf(stderr, "%s: %s\n", step, what);
  ++g_failures;
}

static void Note(void) {
  g_credited_ns = coz_test_credited_ns(g_ledger);
  g_paused_ns = coz_test_paused_ns(g_ledger);
}
static uint64_t CreditedNs(void) { return coz_test_credited_ns(g_ledger) - g_credited_ns; }
static uint64_t PausedNs(void) { return coz_test_paused_ns(g_ledger) - g_paused_ns; }

static uint64_t NowNs(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Bodies of the library's calls. */
static int ReturnAtOnce(void) {
  g_paused_in_call_ns = PausedNs();
  return 7;
}
/* Polls memory and descriptors, as an MPI library does, for longer than the delay that another rank
 * imposes meanwhile. */
static int WaitAmidDelay(void) {
  Expect(coz_test_is_blocked(g_ledger), "wait", "the thread does not count as waiting");
  const uint64_t start_ns = NowNs();
  coz_test_impose(kDelayNs);
  while (NowNs() - start_ns < 2 * kDelayNs) {
    poll(NULL, 0, 0);
    Expect(coz_test_is_blocked(g_ledger), "poll in a wait", "it has ended the wait");
  }
  return 7;
}

static Handle At(long number) { return (Handle)(number + (1L << 40)); }

static int Send(void) { return MPI_Send(&g_failures, 1, At(1), 1, 2, At(2)); }
static int Isend(void) { return MPI_Isend(&g_failures, 1, At(1), 1, 2, At(2), NULL); }
static int Recv(void) { return MPI_Recv(&g_failures, 1, At(1), 1, 2, At(2), NULL); }
static int Wait(void) { return MPI_Wait(NULL, NULL); }
static int Sendrecv(void) {
  char expected[sizeof(fake_mpi_seen)];
  snprintf(expected, sizeof(expected), "%p %d %p %d %d %p %d %p %d %d %p %p", (void*)At(1), -2,
           (void*)At(3), 4, -5, (void*)At(6), 7, (void*)At(8), -9, 10, (void*)At(11),
           (void*)At(12));
  const int result =
      MPI_Sendrecv(At(1), -2, At(3), 4, -5, At(6), 7, At(8), -9, 10, At(11), (Handle*)At(12));
  Expect(strcmp(expected, fake_mpi_seen) == 0, "MPI_Sendrecv", fake_mpi_seen);
  return result;
}

static void PaysBefore(const char* step, int (*call)(void)) {
  Note();
  fake_mpi_body = ReturnAtOnce;
  coz_test_impose(kDelayNs);
  Expect(call() == 7, step, "another result");
  Expect(g_paused_in_call_ns >= kDelayNs, step, "it has not paid before");
  Expect(CreditedNs() == 0, step, "it is credited for what it owed before");
}

static void IsCredited(const char* step, int (*call)(void)) {
  Note();
  fake_mpi_body = WaitAmidDelay;
  Expect(call() == 7, step, "another result");
  Expect(CreditedNs() >= kDelayNs, step, "it is not credited");
  Expect(CreditedNs() < 2 * kDelayNs, step, "it is credited twice");
  Expect(PausedNs() == 0, step, "it pays for what another rank imposed in its wait");
  Expect(!coz_test_is_blocked(g_ledger), step, "it counts as waiting");
}

int main(void) {
  if (coz_test_ledger == NULL) return puts("required the preloaded library, actual none"), 2;
  g_ledger = coz_test_ledger();
  PaysBefore("MPI_Send", Send);
  PaysBefore("MPI_Isend", Isend);
  PaysBefore("MPI_Recv", Recv);
  PaysBefore("MPI_Sendrecv", Sendrecv);
  IsCredited("MPI_Recv", Recv);
  IsCredited("MPI_Sendrecv", Sendrecv);
  IsCredited("MPI_Wait of a tool", Wait);
  return g_failures == 0 ? 0 : 1;
}
