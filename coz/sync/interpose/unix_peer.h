// The socket that a Unix socket is connected to. The sockets that a server accepts all have its
// address, and their clients have none, so addresses do not tell connections apart.
//
// Shape    one question to the kernel (NETLINK_SOCK_DIAG), by a socket that is closed again
// Units    inodes, as of fstat(2)
// Errors   0: there is no peer yet, for the server has not accepted it, or none any more; or all
//          descriptors are in use. Nothing: the kernel does not tell, as where the process may make
//          no such socket
// Threads  safe
// Signals  async-signal-safe; keeps errno (system calls are made directly)
// Source   sock_diag(7), "UNIX domain sockets"
#ifndef COZ_SYNC_INTERPOSE_UNIX_PEER_H_
#define COZ_SYNC_INTERPOSE_UNIX_PEER_H_

#include <cstdint>
#include <optional>

namespace coz::interpose {

std::optional<uint64_t> UnixPeerOf(uint64_t inode);

}  // namespace coz::interpose

#endif  // COZ_SYNC_INTERPOSE_UNIX_PEER_H_
