// Wraps no calls itself. It makes keys for io.cc, socket.cc, poll.cc and others. Process: target.
// Context: the program's threads and signal handlers.
#include "coz/sync/interpose/io_object.h"

#include <netinet/in.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/un.h>

#include <atomic>
#include <optional>

#include "coz/base/raw_syscall.h"
#include "coz/sync/delay/io_tables.h"
#include "coz/sync/interpose/known_flows.h"
#include "coz/sync/interpose/lately_readable.h"
#include "coz/sync/interpose/thread_sync.h"
#include "coz/sync/interpose/unix_peer.h"

namespace coz::interpose {
namespace {

enum Kind : uint64_t {
  kPipe = 1,
  kEvent,
  kStream,
  kAddress,
  kPair,
  kUnix,
  kEpoll,
  kProcess,
  kSignal,
  kQueue,
  kSemaphore,
  kMessages,
  kFileLock,
  kFifo
};

// The finalizer of SplitMix64 (Steele, Lea and Flood) over a running value. Never 0.
uint64_t Mix(uint64_t hash, uint64_t value) {
  uint64_t z = hash * 31 + value + 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return (z ^ (z >> 31)) | 1;
}

uint64_t MixBytes(uint64_t hash, const void* bytes, size_t count) {
  const unsigned char* byte = static_cast<const unsigned char*>(bytes);
  for (size_t i = 0; i < count; ++i) hash = hash * 31 + byte[i];
  return Mix(hash, count);
}

// A thread can wait in a flow for two things: arrival and room.
uint64_t Arrival(uint64_t flow) { return flow == 0 ? 0 : Mix(flow, 1); }
uint64_t Room(uint64_t flow) { return flow == 0 ? 0 : Mix(flow, 2); }

static_assert(IoKeys::kMax == Flows::kMax);

delay::IoTables g_own_tables;
delay::IoTables* g_tables = &g_own_tables;

KnownFlows g_known_flows;

delay::IoTables::PairPlace& PairPlaceOf(uint64_t inode) {
  // The lowest bit of Mix() is always set.
  return TheIoTables().pairs[(Mix(kPair, inode) >> 1) % delay::IoTables::kPairPlaces];
}

// Tags that tell apart descriptors without an inode of their own, by descriptor number. fork copies
// them as it copies the descriptors.
constexpr unsigned kTags = 1 << 16;
std::atomic<uint64_t> g_tags[kTags];
std::atomic<uint32_t> g_tag_count;

uint64_t TagOf(int fd) {
  const uint64_t tag = g_tags[static_cast<unsigned>(fd) % kTags].load(std::memory_order_relaxed);
  return tag != 0 ? tag : static_cast<uint64_t>(fd);
}
// The flows of `fd` are made from the tag.
void SetTag(int fd, uint64_t tag) {
  g_known_flows.Drop(fd);
  g_tags[static_cast<unsigned>(fd) % kTags].store(tag, std::memory_order_relaxed);
}

uint64_t SignalTag(pid_t pid) { return Mix(kSignal, static_cast<uint64_t>(pid)); }
uint64_t EventFlow(uint64_t tag) { return Mix(kEvent, tag); }

union Address {
  sockaddr any;
  sockaddr_in in;
  sockaddr_in6 in6;
  sockaddr_un un;
  sockaddr_storage storage;
};

struct Endpoint {
  bool known = false;
  bool named = false;
  uint64_t host_and_port = 0;  // a path is both this and the port
  uint64_t port = 0;
};

Endpoint InternetEndpoint(const void* host, size_t host_bytes, in_port_t port) {
  Endpoint endpoint;
  endpoint.known = true;
  endpoint.named = port != 0;
  endpoint.port = Mix(kAddress, port);
  endpoint.host_and_port = MixBytes(endpoint.port, host, host_bytes);
  return endpoint;
}

Endpoint UnixEndpoint(const sockaddr_un& address, size_t length) {
  Endpoint endpoint;
  endpoint.known = true;
  const size_t path_offset = offsetof(sockaddr_un, sun_path);
  if (length <= path_offset) return endpoint;
  endpoint.named = true;
  const size_t most = length - path_offset;
  // A path ends at its NUL. An abstract name begins with a NUL and ends at the length.
  const size_t bytes = address.sun_path[0] == '\0' ? most : strnlen(address.sun_path, most);
  endpoint.port = endpoint.host_and_port = MixBytes(kAddress, address.sun_path, bytes);
  return endpoint;
}

Endpoint EndpointOf(const Address& address, size_t length) {
  switch (address.any.sa_family) {
    case AF_INET:
      if (length < sizeof(sockaddr_in)) return {};
      return InternetEndpoint(&address.in.sin_addr, sizeof(in_addr), address.in.sin_port);
    case AF_INET6: {
      if (length < sizeof(sockaddr_in6)) return {};
      const in6_addr& host = address.in6.sin6_addr;
      // The peer of a mapped IPv6 address may see the plain IPv4 address.
      if (IN6_IS_ADDR_V4MAPPED(&host)) {
        return InternetEndpoint(host.s6_addr + 12, sizeof(in_addr), address.in6.sin6_port);
      }
      return InternetEndpoint(&host, sizeof(host), address.in6.sin6_port);
    }
    case AF_UNIX:
      return UnixEndpoint(address.un, length);
    default:
      return {};
  }
}

// Whether an internet address names no host.
bool IsNoHost(const Address& address) {
  if (address.any.sa_family == AF_INET) return address.in.sin_addr.s_addr == INADDR_ANY;
  const in6_addr& host = address.in6.sin6_addr;
  constexpr unsigned char kMappedNone[4] = {};
  return IN6_IS_ADDR_UNSPECIFIED(&host) ||
         (IN6_IS_ADDR_V4MAPPED(&host) && memcmp(host.s6_addr + 12, kMappedNone, 4) == 0);
}

Endpoint EndpointBy(long system_call, int fd) {
  Address address = {};
  socklen_t length = sizeof(address);
  if (RawSyscall(system_call, fd, &address.any, &length) != 0) return {};
  return EndpointOf(address, length);
}

uint64_t StreamFlow(uint64_t from, uint64_t to) { return Mix(Mix(kStream, from), to); }
uint64_t StreamFlow(const Endpoint& from, const Endpoint& to) {
  return StreamFlow(from.host_and_port, to.host_and_port);
}
uint64_t AddressFlow(const Endpoint& to) { return to.named ? Mix(to.port, kAddress) : 0; }

// 0 where the kernel does not tell.
int SocketOption(int fd, int option) {
  int value = 0;
  socklen_t length = sizeof(value);
  return RawSyscall(SYS_getsockopt, fd, SOL_SOCKET, option, &value, &length) == 0 ? value : 0;
}
bool IsDatagramSocket(int fd) { return SocketOption(fd, SO_TYPE) == SOCK_DGRAM; }

Flows PairFlows(int fd, uint64_t inode) {
  Flows flows;
  const uint64_t peer = PairPlaceOf(inode).PeerOf(inode);
  if (peer == 0) return flows;
  flows.in[0] = Mix(kPair, peer);
  flows.out[0] = Mix(kPair, inode);
  g_known_flows.Note(fd, inode, flows);
  return flows;
}

// Of a connection between a Unix socket with a name and one without. What an end reads is known by
// its own inode, and so from the beginning; what it writes, by the other end's. Where the kernel
// does not tell that, all connections have the flows of the two addresses.
Flows UnixFlows(int fd, uint64_t inode, const Endpoint& local, const Endpoint& peer) {
  Flows flows;
  flows.in[0] = Mix(kUnix, inode);
  const std::optional<uint64_t> peer_inode = UnixPeerOf(inode);
  if (!peer_inode.has_value()) {
    flows.in[0] = StreamFlow(peer, local);
    flows.out[0] = StreamFlow(local, peer);
  } else if (*peer_inode != 0) {
    flows.out[0] = Mix(kUnix, *peer_inode);
  } else {
    return flows;  // the server has not accepted it yet
  }
  g_known_flows.Note(fd, inode, flows, KnownFlows::Object::kStream);
  return flows;
}

// Of a socket that listens, or is not connected.
Flows AddressFlows(int fd, uint64_t inode, const Endpoint& local) {
  Flows flows;
  flows.in[0] = AddressFlow(local);
  // A stream socket that does not listen may be about to be connected.
  if (local.named && (IsDatagramSocket(fd) || SocketOption(fd, SO_ACCEPTCONN) != 0)) {
    g_known_flows.Note(fd, inode, flows);
  }
  return flows;
}

Flows FlowsOfSocket(int fd, uint64_t inode) {
  Flows known;
  if (g_known_flows.Find(fd, inode, &known)) return known;
  const Endpoint local = EndpointBy(SYS_getsockname, fd);
  if (!local.known) return {};
  const Endpoint peer = EndpointBy(SYS_getpeername, fd);
  if (peer.known && !peer.named && !local.named) return PairFlows(fd, inode);
  const bool is_stream = peer.known && !IsDatagramSocket(fd);
  if (is_stream && peer.named != local.named) return UnixFlows(fd, inode, local, peer);
  if (!peer.known) return AddressFlows(fd, inode, local);
  Flows flows;
  flows.in[0] = StreamFlow(peer, local);
  flows.out[0] = StreamFlow(local, peer);
  if (!is_stream) {  // the other end of a connected datagram socket need not be connected
    flows.in[1] = AddressFlow(local);
    flows.out[1] = AddressFlow(peer);
  }
  g_known_flows.Note(fd, inode, flows,
                     is_stream ? KnownFlows::Object::kStream : KnownFlows::Object::kOther);
  return flows;
}

// Of a new connection whose peer is known. False: all has to be asked for.
bool FindFlowsToPeer(int fd, Flows* flows) {
  KnownFlows::Object object;
  const uint64_t peer = g_known_flows.PeerOf(fd, &object);
  if (peer == 0 || HasLeftThreadSync()) return false;
  const bool is_stream = object == KnownFlows::Object::kStreamToPeer || !IsDatagramSocket(fd);
  const Endpoint local = is_stream ? EndpointBy(SYS_getsockname, fd) : Endpoint();
  if (!local.named) {
    g_known_flows.Drop(fd);
    return false;
  }
  flows->in[0] = StreamFlow(peer, local.host_and_port);
  flows->out[0] = StreamFlow(local.host_and_port, peer);
  g_known_flows.Note(fd, KnownFlows::kNewInode, *flows, KnownFlows::Object::kStream);
  return true;
}

// The device of POSIX message queues; ~0 before one is known.
std::atomic<uint64_t> g_queue_device{~uint64_t{0}};

bool IsMessageQueue(const struct stat& status) {
  return status.st_dev == g_queue_device.load(std::memory_order_relaxed);
}

}  // namespace

bool IsKnownStream(int fd) { return g_known_flows.IsStream(fd); }

namespace {

// Of what is no socket. Files have none. libc closes files and message queues itself, unseen.
Flows FlowsOfOther(int fd, const struct stat& status) {
  Flows flows;
  switch (status.st_mode & S_IFMT) {
    case S_IFIFO:
      flows.in[0] = flows.out[0] = Mix(Mix(kPipe, status.st_dev), status.st_ino);
      break;
    case 0:  // the anonymous inode, which all eventfds and timers share
      flows.in[0] = flows.out[0] = EventFlow(TagOf(fd));
      break;
    case S_IFREG:
      if (!IsMessageQueue(status)) return flows;
      flows.in[0] = flows.out[0] = Mix(Mix(kQueue, status.st_dev), status.st_ino);
      return flows;
    default:
      return flows;
  }
  g_known_flows.Note(fd, status.st_ino, flows);
  return flows;
}

Flows FlowsOf(int fd) {
  Flows known;
  if (g_known_flows.FindByDescriptor(fd, &known) || FindFlowsToPeer(fd, &known)) return known;
  struct stat status;
  if (HasLeftThreadSync() || RawSyscall(SYS_fstat, fd, &status) != 0) return {};
  if ((status.st_mode & S_IFMT) == S_IFSOCK) return FlowsOfSocket(fd, status.st_ino);
  return FlowsOfOther(fd, status);
}

}  // namespace

IoKeys FindIoKeys(int fd, IoSide side) {
  const Flows flows = FlowsOf(fd);
  IoKeys keys;
  for (int i = 0; i < IoKeys::kMax; ++i) {
    if (side == IoSide::kInput) {
      keys.wakes[i] = Room(flows.in[i]);
      keys.waits[i] = Arrival(flows.in[i]);
    } else {
      keys.wakes[i] = Arrival(flows.out[i]);
      keys.waits[i] = Room(flows.out[i]);
    }
  }
  return keys;
}

delay::WaitKind WaitKindOf(int fd, IoSide side) {
  struct stat status;
  if (HasLeftThreadSync() || RawSyscall(SYS_fstat, fd, &status) != 0) {
    return delay::WaitKind::kOther;
  }
  if (IsMessageQueue(status)) return delay::WaitKind::kMessages;
  switch (status.st_mode & S_IFMT) {
    case S_IFREG:
    case S_IFBLK:
    case S_IFDIR:
      return side == IoSide::kInput ? delay::WaitKind::kDiskRead : delay::WaitKind::kDiskWrite;
    case S_IFSOCK:
      return delay::WaitKind::kNetwork;
    case S_IFIFO:
      return delay::WaitKind::kPipe;
    case S_IFCHR:
      return delay::WaitKind::kDevice;
    default:
      return delay::WaitKind::kOther;
  }
}

uint64_t ArrivalKey(const sockaddr* address, socklen_t length) {
  Address copy = {};
  if (length < sizeof(sa_family_t) || length > sizeof(copy)) return 0;
  if (!IsLatelyReadable(address, length)) return 0;  // the call itself reports the error
  memcpy(&copy, address, length);
  return Arrival(AddressFlow(EndpointOf(copy, length)));
}

uint64_t EpollKey(int epoll) { return Mix(kEpoll, TagOf(epoll)); }

uint64_t ProcessExitKey(pid_t pid) { return Mix(kProcess, static_cast<uint64_t>(pid)); }

uint64_t SignalKey(pid_t pid) { return Arrival(EventFlow(SignalTag(pid))); }

uint64_t SemaphoreKey(int set, unsigned number, SemaphoreMove move) {
  const uint64_t semaphore = Mix(Mix(kSemaphore, static_cast<unsigned>(set)), number);
  return move == SemaphoreMove::kUp ? Arrival(semaphore) : Room(semaphore);
}

uint64_t MessagesKey(int queue, IoSide side) {
  const uint64_t flow = Mix(kMessages, static_cast<unsigned>(queue));
  return side == IoSide::kOutput ? Arrival(flow) : Room(flow);
}

uint64_t FileLockKey(int fd) {
  struct stat status;
  if (HasLeftThreadSync() || RawSyscall(SYS_fstat, fd, &status) != 0) return 0;
  return Mix(Mix(kFileLock, status.st_dev), status.st_ino);
}

uint64_t FifoKey(const struct stat& fifo, IoSide side) {
  const uint64_t opening = Mix(Mix(kFifo, fifo.st_dev), fifo.st_ino);
  return side == IoSide::kOutput ? Arrival(opening) : Room(opening);
}

void NotePeer(int fd, const sockaddr* peer, socklen_t length, NewConnection kind) {
  Address copy = {};
  if (length < sizeof(sa_family_t) || length > sizeof(copy)) return;
  memcpy(&copy, peer, length);
  if (copy.any.sa_family != AF_INET && copy.any.sa_family != AF_INET6) return;
  // The kernel takes its own host for one that is not given.
  const Endpoint endpoint = EndpointOf(copy, length);
  if (!endpoint.named || IsNoHost(copy)) return;
  g_known_flows.NotePeer(fd, endpoint.host_and_port,
                         kind == NewConnection::kStream ? KnownFlows::Object::kStreamToPeer
                                                        : KnownFlows::Object::kToPeer);
}

void NoteNewMeaning(int fd) { g_known_flows.Drop(fd); }

void NoteAnonymous(int fd) {
  if (HasLeftThreadSync()) return;
  const uint64_t count = g_tag_count.fetch_add(1, std::memory_order_relaxed);
  SetTag(fd, Mix(static_cast<uint64_t>(RawSyscall(SYS_getpid)), count));
}

void NoteSignalDescriptor(int fd) {
  if (HasLeftThreadSync()) return;
  SetTag(fd, SignalTag(static_cast<pid_t>(RawSyscall(SYS_getpid))));
}

void NoteMessageQueue(int fd) {
  constexpr long kMqueueMagic = 0x19800202;  // ipc/mqueue.c
  if (g_queue_device.load(std::memory_order_relaxed) != ~uint64_t{0} || HasLeftThreadSync()) return;
  struct stat status;
  struct statfs system;
  if (RawSyscall(SYS_fstatfs, fd, &system) != 0 || system.f_type != kMqueueMagic) return;
  if (RawSyscall(SYS_fstat, fd, &status) != 0) return;
  g_queue_device.store(status.st_dev, std::memory_order_relaxed);
}

delay::IoTables& TheIoTables() { return *g_tables; }
void SetIoTables(delay::IoTables* tables) { g_tables = tables; }

void NoteSocketPair(const int fds[2]) {
  if (HasLeftThreadSync()) return;
  struct stat status[2];
  for (int i = 0; i < 2; ++i) {
    if (RawSyscall(SYS_fstat, fds[i], &status[i]) != 0) return;
  }
  for (int i = 0; i < 2; ++i) {
    PairPlaceOf(status[i].st_ino).Note(status[i].st_ino, status[1 - i].st_ino);
  }
}

}  // namespace coz::interpose
