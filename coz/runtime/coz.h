/*
 * Marks of a program for the causal profiler coz: progress points, latency pairs, and custom
 * blocking.
 *
 * Shape    macros that are statements; C99, C++98 or later; no library to link
 * Units    each visit counts one
 * Errors   none: without the profiler each mark is a load and a branch that is never taken
 * Threads  safe; when profiled, each thread counts in memory of its own
 * Signals  a mark's first visit in a thread is not async-signal-safe, later ones are
 * Source   docs/progress-points.md. Names are those of the original coz.h, so either header will
 *          do.
 *
 *   for (;;) { serve(next_request()); COZ_PROGRESS_NAMED("requests"); }
 *
 * Names are mostly literals. Of another name that of the first visit counts, as with the original.
 *
 *   COZ_BEGIN("order"); ... COZ_END("order");         the time between the two is a latency
 *   COZ_BEGIN_ID("order", n); ... COZ_END_ID("order", n);   and so is its distribution: p50, p99
 *
 * Code that blocks by other means than libc (its own futex calls, say) tells the profiler so:
 *
 *   COZ_PRE_BLOCK; int ended_by_thread = my_wait(); COZ_POST_BLOCK(ended_by_thread);
 *   COZ_CATCH_UP; my_wake();                           before anything that may wake another thread
 */
#ifndef COZ_H
#define COZ_H

#include <dlfcn.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define COZ_COUNTER_TYPE_THROUGHPUT 1
#define COZ_COUNTER_TYPE_BEGIN 2
#define COZ_COUNTER_TYPE_END 3

/* Weak, so that programs for a libc with a separate libdl need not link it. */
#pragma weak dlsym

/* One per mark. The profiler finds these in the program's data by their first two words and so
 * knows marks that were never visited. */
typedef struct {
  uint64_t magic[2];
  const char* name;
  int32_t type;
  int32_t state; /* 0 not asked yet, 1 no profiler, 2 profiled */
} coz_mark_t;

#define COZ_MARK_MAGIC_0 0x9ad3c1f05b7e24d8u
#define COZ_MARK_MAGIC_1 0x63702d7a6f632e31u

/* Takes a mark's address from the compiler's sight. Clang drops fields that it sees nobody read. */
#define COZ_KEEP_WHOLE_(mark) __asm__ volatile("" : "+r"(mark) : : "memory")

/* What each language has for a null pointer and for a conversion, so that no warning of the
 * program's own build fires here. */
#ifndef __cplusplus
#define COZ_NULL_ 0
#define COZ_UINT64_(value) ((uint64_t)(value))
#else
#if __cplusplus >= 201103L
#define COZ_NULL_ nullptr
#else
#define COZ_NULL_ __null
#endif
#define COZ_UINT64_(value) uint64_t(value)
#endif

/* A name that is no constant is not known before the mark's first visit. */
#ifdef __cplusplus
#define COZ_CONSTANT_(name) (__builtin_constant_p(name) ? (name) : COZ_NULL_)
#else
#define COZ_CONSTANT_(name) \
  __builtin_choose_expr(__builtin_constant_p(name), name, (const char*)COZ_NULL_)
#endif

/* The mark's name. One that is no constant is that of the first visit, and is kept in memory that
 * is never freed, since the program's own may be. */
__attribute__((unused, noinline, cold)) static const char* coz_name_(coz_mark_t* mark,
                                                                     const char* name) {
  const char* kept = __atomic_load_n(&mark->name, __ATOMIC_ACQUIRE);
  if (kept == COZ_NULL_ && name != COZ_NULL_) {
    char* copy = __builtin_strdup(name);
    if (__atomic_compare_exchange_n(&mark->name, &kept, copy, 0, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE))
      return copy;
    __builtin_free(copy);
  }
  return kept;
}

/* This thread's counter of a mark, or null without a profiler. */
__attribute__((unused, noinline, cold)) static uint64_t* coz_find_counter_(coz_mark_t* mark,
                                                                           const char* name) {
  typedef uint64_t* (*find_t)(int, const char*);
  union { /* ISO C has no conversion from void* to a function */
    void* symbol;
    find_t call;
  } find;
  uint64_t* counter = COZ_NULL_;
  COZ_KEEP_WHOLE_(mark);
  find.symbol = COZ_NULL_;
  /* The first argument is RTLD_DEFAULT, which needs _GNU_SOURCE. */
  if (dlsym != COZ_NULL_) find.symbol = dlsym(COZ_NULL_, "_coz_thread_counter");
  if (find.symbol != COZ_NULL_) counter = find.call(mark->type, coz_name_(mark, name));
  __atomic_store_n(&mark->state, counter != COZ_NULL_ ? 2 : 1, __ATOMIC_RELAXED);
  return counter;
}

#define COZ_INCREMENT_COUNTER(type_, name_)                                                 \
  if (1) { /* as the original has it, so that a mark without a semicolon compiles too */    \
    static coz_mark_t coz_mark_ = {                                                         \
        {COZ_MARK_MAGIC_0, COZ_MARK_MAGIC_1}, COZ_CONSTANT_(name_), type_, 0};              \
    if (__builtin_expect(__atomic_load_n(&coz_mark_.state, __ATOMIC_RELAXED) != 1, 0)) {    \
      static __thread uint64_t* coz_counter_;                                               \
      if (__builtin_expect(coz_counter_ == COZ_NULL_, 0))                                   \
        coz_counter_ = coz_find_counter_(&coz_mark_, name_);                                \
      if (coz_counter_ != COZ_NULL_) {                                                      \
        /* Only this thread writes it; the profiler reads. */                               \
        __atomic_store_n(coz_counter_, __atomic_load_n(coz_counter_, __ATOMIC_RELAXED) + 1, \
                         __ATOMIC_RELAXED);                                                 \
      }                                                                                     \
    }                                                                                       \
  }

