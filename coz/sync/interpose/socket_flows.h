// The flows of connected stream sockets, kept by descriptor. To find them anew takes four system
// calls, and a server asks at nearly every request.
//
// Shape    one per process; a table by descriptor, in which the newest entry stays
// Units    inodes; flows as in io_object.cc
// Errors   none. An entry is dropped when the descriptor is closed or replaced by a wrapped call.
//          Where libc does that itself (fclose), some 32 calls may find the old flows; then the
//          inode tells. A stream socket that is connected a second time keeps its old flows. A wait
//          through such a descriptor goes without credit
// Threads  safe. An entry that another thread changes at the moment is not found and not changed
// Signals  async-signal-safe
// Source   none
#ifndef COZ_SYNC_INTERPOSE_SOCKET_FLOWS_H_
#define COZ_SYNC_INTERPOSE_SOCKET_FLOWS_H_

#include <atomic>
#include <cstdint>

namespace coz::interpose {

class SocketFlows {
 public:
  struct Flow {
    uint64_t in;
    uint64_t out;
  };

  // False where the caller has to find out the descriptor's inode first.
  bool FindByDescriptor(int fd, Flow* flow) {
    Entry& entry = EntryOf(fd);
    const uint32_t uses = entry.uses.load(std::memory_order_relaxed);
    if (uses == 0) return false;
    entry.uses.store(uses - 1, std::memory_order_relaxed);
    return Read(entry, flow) == Key{fd, entry.inode.load(std::memory_order_relaxed)};
  }

  // Whether FindByDescriptor would find them.
  bool Knows(int fd) const {
    const Entry& entry = EntryOf(fd);
    return entry.uses.load(std::memory_order_relaxed) != 0 &&
           entry.fd.load(std::memory_order_relaxed) == fd;
  }

  // False where the flows of this inode are not known.
  bool Find(int fd, uint64_t inode, Flow* flow) {
    Entry& entry = EntryOf(fd);
    if (!(Read(entry, flow) == Key{fd, inode})) return false;
    entry.uses.store(kUsesWithoutInode, std::memory_order_relaxed);
    return true;
  }

  void Note(int fd, uint64_t inode, const Flow& flow) {
    Entry& entry = EntryOf(fd);
    uint32_t version = entry.version.load(std::memory_order_relaxed);
    if (version % 2 != 0 ||
        !entry.version.compare_exchange_strong(version, version + 1, std::memory_order_relaxed)) {
      return;
    }
    std::atomic_thread_fence(std::memory_order_release);
    entry.fd.store(fd, std::memory_order_relaxed);
    entry.inode.store(inode, std::memory_order_relaxed);
    entry.in.store(flow.in, std::memory_order_relaxed);
    entry.out.store(flow.out, std::memory_order_relaxed);
    entry.uses.store(kUsesWithoutInode, std::memory_order_relaxed);
    entry.version.store(version + 2, std::memory_order_release);
  }

  // The descriptor leads to something else from now on.
  void Drop(int fd) { EntryOf(fd).uses.store(0, std::memory_order_relaxed); }

 private:
  static constexpr uint32_t kUsesWithoutInode = 32;
  static constexpr unsigned kEntries = 1024;

  struct alignas(64) Entry {
    std::atomic<uint32_t> version;  // odd: a thread changes the entry
    std::atomic<uint32_t> uses;     // that may do without the inode
    std::atomic<int> fd;
    std::atomic<uint64_t> inode;  // 0: none
    std::atomic<uint64_t> in;
    std::atomic<uint64_t> out;
  };

  struct Key {
    int fd;
    uint64_t inode;  // 0: the entry says nothing
    bool operator==(const Key& other) const {
      return fd == other.fd && inode == other.inode && inode != 0;
    }
  };

  static Key Read(const Entry& entry, Flow* flow) {
    const uint32_t version = entry.version.load(std::memory_order_acquire);
    const Key key = {entry.fd.load(std::memory_order_relaxed),
                     entry.inode.load(std::memory_order_relaxed)};
    *flow = {entry.in.load(std::memory_order_relaxed), entry.out.load(std::memory_order_relaxed)};
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

#endif  // COZ_SYNC_INTERPOSE_SOCKET_FLOWS_H_
