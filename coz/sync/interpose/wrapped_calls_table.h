// All symbols of libc that the runtime wraps. Those of libgomp are in openmp_calls_table.h.
//
// Shape    COZ_WRAPPED_CALLS(X): calls that pass on to libc's own; wrapped_calls.h explains a row.
//          COZ_OLD_CALLS(X): the same for old versions of calls whose new versions are also here.
//          COZ_COMPOSED_CALLS(X): X(name); calls made of other wrapped calls or of system calls.
//          COZ_SECOND_NAMES(X): X(second, name); second names in libc of wrapped calls
// Units    those of the calls
// Errors   none. //coz/runtime:exports_test fails where a symbol is exported and in no table, or in
//          a table and not exported
// Threads  none
// Signals  none
// Source   glibc 2.36 headers
#ifndef COZ_SYNC_INTERPOSE_WRAPPED_CALLS_TABLE_H_
#define COZ_SYNC_INTERPOSE_WRAPPED_CALLS_TABLE_H_

// clang-format off
#define COZ_THREAD_CALLS(X)                                                                                                  \
  X(kRequired, nullptr, int, pthread_create, (pthread_t* t, const pthread_attr_t* a, StartRoutine f, void* p), (t, a, f, p)) \
  X(kRequired, nullptr, int, pthread_join, (pthread_t t, void** r), (t, r))                                                  \
  X(kRequired, nullptr, int, pthread_tryjoin_np, (pthread_t t, void** r), (t, r))                                            \
  X(kRequired, nullptr, int, pthread_timedjoin_np, (pthread_t t, void** r, const timespec* d), (t, r, d))                    \
  X(kOptional, nullptr, int, pthread_clockjoin_np, (pthread_t t, void** r, clockid_t c, const timespec* d), (t, r, c, d))    \
  X(kRequired, nullptr, int, pthread_cancel, (pthread_t t), (t))                                                             \
  X(kRequired, nullptr, int, pthread_once, (pthread_once_t* o, void (*f)()), (o, f))                                         \
  X(kOptional, nullptr, void, call_once, (once_flag* o, void (*f)()), (o, f))                                                \
  X(kOptional, nullptr, int, thrd_create, (thrd_t* t, thrd_start_t f, void* p), (t, f, p))                                   \
  X(kOptional, nullptr, int, thrd_join, (thrd_t t, int* r), (t, r))

#define COZ_LOCK_CALLS(X)                                                                                                  \
  X(kRequired, nullptr, int, pthread_mutex_lock, (pthread_mutex_t* m), (m))                                                \
  X(kRequired, nullptr, int, pthread_mutex_trylock, (pthread_mutex_t* m), (m))                                             \
  X(kRequired, nullptr, int, pthread_mutex_timedlock, (pthread_mutex_t* m, const timespec* d), (m, d))                     \
  X(kOptional, nullptr, int, pthread_mutex_clocklock, (pthread_mutex_t* m, clockid_t c, const timespec* d), (m, c, d))     \
  X(kRequired, nullptr, int, pthread_mutex_unlock, (pthread_mutex_t* m), (m))                                              \
  X(kRequired, nullptr, int, pthread_rwlock_rdlock, (pthread_rwlock_t* l), (l))                                            \
  X(kRequired, nullptr, int, pthread_rwlock_wrlock, (pthread_rwlock_t* l), (l))                                            \
  X(kRequired, nullptr, int, pthread_rwlock_tryrdlock, (pthread_rwlock_t* l), (l))                                         \
  X(kRequired, nullptr, int, pthread_rwlock_trywrlock, (pthread_rwlock_t* l), (l))                                         \
  X(kRequired, nullptr, int, pthread_rwlock_timedrdlock, (pthread_rwlock_t* l, const timespec* d), (l, d))                 \
  X(kRequired, nullptr, int, pthread_rwlock_timedwrlock, (pthread_rwlock_t* l, const timespec* d), (l, d))                 \
  X(kOptional, nullptr, int, pthread_rwlock_clockrdlock, (pthread_rwlock_t* l, clockid_t c, const timespec* d), (l, c, d)) \
  X(kOptional, nullptr, int, pthread_rwlock_clockwrlock, (pthread_rwlock_t* l, clockid_t c, const timespec* d), (l, c, d)) \
  X(kRequired, nullptr, int, pthread_rwlock_unlock, (pthread_rwlock_t* l), (l))                                            \
  X(kRequired, nullptr, int, pthread_spin_lock, (pthread_spinlock_t* l), (l))                                              \
  X(kRequired, nullptr, int, pthread_spin_trylock, (pthread_spinlock_t* l), (l))                                           \
  X(kRequired, nullptr, int, pthread_spin_unlock, (pthread_spinlock_t* l), (l))                                            \
  X(kOptional, nullptr, int, mtx_lock, (mtx_t* m), (m))                                                                    \
  X(kOptional, nullptr, int, mtx_timedlock, (mtx_t* m, const timespec* d), (m, d))                                         \
  X(kOptional, nullptr, int, mtx_trylock, (mtx_t* m), (m))                                                                 \
  X(kOptional, nullptr, int, mtx_unlock, (mtx_t* m), (m))

