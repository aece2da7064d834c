/* A liburing without io_uring, which many containers forbid: a ring reads and writes by itself. It
 * has liburing's names, versions and structs, as far as they are used.
 *
 * Shape    a ring of kRequests requests; READ and WRITE of a byte
 * Units    none
 * Errors   results are negative error numbers, as liburing's
 * Threads  a ring is its thread's
 * Signals  none
 * Source   liburing 2.3, liburing.h */
#ifndef COZ_SYNC_INTERPOSE_TESTING_FAKE_URING_H_
#define COZ_SYNC_INTERPOSE_TESTING_FAKE_URING_H_

#include <linux/io_uring.h>
#include <signal.h>
#include <stddef.h>

enum { kRequests = 4 };

struct io_uring {
  struct {
    unsigned *khead, *ktail, *kring_mask, *kring_entries, *kflags, *kdropped, *array;
    struct io_uring_sqe* sqes;
    unsigned sqe_head, sqe_tail;
    size_t ring_sz;
    void* ring_ptr;
    unsigned more[4];
  } sq;
  unsigned char cq[88];
  unsigned flags;
  int ring_fd;
  unsigned features;
  int enter_ring_fd;
  unsigned char more[8];
};

int io_uring_queue_init(unsigned entries, struct io_uring* ring, unsigned flags);
/* Writes what is to be written. */
int io_uring_submit(struct io_uring* ring);
int io_uring_submit_and_get_events(struct io_uring* ring);
/* These do the same, and then read what is to be read. */
int io_uring_submit_and_wait(struct io_uring* ring, unsigned count);
int io_uring_submit_and_wait_timeout(struct io_uring* ring, void** completion, unsigned count,
                                     void* duration, sigset_t* mask);
int io_uring_wait_cqes(struct io_uring* ring, void** completion, unsigned count, void* duration,
                       sigset_t* mask);
int io_uring_wait_cqe_timeout(struct io_uring* ring, void** completion, void* duration);
int __io_uring_get_cqe(struct io_uring* ring, void** completion, unsigned submitted, unsigned count,
                       sigset_t* mask);
/* The newest ring of the thread has this descriptor. */
int io_uring_enter(unsigned fd, unsigned submitted, unsigned count, unsigned flags, sigset_t* mask);
int io_uring_enter2(unsigned fd, unsigned submitted, unsigned count, unsigned flags, sigset_t* mask,
                    size_t bytes);

/* A system call that no wrapper sees, as another program's. Returns what the kernel does. */
static inline long UnseenCall(long number, long fd, const void* bytes, long count) {
  long result;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "0"(number), "D"(fd), "S"(bytes), "d"(count)
                   : "rcx", "r11", "memory");
  return result;
}

#endif /* COZ_SYNC_INTERPOSE_TESTING_FAKE_URING_H_ */
