// What a file descriptor leads to, as keys of the wake table: whoever writes to one end of a pipe,
// a socket or an eventfd and whoever reads from the other find the same key.
//
// Shape    a key is a hash, 0 where there is none; a descriptor has up to two of each kind
// Units    none
// Errors   files, terminals, timers, and what cannot be told: no keys. Two objects with the same
//          key cost at most a wrong credit of what one of them has been told
// Threads  safe
// Signals  async-signal-safe; keeps errno (system calls are made directly)
// Source   fstat(2), getsockname(2), getpeername(2). A pipe is known by its inode. A connected
//          socket by both its addresses, which its peer has the other way round; a listening or
//          unconnected one by its own, which who connects or sends to it names; an unnamed socket
//          pair by its inodes, noted when it is made. An eventfd has no inode of its own: by what
//          is noted when it is made, which children of fork inherit.
#ifndef COZ_SYNC_INTERPOSE_IO_OBJECT_H_
#define COZ_SYNC_INTERPOSE_IO_OBJECT_H_

#include <sys/socket.h>

#include <cstdint>

#include "coz/sync/delay/io_tables.h"

namespace coz::interpose {

// Those of this process alone until SetIoTables is called, before threads are profiled.
delay::IoTables& TheIoTables();
void SetIoTables(delay::IoTables* tables);

enum class IoSide { kInput, kOutput };  // what the caller does: read or accept; write

struct IoKeys {
  static constexpr int kMax = 2;
  uint64_t wakes[kMax];  // whom an operation on this side lets go on
  uint64_t waits[kMax];  // what it waits for
};

IoKeys FindIoKeys(int fd, IoSide side);

// What waits for a connection or a datagram that is sent to `address`.
uint64_t ArrivalKey(const sockaddr* address, socklen_t length);

// What waits in an epoll instance, by its descriptor; for the end of a child process; in a process
// for a signal to it.
uint64_t EpollKey(int epoll);
uint64_t ProcessExitKey(pid_t pid);
uint64_t SignalKey(pid_t pid);

// `fd` is a new eventfd or epoll instance; a signalfd of this process.
void NoteAnonymous(int fd);
void NoteSignalDescriptor(int fd);

// The sockets of a new pair are each other's peers.
void NoteSocketPair(const int fds[2]);

}  // namespace coz::interpose

#endif  // COZ_SYNC_INTERPOSE_IO_OBJECT_H_