#define COZ_CONDITION_CALLS(X)                                                                                                              \
  X(kRequired, "GLIBC_2.3.2", int, pthread_cond_wait, (pthread_cond_t* c, pthread_mutex_t* m), (c, m))                                      \
  X(kRequired, "GLIBC_2.3.2", int, pthread_cond_timedwait, (pthread_cond_t* c, pthread_mutex_t* m, const timespec* d), (c, m, d))           \
  X(kOptional, nullptr, int, pthread_cond_clockwait, (pthread_cond_t* c, pthread_mutex_t* m, clockid_t k, const timespec* d), (c, m, k, d)) \
  X(kRequired, "GLIBC_2.3.2", int, pthread_cond_signal, (pthread_cond_t* c), (c))                                                           \
  X(kRequired, "GLIBC_2.3.2", int, pthread_cond_broadcast, (pthread_cond_t* c), (c))                                                        \
  X(kRequired, nullptr, int, pthread_barrier_init, (pthread_barrier_t* b, const pthread_barrierattr_t* a, unsigned n), (b, a, n))           \
  X(kRequired, nullptr, int, pthread_barrier_destroy, (pthread_barrier_t* b), (b))                                                          \
  X(kRequired, nullptr, int, pthread_barrier_wait, (pthread_barrier_t* b), (b))                                                             \
  X(kRequired, nullptr, int, sem_wait, (sem_t* s), (s))                                                                                     \
  X(kRequired, nullptr, int, sem_trywait, (sem_t* s), (s))                                                                                  \
  X(kRequired, nullptr, int, sem_timedwait, (sem_t* s, const timespec* d), (s, d))                                                          \
  X(kOptional, nullptr, int, sem_clockwait, (sem_t* s, clockid_t c, const timespec* d), (s, c, d))                                          \
  X(kRequired, nullptr, int, sem_post, (sem_t* s), (s))                                                                                     \
  X(kOptional, nullptr, int, cnd_wait, (cnd_t* c, mtx_t* m), (c, m))                                                                        \
  X(kOptional, nullptr, int, cnd_timedwait, (cnd_t* c, mtx_t* m, const timespec* d), (c, m, d))                                             \
  X(kOptional, nullptr, int, cnd_signal, (cnd_t* c), (c))                                                                                   \
  X(kOptional, nullptr, int, cnd_broadcast, (cnd_t* c), (c))                                                                                \
  X(kRequired, nullptr, long, syscall, (long n, long a, long b, long c, long d, long e, long f), (n, a, b, c, d, e, f))

