/* What a program can do that runs with the wrapped calls of OpenMP preloaded, without a supervisor.
 *
 * Shape    C functions of the preloaded library; a ledger is opaque
 * Units    ns
 * Errors   none
 * Threads  safe
 * Signals  none
 * Source   coz/sync/interpose/testing/fake_process.h */
#ifndef COZ_SYNC_INTERPOSE_TESTING_OPENMP_PRELOAD_H_
#define COZ_SYNC_INTERPOSE_TESTING_OPENMP_PRELOAD_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Weak: programs are linked without the library. */
#define COZ_TEST_WEAK __attribute__((weak))

/* Of the calling thread; null where it is not profiled. */
void* coz_test_ledger(void) COZ_TEST_WEAK;
/* Every thread owes at least that much. */
void coz_test_impose(uint64_t delay_ns) COZ_TEST_WEAK;
/* The thread has paused that much too long. */
void coz_test_give_excess(void* ledger, uint64_t excess_ns) COZ_TEST_WEAK;
uint64_t coz_test_local_delay_ns(const void* ledger) COZ_TEST_WEAK;
uint64_t coz_test_credited_ns(const void* ledger) COZ_TEST_WEAK;
uint64_t coz_test_paused_ns(const void* ledger) COZ_TEST_WEAK;
int coz_test_is_blocked(const void* ledger) COZ_TEST_WEAK;

#ifdef __cplusplus
}
#endif

#endif /* COZ_SYNC_INTERPOSE_TESTING_OPENMP_PRELOAD_H_ */
