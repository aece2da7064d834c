// POSIX message queues. A descriptor of such a queue is a file descriptor. Process: target.
// Context: the program's threads and signal handlers.
#include <mqueue.h>

#include <cerrno>

#include "coz/sync/interpose/io_wait.h"
#include "coz/sync/interpose/virtual_timeout.h"
#include "coz/sync/interpose/wrapped_calls.h"

namespace coz::interpose {
namespace {

template <typename Call>
auto CallQueue(mqd_t queue, IoSide side, Call call) {
  if (CurrentThreadLedger() != nullptr) NoteMessageQueue(queue);
  return CallIo(queue, side, call);
}

// The same for a call that times out. The kernel has read a deadline that has passed.
template <typename CallUntil>
auto CallQueueUntil(mqd_t queue, IoSide side, const timespec* deadline, CallUntil call_until) {
  return CallQueue(queue, side, [=] {
    return WaitInVirtualTime(deadline, call_until,
                             [](auto result) { return result < 0 && errno == ETIMEDOUT; });
  });
}

}  // namespace
}  // namespace coz::interpose

using coz::interpose::CallQueue;
using coz::interpose::CallQueueUntil;
using coz::interpose::g_real;
using coz::interpose::IoSide;

extern "C" {

int mq_send(mqd_t queue, const char* message, size_t length, unsigned priority) {
  return CallQueue(queue, IoSide::kOutput,
                   [=] { return g_real.mq_send(queue, message, length, priority); });
}

int mq_timedsend(mqd_t queue, const char* message, size_t length, unsigned priority,
                 const timespec* deadline) {
  return CallQueueUntil(queue, IoSide::kOutput, deadline, [=](const timespec* until) {
    return g_real.mq_timedsend(queue, message, length, priority, until);
  });
}

ssize_t mq_receive(mqd_t queue, char* message, size_t capacity, unsigned* priority) {
  return CallQueue(queue, IoSide::kInput,
                   [=] { return g_real.mq_receive(queue, message, capacity, priority); });
}

ssize_t mq_timedreceive(mqd_t queue, char* message, size_t capacity, unsigned* priority,
                        const timespec* deadline) {
  return CallQueueUntil(queue, IoSide::kInput, deadline, [=](const timespec* until) {
    return g_real.mq_timedreceive(queue, message, capacity, priority, until);
  });
}

}  // extern "C"