#define COZ_SIGNAL_CALLS(X)                                                                                 \
  X(kRequired, nullptr, int, kill, (pid_t p, int s), (p, s))                                                \
  X(kRequired, nullptr, int, killpg, (pid_t g, int s), (g, s))                                              \
  X(kRequired, nullptr, int, tgkill, (pid_t p, pid_t t, int s), (p, t, s))                                  \
  X(kRequired, nullptr, int, raise, (int s), (s))                                                           \
  X(kRequired, nullptr, int, pthread_kill, (pthread_t t, int s), (t, s))                                    \
  X(kRequired, nullptr, int, pthread_sigqueue, (pthread_t t, int s, const union sigval v), (t, s, v))       \
  X(kRequired, nullptr, int, sigqueue, (pid_t p, int s, const union sigval v), (p, s, v))                   \
  X(kRequired, nullptr, int, sigaltstack, (const stack_t* s, stack_t* o), (s, o))                           \
  X(kRequired, nullptr, int, munmap, (void* b, size_t n), (b, n))                                           \
  X(kRequired, nullptr, int, sigwait, (const sigset_t* s, int* n), (s, n))                                  \
  X(kRequired, nullptr, int, sigwaitinfo, (const sigset_t* s, siginfo_t* i), (s, i))                        \
  X(kRequired, nullptr, int, sigtimedwait, (const sigset_t* s, siginfo_t* i, const timespec* d), (s, i, d)) \
  X(kRequired, nullptr, int, sigsuspend, (const sigset_t* s), (s))                                          \
  X(kRequired, nullptr, int, pause, (), ())                                                                 \
  X(kRequired, nullptr, int, sigaction, (int n, const struct sigaction* a, struct sigaction* o), (n, a, o)) \
  X(kRequired, nullptr, SignalHandler, signal, (int n, SignalHandler h), (n, h))                            \
  X(kRequired, nullptr, SignalHandler, sysv_signal, (int n, SignalHandler h), (n, h))                       \
  X(kRequired, nullptr, int, siginterrupt, (int n, int i), (n, i))                                          \
  X(kRequired, nullptr, int, sigprocmask, (int h, const sigset_t* s, sigset_t* o), (h, s, o))               \
  X(kRequired, nullptr, int, pthread_sigmask, (int h, const sigset_t* s, sigset_t* o), (h, s, o))           \
  X(kRequired, nullptr, int, signalfd, (int f, const sigset_t* s, int g), (f, s, g))

#define COZ_POLL_CALLS(X)                                                                                                                 \
  X(kRequired, nullptr, int, poll, (pollfd* f, nfds_t n, int t), (f, n, t))                                                               \
  X(kRequired, nullptr, int, ppoll, (pollfd* f, nfds_t n, const timespec* t, const sigset_t* s), (f, n, t, s))                            \
  X(kRequired, nullptr, int, pselect, (int n, fd_set* r, fd_set* w, fd_set* e, const timespec* t, const sigset_t* s), (n, r, w, e, t, s)) \
  X(kRequired, nullptr, int, epoll_pwait, (int e, epoll_event* v, int n, int t, const sigset_t* s), (e, v, n, t, s))                      \
  X(kOptional, nullptr, int, epoll_pwait2, (int e, epoll_event* v, int n, const timespec* t, const sigset_t* s), (e, v, n, t, s))         \
  X(kRequired, nullptr, int, select, (int n, fd_set* r, fd_set* w, fd_set* e, timeval* t), (n, r, w, e, t))                               \
  X(kRequired, nullptr, int, epoll_wait, (int e, epoll_event* v, int n, int t), (e, v, n, t))                                             \
  X(kRequired, nullptr, int, epoll_create, (int n), (n))                                                                                  \
  X(kRequired, nullptr, int, epoll_create1, (int g), (g))                                                                                 \
  X(kRequired, nullptr, int, epoll_ctl, (int e, int o, int f, epoll_event* v), (e, o, f, v))                                              \
  X(kOptional, nullptr, int, __poll_chk, (pollfd* f, nfds_t n, int t, size_t z), (f, n, t, z))                                            \
  X(kOptional, nullptr, int, __ppoll_chk, (pollfd* f, nfds_t n, const timespec* t, const sigset_t* s, size_t z), (f, n, t, s, z))

