/* Waits in each of liburing's ways for a byte that another thread writes through a ring, or the
 * outside. Ends with 0 where each wait returns and, if the wrapped calls are preloaded, the writer
 * has paid and the reader has been credited. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "coz/sync/interpose/testing/fake_uring.h"
#include "coz/sync/interpose/testing/openmp_preload.h"

static const uint64_t kDelayNs = 5 * 1000 * 1000;

static int ends[2];
static char byte;

static void Add(struct io_uring* ring, unsigned char opcode, int fd) {
  struct io_uring_sqe* request = &ring->sq.sqes[ring->sq.sqe_tail++ & *ring->sq.kring_mask];
  memset(request, 0, sizeof(*request));
  request->opcode = opcode;
  request->fd = fd;
  request->addr = (uintptr_t)&byte;
  request->len = 1;
}

/* In these ways a thread waits for what it has submitted. */
static int GetCqe(struct io_uring* ring) {
  io_uring_submit(ring);
  return __io_uring_get_cqe(ring, NULL, 0, 1, NULL);
}
static int SubmitAndWait(struct io_uring* ring) { return io_uring_submit_and_wait(ring, 1); }
static int SubmitAndWaitTimeout(struct io_uring* ring) {
  return io_uring_submit_and_wait_timeout(ring, NULL, 1, NULL, NULL);
}
static int WaitCqes(struct io_uring* ring) { return io_uring_wait_cqes(ring, NULL, 1, NULL, NULL); }
static int WaitCqeTimeout(struct io_uring* ring) {
  return io_uring_wait_cqe_timeout(ring, NULL, NULL);
}
static int Enter(struct io_uring* ring) {
  io_uring_submit_and_get_events(ring);
  return io_uring_enter((unsigned)ring->ring_fd, 0, 1, IORING_ENTER_GETEVENTS, NULL);
}
static int Enter2(struct io_uring* ring) {
  io_uring_submit(ring);
  return io_uring_enter2((unsigned)ring->ring_fd, 0, 1, IORING_ENTER_GETEVENTS, NULL, 8);
}

typedef int (*Way)(struct io_uring*);
static const Way kWays[] = {GetCqe, SubmitAndWait, SubmitAndWaitTimeout, WaitCqes, WaitCqeTimeout,
                            Enter,  Enter2};

struct Reader {
  Way way;
  atomic_int tid;
  _Atomic(void*) ledger;
  int result;
  uint64_t credited_ns, paused_ns;
};

static void* Read(void* opaque) {
  struct Reader* reader = opaque;
  struct io_uring ring;
  if (io_uring_queue_init(kRequests, &ring, 0) != 0) return NULL;
  Add(&ring, IORING_OP_READ, ends[0]);
  if (coz_test_ledger) reader->ledger = coz_test_ledger();
  reader->tid = gettid();
  reader->result = reader->way(&ring);
  if (coz_test_ledger) {
    reader->credited_ns = coz_test_credited_ns(reader->ledger);
    reader->paused_ns = coz_test_paused_ns(reader->ledger);
  }
  close(ring.ring_fd);
  return NULL;
}

static int SleepsInKernel(int tid) {
  char path[64], line[256] = "";
  snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
  FILE* file = fopen(path, "r");
  if (file == NULL) return 0;
  const int is_read = fgets(line, sizeof(line), file) != NULL;
  fclose(file);
  const char* name_end = strrchr(line, ')');
  return is_read && name_end != NULL && name_end[2] == 'S';
}

static int Waits(struct Reader* reader) {
  if (reader->tid == 0 || !SleepsInKernel(reader->tid)) return 0;
  return !coz_test_ledger || coz_test_is_blocked(reader->ledger);
}

/* Whether a wait in this way was as it should be. */
static int Try(struct io_uring* writer, Way way, int from_outside) {
  struct Reader reader = {.way = way, .result = -1};
  pthread_t thread;
  if (pthread_create(&thread, NULL, Read, &reader) != 0) return 0;
  while (!Waits(&reader)) sched_yield();
  uint64_t paid_ns = 0;
  if (coz_test_impose) {
    coz_test_impose(kDelayNs);
    paid_ns = coz_test_paused_ns(coz_test_ledger());
  }
  if (from_outside) {
    if (UnseenCall(SYS_write, ends[1], "x", 1) != 1) return 0;
  } else {
    Add(writer, IORING_OP_WRITE, ends[1]);
    if (io_uring_submit(writer) != 1) return 0;
  }
  if (coz_test_ledger) paid_ns = coz_test_paused_ns(coz_test_ledger()) - paid_ns;
  pthread_join(thread, NULL);
  if (reader.result != 1) return 0;
  if (!coz_test_ledger) return 1;
  if (from_outside) {
    return paid_ns == 0 && reader.credited_ns == 0 && reader.paused_ns >= kDelayNs;
  }
  return paid_ns >= kDelayNs && reader.credited_ns >= kDelayNs && reader.paused_ns == 0;
}

int main(void) {
  struct io_uring writer;
  if (pipe(ends) != 0 || io_uring_queue_init(kRequests, &writer, 0) != 0) return 2;
  int status = 0;
  for (size_t i = 0; i < sizeof(kWays) / sizeof(kWays[0]); ++i) {
    for (int from_outside = 0; from_outside < 2; ++from_outside) {
      if (Try(&writer, kWays[i], from_outside)) continue;
      fprintf(stderr, "way %zu, %s: not as it should be\n", i,
              from_outside ? "from outside" : "through a ring");
      status = 1;
    }
  }
  return status;
}
