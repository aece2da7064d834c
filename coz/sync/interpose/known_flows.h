// The flows of descriptors, kept by descriptor. To find them anew takes one to five system calls,
// and a server asks at nearly every request. Of a new connection the peer is kept, where accept or
// connect has told it: the rest is asked for only where flows are needed.
//
// A flow is one direction of data. A descriptor has up to two each way, since a datagram socket
// that is connected gets what is sent to its address, too.
//
// Shape    one per process; a table by descriptor, in which the newest entry stays
// Units    inodes; flows as in io_object.cc, 0 for none
// Errors   none. An entry is dropped when the descriptor is closed, replaced or connected by a
//          wrapped call. Where libc or a system call of the program's own does that, some 32 calls
//          may find the old flows; then the inode tells. A socket that is so connected a second
//          time keeps its old flows. A wait through such a descriptor goes without credit
// Threads  safe. An entry that another thread changes at the moment is not found and not changed
// Signals  async-signal-safe
// Source   none
#ifndef COZ_SYNC_INTERPOSE_KNOWN_FLOWS_H_
#define COZ_SYNC_INTERPOSE_KNOWN_FLOWS_H_

#include <atomic>
#include <cstdint>

namespace coz::interpose {

struct Flows {
  static constexpr int kMax = 2;
  uint64_t in[kMax] = {};
  uint64_t out[kMax] = {};
};

class KnownFlows {
 public:
  // What a descriptor leads to. A stream socket that is connected needs no addresses. Of the last
  // two only the peer is known: they are a stream socket, or any connected one.
  enum class Object : uint32_t { kOther, kStream, kStreamToPeer, kToPeer };

  // The inode of a descriptor that was new when it was noted, so that nobody had to ask.
  static constexpr uint64_t kNewInode = ~uint64_t{0};

  // False where the caller has to find out the descriptor's inode first.
  bool FindByDescriptor(int fd, Flows* flows) {
    Entry& entry = EntryOf(fd);
    const uint32_t uses = entry.uses.load(std::memory_order_relaxed);
    if (uses == 0 || HasOnlyPeer(entry)) return false;
    entry.uses.store(uses - 1, std::memory_order_relaxed);
    Object object;
    const Key key = Read(entry, flows, &object);
    return key == Key{fd, entry.inode.load(std::memory_order_relaxed)} && !IsOnlyPeer(object);
  }

  // The peer that NotePeer has noted; 0 for none, or where flows have been noted since.
  uint64_t PeerOf(int fd, Object* object) const {
    const Entry& entry = EntryOf(fd);
    if (entry.uses.load(std::memory_order_relaxed) == 0 || !HasOnlyPeer(entry)) return 0;
    Flows flows;
    const Key key = Read(entry, &flows, object);
    return key == Key{fd, kNewInode} && IsOnlyPeer(*object) ? flows.in[0] : 0;
  }

  // Whether `fd` is known to be a connected stream, for as long as it needs no inode.
  bool IsStream(int fd) const {
    const Entry& entry = EntryOf(fd);
    const Object object = entry.object.load(std::memory_order_relaxed);
    return entry.uses.load(std::memory_order_relaxed) != 0 &&
           entry.fd.load(std::memory_order_relaxed) == fd &&
           (object == Object::kStream || object == Object::kStreamToPeer);
  }

  // False where the flows of this inode are not known.
  bool Find(int fd, uint64_t inode, Flows* flows) {
    Entry& entry = EntryOf(fd);
    Object object;
    if (!(Read(entry, flows, &object) == Key{fd, inode})) return false;
    entry.uses.store(kUsesWithoutInode, std::memory_order_relaxed);
    return true;
  }

  void Note(int fd, uint64_t inode, const Flows& flows, Object object = Object::kOther) {
    Entry& entry = EntryOf(fd);
    uint32_t version = entry.version.load(std::memory_order_relaxed);
    if (version % 2 != 0 ||
        !entry.version.compare_exchange_strong(version, version + 1, std::memory_order_relaxed)) {
      return;
    }
    std::atomic_thread_fence(std::memory_order_release);
    entry.fd.store(fd, std::memory_order_relaxed);
    entry.object.store(object, std::memory_order_relaxed);
    entry.inode.store(inode, std::memory_order_relaxed);
    for (int i = 0; i < Flows::kMax; ++i) {
      entry.in[i].store(flows.in[i], std::memory_order_relaxed);
      entry.out[i].store(flows.out[i], std::memory_order_relaxed);
    }
    entry.uses.store(kUsesWithoutInode, std::memory_order_relaxed);
    entry.version.store(version + 2, std::memory_order_release);
  }

  // `peer` is not 0. `object` is one of which only the peer is known.
  void NotePeer(int fd, uint64_t peer, Object object) {
    Flows flows;
    flows.in[0] = peer;
    Note(fd, kNewInode, flows, object);
  }

  // The descriptor leads to something else from now on.
  void Drop(int fd) {
    Entry& entry = EntryOf(fd);
    if (entry.fd.load(std::memory_order_relaxed) != fd) return;
    entry.uses.store(0, std::memory_order_relaxed);
    entry.inode.store(0, std::memory_order_relaxed);
  }

 private:
  static constexpr uint32_t kUsesWithoutInode = 32;
  static constexpr unsigned kEntries = 1024;

  struct alignas(64) Entry {
    std::atomic<uint32_t> version;  // odd: a thread changes the entry
    std::atomic<uint32_t> uses;     // that may do without the inode
    std::atomic<int> fd;
    std::atomic<Object> object;
    std::atomic<uint64_t> inode;  // 0: none
    std::atomic<uint64_t> in[Flows::kMax];
    std::atomic<uint64_t> out[Flows::kMax];
  };
  static_assert(sizeof(Entry) == 64);

  struct Key {
    int fd;
    uint64_t inode;  // 0: the entry says nothing
    bool operator==(const Key& other) const {
      return fd == other.fd && inode == other.inode && inode != 0;
    }
  };

  static bool IsOnlyPeer(Object object) {
    return object == Object::kStreamToPeer || object == Object::kToPeer;
  }
  static bool HasOnlyPeer(const Entry& entry) {
    return IsOnlyPeer(entry.object.load(std::memory_order_relaxed));
  }

  static Key Read(const Entry& entry, Flows* flows, Object* object) {
    const uint32_t version = entry.version.load(std::memory_order_acquire);
    const Key key = {entry.fd.load(std::memory_order_relaxed),
                     entry.inode.load(std::memory_order_relaxed)};
    *object = entry.object.load(std::memory_order_relaxed);
    for (int i = 0; i < Flows::kMax; ++i) {
      flows->in[i] = entry.in[i].load(std::memory_order_relaxed);
      flows->out[i] = entry.out[i].load(std::memory_order_relaxed);
    }
    std::atomic_thread_fence(std::memory_order_acquire);
    const bool is_whole =
        version % 2 == 0 && entry.version.load(std::memory_order_relaxed) == version;
    return is_whole ? key : Key{};
  }

  Entry& EntryOf(int fd) { return entries_[static_cast<unsigned>(fd) % kEntries]; }
  const Entry& EntryOf(int fd) const { return entries_[static_cast<unsigned>(fd) % kEntries]; }

  Entry entries_[kEntries];
};

}  // namespace coz::interpose

#endif  // COZ_SYNC_INTERPOSE_KNOWN_FLOWS_H_