#define COZ_IO_CALLS(X)                                                                                                                         \
  X(kRequired, nullptr, ssize_t, read, (int f, void* b, size_t n), (f, b, n))                                                                   \
  X(kRequired, nullptr, ssize_t, write, (int f, const void* b, size_t n), (f, b, n))                                                            \
  X(kRequired, nullptr, ssize_t, readv, (int f, const iovec* v, int n), (f, v, n))                                                              \
  X(kRequired, nullptr, ssize_t, writev, (int f, const iovec* v, int n), (f, v, n))                                                             \
  X(kOptional, nullptr, ssize_t, __read_chk, (int f, void* b, size_t n, size_t z), (f, b, n, z))                                                \
  X(kRequired, nullptr, int, close, (int f), (f))                                                                                               \
  X(kRequired, nullptr, ssize_t, sendfile, (int o, int f, off_t* p, size_t n), (o, f, p, n))                                                    \
  X(kRequired, nullptr, ssize_t, sendfile64, (int o, int f, off64_t* p, size_t n), (o, f, p, n))                                                \
  X(kRequired, nullptr, ssize_t, splice, (int f, off64_t* p, int o, off64_t* q, size_t n, unsigned g), (f, p, o, q, n, g))                      \
  X(kRequired, nullptr, ssize_t, tee, (int f, int o, size_t n, unsigned g), (f, o, n, g))                                                       \
  X(kRequired, nullptr, ssize_t, vmsplice, (int f, const iovec* v, size_t n, unsigned g), (f, v, n, g))                                         \
  X(kRequired, nullptr, int, eventfd, (unsigned v, int g), (v, g))                                                                              \
  X(kRequired, nullptr, int, eventfd_read, (int f, eventfd_t* v), (f, v))                                                                       \
  X(kRequired, nullptr, int, eventfd_write, (int f, eventfd_t v), (f, v))                                                                       \
  X(kRequired, nullptr, int, socketpair, (int d, int t, int p, int* f), (d, t, p, f))                                                           \
  X(kRequired, nullptr, int, accept, (int f, sockaddr* a, socklen_t* l), (f, a, l))                                                             \
  X(kRequired, nullptr, int, accept4, (int f, sockaddr* a, socklen_t* l, int g), (f, a, l, g))                                                  \
  X(kRequired, nullptr, int, connect, (int f, const sockaddr* a, socklen_t l), (f, a, l))                                                       \
  X(kRequired, nullptr, int, shutdown, (int f, int h), (f, h))                                                                                  \
  X(kRequired, nullptr, ssize_t, recv, (int f, void* b, size_t n, int g), (f, b, n, g))                                                         \
  X(kRequired, nullptr, ssize_t, recvfrom, (int f, void* b, size_t n, int g, sockaddr* a, socklen_t* l), (f, b, n, g, a, l))                    \
  X(kRequired, nullptr, ssize_t, recvmsg, (int f, msghdr* m, int g), (f, m, g))                                                                 \
  X(kRequired, nullptr, int, recvmmsg, (int f, mmsghdr* m, unsigned n, int g, timespec* t), (f, m, n, g, t))                                    \
  X(kOptional, nullptr, ssize_t, __recv_chk, (int f, void* b, size_t n, size_t z, int g), (f, b, n, z, g))                                      \
  X(kOptional, nullptr, ssize_t, __recvfrom_chk, (int f, void* b, size_t n, size_t z, int g, sockaddr* a, socklen_t* l), (f, b, n, z, g, a, l)) \
  X(kRequired, nullptr, ssize_t, send, (int f, const void* b, size_t n, int g), (f, b, n, g))                                                   \
  X(kRequired, nullptr, ssize_t, sendto, (int f, const void* b, size_t n, int g, const sockaddr* a, socklen_t l), (f, b, n, g, a, l))           \
  X(kRequired, nullptr, ssize_t, sendmsg, (int f, const msghdr* m, int g), (f, m, g))                                                           \
  X(kRequired, nullptr, int, sendmmsg, (int f, mmsghdr* m, unsigned n, int g), (f, m, n, g))