#define COZ_STRING_2_(x) #x
#define COZ_STRING_(x) COZ_STRING_2_(x)

#define COZ_PROGRESS \
  COZ_INCREMENT_COUNTER(COZ_COUNTER_TYPE_THROUGHPUT, __FILE__ ":" COZ_STRING_(__LINE__))
#define COZ_PROGRESS_NAMED(name) COZ_INCREMENT_COUNTER(COZ_COUNTER_TYPE_THROUGHPUT, name)

/* A visit whose time is to be known. `id`: of the request, or null. */
__attribute__((unused, noinline)) static void coz_timed_visit_(coz_mark_t* mark, const char* name,
                                                               uint32_t* handle,
                                                               const uint64_t* id) {
  typedef void (*visit_t)(int, const char*, uint32_t*, const uint64_t*);
  static void* found = COZ_NULL_;
  union {
    void* symbol;
    visit_t call;
  } visit;
  const char* kept;
  COZ_KEEP_WHOLE_(mark);
  if (__atomic_load_n(&mark->state, __ATOMIC_ACQUIRE) == 0) {
    void* symbol = dlsym != COZ_NULL_ ? dlsym(COZ_NULL_, "_coz_timed_visit") : COZ_NULL_;
    __atomic_store_n(&found, symbol, __ATOMIC_RELAXED);
    __atomic_store_n(&mark->state, symbol != COZ_NULL_ ? 2 : 1, __ATOMIC_RELEASE);
  }
  visit.symbol = __atomic_load_n(&found, __ATOMIC_RELAXED);
  if (visit.symbol == COZ_NULL_) return;
  kept = __atomic_load_n(&mark->name, __ATOMIC_ACQUIRE);
  if (kept == COZ_NULL_) kept = coz_name_(mark, name);
  visit.call(mark->type, kept, handle, id);
}

#define COZ_TIMED_VISIT_(type_, name_, id_)                                              \
  if (1) {                                                                               \
    static coz_mark_t coz_mark_ = {                                                      \
        {COZ_MARK_MAGIC_0, COZ_MARK_MAGIC_1}, COZ_CONSTANT_(name_), type_, 0};           \
    if (__builtin_expect(__atomic_load_n(&coz_mark_.state, __ATOMIC_RELAXED) != 1, 0)) { \
      static uint32_t coz_handle_;                                                       \
      coz_timed_visit_(&coz_mark_, name_, &coz_handle_, id_);                            \
    }                                                                                    \
  }

#define COZ_BEGIN(name) COZ_TIMED_VISIT_(COZ_COUNTER_TYPE_BEGIN, name, COZ_NULL_)
#define COZ_END(name) COZ_TIMED_VISIT_(COZ_COUNTER_TYPE_END, name, COZ_NULL_)

/* The same for a request that has a number, so that its own latency is known and not only the
 * mean. Numbers of requests that are under way at one time differ; any thread of the process may
 * end a request. */
#define COZ_BEGIN_ID(name, id)                               \
  if (1) {                                                   \
    const uint64_t coz_id_ = COZ_UINT64_(id);                \
    COZ_TIMED_VISIT_(COZ_COUNTER_TYPE_BEGIN, name, &coz_id_) \
  }
#define COZ_END_ID(name, id)                               \
  if (1) {                                                 \
    const uint64_t coz_id_ = COZ_UINT64_(id);              \
    COZ_TIMED_VISIT_(COZ_COUNTER_TYPE_END, name, &coz_id_) \
  }

/* Defines a function that calls `symbol` of the profiler, if it is there; it is looked up once
 * in each file that uses it. */
#define COZ_DEFINE_CALL_(function_, symbol_)                                   \
  __attribute__((unused)) static void function_(int argument) {                \
    static void* found = COZ_NULL_;                                            \
    static int asked = 0;                                                      \
    union {                                                                    \
      void* symbol;                                                            \
      void (*call)(int);                                                       \
    } function;                                                                \
    if (!__atomic_load_n(&asked, __ATOMIC_ACQUIRE)) {                          \
      if (dlsym != COZ_NULL_)                                                  \
        __atomic_store_n(&found, dlsym(COZ_NULL_, symbol_), __ATOMIC_RELAXED); \
      __atomic_store_n(&asked, 1, __ATOMIC_RELEASE);                           \
    }                                                                          \
    function.symbol = __atomic_load_n(&found, __ATOMIC_RELAXED);               \
    if (function.symbol != COZ_NULL_) function.call(argument);                 \
  }

COZ_DEFINE_CALL_(coz_pre_block_, "_coz_pre_block")
COZ_DEFINE_CALL_(coz_post_block_, "_coz_post_block")
COZ_DEFINE_CALL_(coz_catch_up_, "_coz_add_delays")

/* Around a wait of the program's own making. `ended_by_thread`: nonzero when another thread of
 * this program ended it, zero when it timed out or did not block. */
#define COZ_PRE_BLOCK coz_pre_block_(0)
#define COZ_POST_BLOCK(ended_by_thread) coz_post_block_(ended_by_thread)

/* The calling thread pauses for what it owes. */
#define COZ_CATCH_UP coz_catch_up_(0)

#ifdef __cplusplus
}
#endif

#endif /* COZ_H */
