/*
 * A small multi-threaded load for SQLite: each thread has a database in memory and runs
 * transactions of inserts and selects.
 *
 *   driver THREADS SECONDS       prints transactions per second
 *
 * One progress point per transaction. Threads share nothing but SQLite's own globals: its allocator
 * statistics and page cache, with the mutexes that guard them.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "coz.h"
#include "sqlite3.h"

enum { kRowsPerTransaction = 20, kSelectsPerTransaction = 20, kKeys = 20000 };

static atomic_int stop;
static atomic_ullong transactions;

static void check(int result, sqlite3* db, const char* what) {
  if (result == SQLITE_OK || result == SQLITE_DONE || result == SQLITE_ROW) return;
  fprintf(stderr, "driver: %s: %s\n", what, sqlite3_errmsg(db));
  exit(1);
}

static uint64_t next_random(uint64_t* state) {
  *state ^= *state << 13;
  *state ^= *state >> 7;
  *state ^= *state << 17;
  return *state;
}

static sqlite3_stmt* prepare(sqlite3* db, const char* text) {
  sqlite3_stmt* statement = NULL;
  check(sqlite3_prepare_v2(db, text, -1, &statement, NULL), db, text);
  return statement;
}

static void run(sqlite3* db, sqlite3_stmt* statement) {
  check(sqlite3_step(statement), db, "step");
  check(sqlite3_reset(statement), db, "reset");
}

static void transact(sqlite3* db, sqlite3_stmt* begin, sqlite3_stmt* insert, sqlite3_stmt* select,
                     sqlite3_stmt* commit, uint64_t* random) {
  char text[64];
  run(db, begin);
  for (int i = 0; i < kRowsPerTransaction; ++i) {
    const uint64_t key = next_random(random) % kKeys;
    const int length = snprintf(text, sizeof(text), "value %llu of key %llu",
                                (unsigned long long)*random, (unsigned long long)key);
    sqlite3_bind_int64(insert, 1, (sqlite3_int64)key);
    sqlite3_bind_text(insert, 2, text, length, SQLITE_TRANSIENT);
    run(db, insert);
  }
  for (int i = 0; i < kSelectsPerTransaction; ++i) {
    sqlite3_bind_int64(select, 1, (sqlite3_int64)(next_random(random) % kKeys));
    run(db, select);
  }
  run(db, commit);
}

static void* work(void* seed) {
  uint64_t random = 0x9e3779b97f4a7c15u * (uint64_t)(uintptr_t)seed;
  sqlite3* db = NULL;
  check(sqlite3_open(":memory:", &db), db, "open");
  check(sqlite3_exec(db, "create table t (key integer primary key, value text)", NULL, NULL, NULL),
        db, "create");
  sqlite3_stmt* begin = prepare(db, "begin");
  sqlite3_stmt* insert = prepare(db, "insert or replace into t values (?, ?)");
  sqlite3_stmt* select = prepare(db, "select value from t where key = ?");
  sqlite3_stmt* commit = prepare(db, "commit");
  while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
    transact(db, begin, insert, select, commit, &random);
    atomic_fetch_add_explicit(&transactions, 1, memory_order_relaxed);
    COZ_PROGRESS_NAMED("transactions");
  }
  sqlite3_finalize(begin);
  sqlite3_finalize(insert);
  sqlite3_finalize(select);
  sqlite3_finalize(commit);
  sqlite3_close(db);
  return NULL;
}

static double now_s(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

int main(int argc, char** argv) {
  const int threads = argc > 1 ? atoi(argv[1]) : 2;
  const double seconds = argc > 2 ? atof(argv[2]) : 10;
  pthread_t* ids = calloc((size_t)threads, sizeof(*ids));
  const double start = now_s();
  for (int i = 0; i < threads; ++i) pthread_create(&ids[i], NULL, work, (void*)(uintptr_t)(i + 1));
  const struct timespec sleep = {(time_t)seconds,
                                 (long)((seconds - (double)(time_t)seconds) * 1e9)};
  nanosleep(&sleep, NULL);
  atomic_store(&stop, 1);
  for (int i = 0; i < threads; ++i) pthread_join(ids[i], NULL);
  printf("%.0f transactions per second\n", (double)atomic_load(&transactions) / (now_s() - start));
  free(ids);
  return 0;
}