#define COZ_MESSAGE_CALLS(X)                                                                                                     \
  X(kOptional, nullptr, int, mq_send, (mqd_t q, const char* b, size_t n, unsigned p), (q, b, n, p))                              \
  X(kOptional, nullptr, int, mq_timedsend, (mqd_t q, const char* b, size_t n, unsigned p, const timespec* d), (q, b, n, p, d))   \
  X(kOptional, nullptr, ssize_t, mq_receive, (mqd_t q, char* b, size_t n, unsigned* p), (q, b, n, p))                            \
  X(kOptional, nullptr, ssize_t, mq_timedreceive, (mqd_t q, char* b, size_t n, unsigned* p, const timespec* d), (q, b, n, p, d)) \
  X(kRequired, nullptr, int, semop, (int s, sembuf* o, size_t n), (s, o, n))                                                     \
  X(kRequired, nullptr, int, semtimedop, (int s, sembuf* o, size_t n, const timespec* t), (s, o, n, t))                          \
  X(kRequired, nullptr, int, semctl, (int s, int n, int c, unsigned long a), (s, n, c, a))                                       \
  X(kRequired, nullptr, int, msgsnd, (int q, const void* m, size_t n, int g), (q, m, n, g))                                      \
  X(kRequired, nullptr, ssize_t, msgrcv, (int q, void* m, size_t n, long t, int g), (q, m, n, t, g))

#define COZ_FILE_CALLS(X)                                                                                              \
  X(kRequired, nullptr, ssize_t, pread, (int f, void* b, size_t n, off_t o), (f, b, n, o))                             \
  X(kRequired, nullptr, ssize_t, pwrite, (int f, const void* b, size_t n, off_t o), (f, b, n, o))                      \
  X(kRequired, nullptr, ssize_t, preadv, (int f, const iovec* v, int n, off_t o), (f, v, n, o))                        \
  X(kRequired, nullptr, ssize_t, pwritev, (int f, const iovec* v, int n, off_t o), (f, v, n, o))                       \
  X(kOptional, nullptr, ssize_t, preadv2, (int f, const iovec* v, int n, off_t o, int g), (f, v, n, o, g))             \
  X(kOptional, nullptr, ssize_t, pwritev2, (int f, const iovec* v, int n, off_t o, int g), (f, v, n, o, g))            \
  X(kOptional, nullptr, ssize_t, __pread_chk, (int f, void* b, size_t n, off_t o, size_t z), (f, b, n, o, z))          \
  X(kRequired, nullptr, int, fsync, (int f), (f))                                                                      \
  X(kRequired, nullptr, int, fdatasync, (int f), (f))                                                                  \
  X(kRequired, nullptr, int, syncfs, (int f), (f))                                                                     \
  X(kRequired, nullptr, int, sync_file_range, (int f, off64_t o, off64_t n, unsigned g), (f, o, n, g))                 \
  X(kRequired, nullptr, int, msync, (void* p, size_t n, int g), (p, n, g))

#define COZ_FILE_LOCK_CALLS(X)                                                  \
  X(kRequired, nullptr, int, flock, (int f, int o), (f, o))                     \
  X(kRequired, nullptr, int, lockf, (int f, int c, off_t n), (f, c, n))         \
  X(kRequired, nullptr, int, fcntl, (int f, int c, unsigned long a), (f, c, a))

#define COZ_OPEN_CALLS(X)                                                                   \
  X(kRequired, nullptr, int, open, (const char* p, int g, mode_t m), (p, g, m))             \
  X(kRequired, nullptr, int, openat, (int d, const char* p, int g, mode_t m), (d, p, g, m)) \
  X(kOptional, nullptr, int, __open_2, (const char* p, int g), (p, g))                      \
  X(kOptional, nullptr, int, __open64_2, (const char* p, int g), (p, g))                    \
  X(kOptional, nullptr, int, __openat_2, (int d, const char* p, int g), (d, p, g))          \
  X(kOptional, nullptr, int, __openat64_2, (int d, const char* p, int g), (d, p, g))        \
  X(kRequired, nullptr, int, creat, (const char* p, mode_t m), (p, m))                      \
  X(kRequired, nullptr, FILE*, fopen, (const char* p, const char* m), (p, m))               \
  X(kRequired, nullptr, int, mkfifo, (const char* p, mode_t m), (p, m))                     \
  X(kRequired, nullptr, int, mkfifoat, (int d, const char* p, mode_t m), (d, p, m))

