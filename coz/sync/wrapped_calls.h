// The table of libc calls that the runtime stands in front of, and the way to the real ones.
//
// Shape    COZ_WRAPPED_CALLS(X): X(presence, version, result, name, parameters, arguments).
//          `version` is the symbol version to bind where libc has several, else nullptr. An optional
//          call may be missing in an older libc: its pointer then returns ENOSYS.
// Units    none
// Errors   a required call that libc lacks ends the resolution with a message and abort: no such
//          libc exists
// Threads  safe: resolution is idempotent
// Signals  the pointers are async-signal-safe as far as what they point to, once ResolveRealCalls
//          has run
// Source   dlsym(3), dlvsym(3); glibc 2.36 headers
#ifndef COZ_SYNC_WRAPPED_CALLS_H_
#define COZ_SYNC_WRAPPED_CALLS_H_

#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <time.h>

namespace coz {

using StartRoutine = void* (*)(void*);
using SignalHandler = void (*)(int);

// clang-format off
#define COZ_WRAPPED_CALLS(X)                                                                                                        \
  X(kRequired, nullptr, int, pthread_create, (pthread_t* t, const pthread_attr_t* a, StartRoutine f, void* p), (t, a, f, p))         \
  X(kRequired, nullptr, int, pthread_join, (pthread_t t, void** r), (t, r))                                                          \
  X(kRequired, nullptr, int, pthread_tryjoin_np, (pthread_t t, void** r), (t, r))                                                    \
  X(kRequired, nullptr, int, pthread_timedjoin_np, (pthread_t t, void** r, const timespec* d), (t, r, d))                            \
  X(kOptional, nullptr, int, pthread_clockjoin_np, (pthread_t t, void** r, clockid_t c, const timespec* d), (t, r, c, d))            \
  X(kRequired, nullptr, int, pthread_mutex_lock, (pthread_mutex_t* m), (m))                                                          \
  X(kRequired, nullptr, int, pthread_mutex_trylock, (pthread_mutex_t* m), (m))                                                       \
  X(kRequired, nullptr, int, pthread_mutex_timedlock, (pthread_mutex_t* m, const timespec* d), (m, d))                               \
  X(kOptional, nullptr, int, pthread_mutex_clocklock, (pthread_mutex_t* m, clockid_t c, const timespec* d), (m, c, d))               \
  X(kRequired, nullptr, int, pthread_mutex_unlock, (pthread_mutex_t* m), (m))                                                        \
  X(kRequired, "GLIBC_2.3.2", int, pthread_cond_wait, (pthread_cond_t* c, pthread_mutex_t* m), (c, m))                               \
  X(kRequired, "GLIBC_2.3.2", int, pthread_cond_timedwait, (pthread_cond_t* c, pthread_mutex_t* m, const timespec* d), (c, m, d))    \
  X(kOptional, nullptr, int, pthread_cond_clockwait, (pthread_cond_t* c, pthread_mutex_t* m, clockid_t k, const timespec* d), (c, m, k, d)) \
  X(kRequired, "GLIBC_2.3.2", int, pthread_cond_signal, (pthread_cond_t* c), (c))                                                    \
  X(kRequired, "GLIBC_2.3.2", int, pthread_cond_broadcast, (pthread_cond_t* c), (c))                                                 \
  X(kRequired, nullptr, int, pthread_barrier_wait, (pthread_barrier_t* b), (b))                                                      \
  X(kRequired, nullptr, int, pthread_rwlock_rdlock, (pthread_rwlock_t* l), (l))                                                      \
  X(kRequired, nullptr, int, pthread_rwlock_wrlock, (pthread_rwlock_t* l), (l))                                                      \
  X(kRequired, nullptr, int, pthread_rwlock_tryrdlock, (pthread_rwlock_t* l), (l))                                                   \
  X(kRequired, nullptr, int, pthread_rwlock_trywrlock, (pthread_rwlock_t* l), (l))                                                   \
  X(kRequired, nullptr, int, pthread_rwlock_timedrdlock, (pthread_rwlock_t* l, const timespec* d), (l, d))                           \
  X(kRequired, nullptr, int, pthread_rwlock_timedwrlock, (pthread_rwlock_t* l, const timespec* d), (l, d))                           \
  X(kOptional, nullptr, int, pthread_rwlock_clockrdlock, (pthread_rwlock_t* l, clockid_t c, const timespec* d), (l, c, d))           \
  X(kOptional, nullptr, int, pthread_rwlock_clockwrlock, (pthread_rwlock_t* l, clockid_t c, const timespec* d), (l, c, d))           \
  X(kRequired, nullptr, int, pthread_rwlock_unlock, (pthread_rwlock_t* l), (l))                                                      \
  X(kRequired, nullptr, int, pthread_spin_lock, (pthread_spinlock_t* l), (l))                                                        \
  X(kRequired, nullptr, int, pthread_spin_trylock, (pthread_spinlock_t* l), (l))                                                     \
  X(kRequired, nullptr, int, pthread_spin_unlock, (pthread_spinlock_t* l), (l))                                                      \
  X(kRequired, nullptr, int, sem_wait, (sem_t* s), (s))                                                                              \
  X(kRequired, nullptr, int, sem_trywait, (sem_t* s), (s))                                                                           \
  X(kRequired, nullptr, int, sem_timedwait, (sem_t* s, const timespec* d), (s, d))                                                   \
  X(kOptional, nullptr, int, sem_clockwait, (sem_t* s, clockid_t c, const timespec* d), (s, c, d))                                   \
  X(kRequired, nullptr, int, sem_post, (sem_t* s), (s))                                                                              \
  X(kRequired, nullptr, int, kill, (pid_t p, int s), (p, s))                                                                         \
  X(kRequired, nullptr, int, tgkill, (pid_t p, pid_t t, int s), (p, t, s))                                                           \
  X(kRequired, nullptr, int, raise, (int s), (s))                                                                                    \
  X(kRequired, nullptr, int, pthread_kill, (pthread_t t, int s), (t, s))                                                             \
  X(kRequired, nullptr, int, pthread_sigqueue, (pthread_t t, int s, const union sigval v), (t, s, v))                                \
  X(kRequired, nullptr, int, sigqueue, (pid_t p, int s, const union sigval v), (p, s, v))                                            \
  X(kRequired, nullptr, int, sigwait, (const sigset_t* s, int* n), (s, n))                                                           \
  X(kRequired, nullptr, int, sigwaitinfo, (const sigset_t* s, siginfo_t* i), (s, i))                                                 \
  X(kRequired, nullptr, int, sigtimedwait, (const sigset_t* s, siginfo_t* i, const timespec* d), (s, i, d))                          \
  X(kRequired, nullptr, int, sigsuspend, (const sigset_t* s), (s))                                                                   \
  X(kRequired, nullptr, int, pause, (), ())                                                                                         \
  X(kRequired, nullptr, int, sigaction, (int n, const struct sigaction* a, struct sigaction* o), (n, a, o))                          \
  X(kRequired, nullptr, SignalHandler, signal, (int n, SignalHandler h), (n, h))                                                     \
  X(kRequired, nullptr, int, sigprocmask, (int h, const sigset_t* s, sigset_t* o), (h, s, o))                                        \
  X(kRequired, nullptr, int, pthread_sigmask, (int h, const sigset_t* s, sigset_t* o), (h, s, o))                                    \
  X(kRequired, nullptr, int, signalfd, (int f, const sigset_t* s, int g), (f, s, g))                                                 \
  X(kRequired, nullptr, int, ppoll, (pollfd* f, nfds_t n, const timespec* t, const sigset_t* s), (f, n, t, s))                       \
  X(kRequired, nullptr, int, pselect, (int n, fd_set* r, fd_set* w, fd_set* e, const timespec* t, const sigset_t* s), (n, r, w, e, t, s)) \
  X(kRequired, nullptr, int, epoll_pwait, (int e, epoll_event* v, int n, int t, const sigset_t* s), (e, v, n, t, s))                 \
  X(kOptional, nullptr, int, epoll_pwait2, (int e, epoll_event* v, int n, const timespec* t, const sigset_t* s), (e, v, n, t, s))    \
  X(kRequired, nullptr, int, execve, (const char* f, char* const* a, char* const* e), (f, a, e))                                     \
  X(kRequired, nullptr, int, execv, (const char* f, char* const* a), (f, a))                                                         \
  X(kRequired, nullptr, int, execvp, (const char* f, char* const* a), (f, a))                                                        \
  X(kRequired, nullptr, int, execvpe, (const char* f, char* const* a, char* const* e), (f, a, e))                                    \
  X(kRequired, nullptr, int, fexecve, (int f, char* const* a, char* const* e), (f, a, e))                                            \
  X(kOptional, nullptr, int, execveat, (int d, const char* f, char* const* a, char* const* e, int g), (d, f, a, e, g))
// clang-format on

struct RealCalls {
#define COZ_X(presence, version, result, name, parameters, arguments) result(*name) parameters;
  COZ_WRAPPED_CALLS(COZ_X)
#undef COZ_X
};

// libc's own functions. Usable from the first instruction on: before ResolveRealCalls each pointer
// resolves the table itself, because constructors of other libraries may run before the runtime's.
extern RealCalls g_real __attribute__((visibility("hidden")));

void ResolveRealCalls();

}  // namespace coz

#endif  // COZ_SYNC_WRAPPED_CALLS_H_
