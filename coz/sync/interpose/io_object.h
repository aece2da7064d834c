// Keys in the wake table for what a file descriptor leads to. A thread that writes to one end of a
// pipe, a socket or an eventfd finds the same key as a thread that reads from the other end.
//
// Shape    a key is a hash, or 0 for none; a descriptor has up to two keys to wake and two to wait
// Units    none
// Errors   files, terminals, timers and unknown objects have no keys. If two objects have the same
//          key, a wait for one may at worst get the credit that was left for the other
// Threads  safe
// Signals  async-signal-safe; keeps errno (system calls are made directly)
// Source   fstat(2), getsockname(2), getpeername(2). The key of a pipe is made from its inode. That
//          of a connected socket is made from its two addresses, which its peer has the other way
//          round. That of a listening or unconnected socket is made from its own address, which
//          every sender or caller of connect names. That of an unnamed socket pair is made from its
//          inodes, which are noted when the pair is made. That of a connection to a Unix socket is
//          made from the inode of the end that reads (unix_peer.h). An eventfd has no inode of its
//          own. Its key is made from a tag that is noted when it is made; children of fork inherit
//          it. A POSIX message queue is a file of mqueue_overview(7) with an inode
#ifndef COZ_SYNC_INTERPOSE_IO_OBJECT_H_
#define COZ_SYNC_INTERPOSE_IO_OBJECT_H_

#include <sys/socket.h>
#include <sys/stat.h>

#include <cstdint>

#include "coz/sync/delay/io_tables.h"
#include "coz/sync/delay/outside_wait.h"

namespace coz::interpose {

// The tables in use. Until SetIoTables is called they belong to this process alone. SetIoTables is
// called before threads are profiled.
delay::IoTables& TheIoTables();
void SetIoTables(delay::IoTables* tables);

enum class IoSide { kInput, kOutput };  // kInput: the caller reads or accepts; kOutput: it writes

struct IoKeys {
  static constexpr int kMax = 2;
  uint64_t wakes[kMax];  // for threads that an operation on this side lets go on
  uint64_t waits[kMax];  // for what such an operation waits for
};

IoKeys FindIoKeys(int fd, IoSide side);

// Whether `fd` is known to be a stream socket that is connected, without a system call. False: it
// may be one all the same.
bool IsKnownStream(int fd);

// What a wait on `side` of `fd` waits for, where the outside ends it.
delay::WaitKind WaitKindOf(int fd, IoSide side);

// The key of threads that wait for a connection or a datagram to `address`.
uint64_t ArrivalKey(const sockaddr* address, socklen_t length);

// The key of threads that wait in an epoll instance (given by its descriptor), for the end of a
// child process, or in a process for a signal to it.
uint64_t EpollKey(int epoll);
uint64_t ProcessExitKey(pid_t pid);
uint64_t SignalKey(pid_t pid);

// The keys of System V objects, which are the same in all processes. A semaphore wakes threads when
// its value goes up, and others when it goes down to zero. MessagesKey is for what an operation on
// that side of the queue wakes.
enum class SemaphoreMove { kUp, kDown };
uint64_t SemaphoreKey(int set, unsigned number, SemaphoreMove move);
uint64_t MessagesKey(int queue, IoSide side);

// The key of those that wait for a lock on the file that `fd` leads to.
uint64_t FileLockKey(int fd);

// The key of those that wait for the opening of one side of a FIFO.
uint64_t FifoKey(const struct stat& fifo, IoSide side);

// Notes that `fd` is a new connection to `peer`, as a call has said that has succeeded or goes on
// connecting. So there is less to ask for later, if anybody asks. `peer` has `length` bytes that
// the kernel has read or written.
enum class NewConnection { kStream, kMayBeStream };
void NotePeer(int fd, const sockaddr* peer, socklen_t length, NewConnection kind);

// Notes that `fd` is being closed, or leads to something else from now on, or has another peer.
void NoteNewMeaning(int fd);

// Notes that `fd` is a new eventfd or epoll instance; or a signalfd of this process.
void NoteAnonymous(int fd);
void NoteSignalDescriptor(int fd);

// Notes the device of POSIX message queues, whose descriptors look like files. `fd` may be one.
void NoteMessageQueue(int fd);

// Notes that the sockets of a new pair are each other's peers.
void NoteSocketPair(const int fds[2]);

}  // namespace coz::interpose

#endif  // COZ_SYNC_INTERPOSE_IO_OBJECT_H_