#define COZ_ASYNCHRONOUS_CALLS(X)                                                                       \
  X(kOptional, nullptr, int, aio_read, (aiocb* r), (r))                                                 \
  X(kOptional, nullptr, int, aio_write, (aiocb* r), (r))                                                \
  X(kOptional, nullptr, int, aio_suspend, (const aiocb* const* l, int n, const timespec* t), (l, n, t))

#define COZ_SLEEP_CALLS(X)                                                                                        \
  X(kRequired, nullptr, int, nanosleep, (const timespec* t, timespec* r), (t, r))                                 \
  X(kRequired, nullptr, int, clock_nanosleep, (clockid_t c, int g, const timespec* t, timespec* r), (c, g, t, r)) \
  X(kRequired, nullptr, int, usleep, (useconds_t u), (u))                                                         \
  X(kRequired, nullptr, unsigned, sleep, (unsigned s), (s))                                                       \
  X(kOptional, nullptr, int, thrd_sleep, (const timespec* t, timespec* r), (t, r))                                \
  X(kRequired, nullptr, pid_t, wait, (int* s), (s))                                                               \
  X(kRequired, nullptr, pid_t, waitpid, (pid_t p, int* s, int o), (p, s, o))                                      \
  X(kRequired, nullptr, pid_t, wait3, (int* s, int o, rusage* u), (s, o, u))                                      \
  X(kRequired, nullptr, pid_t, wait4, (pid_t p, int* s, int o, rusage* u), (p, s, o, u))                          \
  X(kRequired, nullptr, int, waitid, (idtype_t t, id_t i, siginfo_t* f, int o), (t, i, f, o))

#define COZ_EXEC_CALLS(X)                                                                                              \
  X(kRequired, nullptr, int, execve, (const char* f, char* const* a, char* const* e), (f, a, e))                       \
  X(kRequired, nullptr, int, execvpe, (const char* f, char* const* a, char* const* e), (f, a, e))                      \
  X(kRequired, nullptr, int, fexecve, (int f, char* const* a, char* const* e), (f, a, e))                              \
  X(kOptional, nullptr, int, execveat, (int d, const char* f, char* const* a, char* const* e, int g), (d, f, a, e, g))

#define COZ_PROCESS_CALLS(X)                                                                                                                                                     \
  X(kRequired, nullptr, int, posix_spawn, (pid_t* p, const char* n, const posix_spawn_file_actions_t* f, const posix_spawnattr_t* t, char* const* a, char* const* e), (p, n, f, t, a, e))  \
  X(kRequired, nullptr, int, posix_spawnp, (pid_t* p, const char* n, const posix_spawn_file_actions_t* f, const posix_spawnattr_t* t, char* const* a, char* const* e), (p, n, f, t, a, e)) \
  X(kRequired, nullptr, int, system, (const char* c), (c))  \
  X(kRequired, nullptr, FILE*, popen, (const char* c, const char* t), (c, t))  \
  X(kRequired, nullptr, int, clone, (int (*f)(void*), void* s, int g, void* a, void* p, void* t, void* c), (f, s, g, a, p, t, c)) \
  X(kRequired, nullptr, int, prctl, (int o, unsigned long a, unsigned long b, unsigned long c, unsigned long d), (o, a, b, c, d))                                                          \
  X(kRequired, nullptr, long, ptrace, (int r, pid_t p, void* a, void* d), (r, p, a, d)) \
  X(kRequired, nullptr, void, _exit, (int s), (s))                                                                                                                                \
  X(kRequired, nullptr, void, _Exit, (int s), (s))                                                                                                                                \
  X(kRequired, nullptr, void, quick_exit, (int s), (s))                                                                                                                                    \
  X(kRequired, nullptr, int, getrlimit, (__rlimit_resource_t r, rlimit* l), (r, l)) \
  X(kRequired, nullptr, int, setrlimit, (__rlimit_resource_t r, const rlimit* l), (r, l)) \
  X(kRequired, nullptr, int, prlimit, (pid_t p, __rlimit_resource_t r, const rlimit* n, rlimit* o), (p, r, n, o)) \
  X(kRequired, nullptr, int, dup2, (int f, int t), (f, t))                                                                                                                                 \
  X(kRequired, nullptr, int, dup3, (int f, int t, int g), (f, t, g))                                                                                                                       \
  X(kOptional, nullptr, int, close_range, (unsigned f, unsigned l, int g), (f, l, g))                                                                                                      \
  X(kOptional, nullptr, void, closefrom, (int f), (f))

