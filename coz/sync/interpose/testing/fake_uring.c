#include "coz/sync/interpose/testing/fake_uring.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static __thread unsigned mask, head, tail;
static __thread struct io_uring_sqe requests[kRequests];
static __thread struct io_uring* newest;
static __thread unsigned read_from; /* the first request that has not been read for */

int io_uring_queue_init(unsigned entries, struct io_uring* ring, unsigned flags) {
  (void)entries;
  memset(ring, 0, sizeof(*ring));
  memset(requests, 0, sizeof(requests));
  mask = kRequests - 1;
  head = tail = read_from = 0;
  ring->sq.khead = &head;
  ring->sq.ktail = &tail;
  ring->sq.kring_mask = &mask;
  ring->sq.sqes = requests;
  ring->flags = flags;
  ring->ring_fd = (int)syscall(SYS_eventfd2, 0, 0);
  newest = ring;
  return ring->ring_fd >= 0 ? 0 : -errno;
}

/* Writes or reads a byte for each request from `at` on. */
static int Do(struct io_uring* ring, unsigned at, unsigned char opcode, long number) {
  int done = 0;
  for (; at != ring->sq.sqe_tail; ++at) {
    const struct io_uring_sqe* request = &requests[at & mask];
    if (request->opcode != opcode) continue;
    const long result = UnseenCall(number, request->fd, (void*)(uintptr_t)request->addr, 1);
    if (result != 1) return result < 0 ? (int)result : -EIO;
    ++done;
  }
  return done;
}

int io_uring_submit(struct io_uring* ring) {
  const int done = Do(ring, ring->sq.sqe_head, IORING_OP_WRITE, SYS_write);
  ring->sq.sqe_head = ring->sq.sqe_tail;
  return done;
}

static int Wait(struct io_uring* ring) {
  const int submitted = io_uring_submit(ring);
  if (submitted < 0) return submitted;
  const int done = Do(ring, read_from, IORING_OP_READ, SYS_read);
  read_from = ring->sq.sqe_tail;
  return done;
}

int io_uring_submit_and_get_events(struct io_uring* ring) { return io_uring_submit(ring); }

int io_uring_submit_and_wait(struct io_uring* ring, unsigned count) {
  (void)count;
  return Wait(ring);
}

int io_uring_submit_and_wait_timeout(struct io_uring* ring, void** completion, unsigned count,
                                     void* duration, sigset_t* signals) {
  (void)completion, (void)count, (void)duration, (void)signals;
  return Wait(ring);
}

int io_uring_wait_cqes(struct io_uring* ring, void** completion, unsigned count, void* duration,
                       sigset_t* signals) {
  (void)completion, (void)count, (void)duration, (void)signals;
  return Wait(ring);
}

int io_uring_wait_cqe_timeout(struct io_uring* ring, void** completion, void* duration) {
  (void)completion, (void)duration;
  return Wait(ring);
}

int __io_uring_get_cqe(struct io_uring* ring, void** completion, unsigned submitted, unsigned count,
                       sigset_t* signals) {
  (void)completion, (void)submitted, (void)count, (void)signals;
  return Wait(ring);
}

int io_uring_enter(unsigned fd, unsigned submitted, unsigned count, unsigned flags,
                   sigset_t* signals) {
  (void)submitted, (void)count, (void)flags, (void)signals;
  return (int)fd == newest->ring_fd ? Wait(newest) : -EBADF;
}

int io_uring_enter2(unsigned fd, unsigned submitted, unsigned count, unsigned flags,
                    sigset_t* signals, size_t bytes) {
  (void)bytes;
  return io_uring_enter(fd, submitted, count, flags, signals);
}
