// Channels between two threads, for tests of waits through file descriptors.
//
// Shape    two descriptors and, for sockets, the listening one; closed with the last copy
// Units    bytes; a message has eight, as an eventfd requires
// Errors   fail the test
// Threads  the ends may be used by different threads
// Signals  none
// Source   none
#ifndef COZ_SYNC_INTERPOSE_TESTING_IO_CHANNEL_H_
#define COZ_SYNC_INTERPOSE_TESTING_IO_CHANNEL_H_

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

#include <cstdint>
#include <initializer_list>
#include <memory>

namespace coz::testing {

// Two ends; what is written to `output` is read from `input`.
struct Channel {
  int input = -1;
  int output = -1;
  int listener = -1;
  ~Channel() {
    for (const int fd : {input, output, listener}) {
      if (fd >= 0) close(fd);
    }
  }
};
using SharedChannel = std::shared_ptr<Channel>;

SharedChannel NewPipe();
SharedChannel NewPair(int type);
SharedChannel NewStreamPair();
SharedChannel NewEventfd();

template <typename Address>
const sockaddr* Any(const Address& address) {
  return reinterpret_cast<const sockaddr*>(&address);
}

int BoundInternetSocket(int family, int type);
// The loopback address of a socket that was bound by BoundInternetSocket.
sockaddr_in LoopbackOf(int fd);

SharedChannel NewTcp(int listener_family);
SharedChannel NewTcp4();
SharedChannel NewTcpMapped();
// From client to server, by a path. If `flipped`, from server to client.
SharedChannel NewUnixStream(bool flipped);
SharedChannel NewUdp(bool sender_connects, bool receiver_connects);

inline constexpr uint64_t kMessage = 1;
inline constexpr ssize_t kBytes = sizeof(kMessage);
bool Receives(int fd);
void Send(int fd);
// Sends by a system call that is not wrapped, as another program would.
void SendFromOutside(int fd);

}  // namespace coz::testing

#endif  // COZ_SYNC_INTERPOSE_TESTING_IO_CHANNEL_H_