#define COZ_LOADER_CALLS(X) \
  X(kRequired, nullptr, int, dlclose, (void* h), (h))

#define COZ_WRAPPED_CALLS(X)                                                               \
  COZ_THREAD_CALLS(X)                                                                      \
  COZ_LOCK_CALLS(X)                                                                        \
  COZ_CONDITION_CALLS(X)                                                                   \
  COZ_SIGNAL_CALLS(X)                                                                      \
  COZ_POLL_CALLS(X)                                                                        \
  COZ_IO_CALLS(X)                                                                          \
  COZ_MESSAGE_CALLS(X)                                                                     \
  COZ_FILE_CALLS(X)                                                                        \
  COZ_FILE_LOCK_CALLS(X)                                                                   \
  COZ_OPEN_CALLS(X)                                                                        \
  COZ_ASYNCHRONOUS_CALLS(X)                                                                \
  COZ_SLEEP_CALLS(X)                                                                       \
  COZ_EXEC_CALLS(X)                                                                        \
  COZ_PROCESS_CALLS(X)                                                                     \
  COZ_LOADER_CALLS(X)

// Conditions have a different layout in this version, so a call goes to libc's call of the same
// version.
#define COZ_OLD_CALLS(X)                                                                                                                     \
  X(kOldVersion, "GLIBC_2.2.5", int, pthread_cond_wait, (pthread_cond_t* c, pthread_mutex_t* m), (c, m))                                     \
  X(kOldVersion, "GLIBC_2.2.5", int, pthread_cond_timedwait, (pthread_cond_t* c, pthread_mutex_t* m, const timespec* d), (c, m, d))          \
  X(kOldVersion, "GLIBC_2.2.5", int, pthread_cond_signal, (pthread_cond_t* c), (c))                                                          \
  X(kOldVersion, "GLIBC_2.2.5", int, pthread_cond_broadcast, (pthread_cond_t* c), (c))

#define COZ_COMPOSED_CALLS(X)                                                              \
  X(execv) X(execvp) X(execl) X(execlp) X(execle)                                          \
  X(sigset) X(sighold) X(sigrelse) X(sigignore) X(sigblock) X(sigsetmask) X(siggetmask)    \
  X(sigpause) X(__sigpause) X(__xpg_sigpause) X(sigpending)

#define COZ_SECOND_NAMES(X)                                                                 \
  X(__sigaction, sigaction) X(ssignal, signal) X(bsd_signal, signal)                        \
  X(__sysv_signal, sysv_signal) X(gsignal, raise) X(__sigsuspend, sigsuspend)               \
  X(__poll, poll) X(__select, select) X(__read, read) X(__write, write)                     \
  X(__close, close) X(__connect, connect) X(__send, send) X(__dup2, dup2)                   \
  X(__nanosleep, nanosleep) X(__wait, wait) X(__waitpid, waitpid) X(_IO_popen, popen)       \
  X(pread64, pread) X(__pread64, pread) X(pwrite64, pwrite) X(__pwrite64, pwrite)           \
  X(preadv64, preadv) X(pwritev64, pwritev) X(preadv64v2, preadv2) X(pwritev64v2, pwritev2) \
  X(__pread64_chk, __pread_chk)                                                             \
  X(getrlimit64, getrlimit) X(setrlimit64, setrlimit) X(prlimit64, prlimit)                 \
  X(__clone, clone) X(lockf64, lockf) X(fcntl64, fcntl) X(__fcntl, fcntl)                                     \
  X(open64, open) X(__open, open) X(__open64, open) X(openat64, openat) X(creat64, creat)   \
  X(fopen64, fopen) X(_IO_fopen, fopen)                                                     \
  X(aio_read64, aio_read) X(aio_write64, aio_write) X(aio_suspend64, aio_suspend)
// clang-format on

#endif  // COZ_SYNC_INTERPOSE_WRAPPED_CALLS_TABLE_H_
