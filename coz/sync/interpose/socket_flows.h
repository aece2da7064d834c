// The flows of connected stream sockets, kept by descriptor. To find them anew takes three system
// calls, and a server asks at nearly every request.
//
// Shape    one per process; a table by descriptor, in which the newest entry stays
// Units    inodes; flows as in io_object.cc
// Errors   none. An entry is for one inode, so it is no more in use once the descriptor leads to
//          another socket. A stream socket that is connected a second time keeps its old flows; a
//          wait through it then goes without credit
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

  // False where the flows of this inode are not known.
  bool Find(int fd, uint64_t inode, Flow* flow) const {
    const Entry& entry = EntryOf(fd);
    const uint32_t version = entry.version.load(std::memory_order_acquire);
    const uint64_t of_inode = entry.inode.load(std::memory_order_relaxed);
    flow->in = entry.in.load(std::memory_order_relaxed);
    flow->out = entry.out.load(std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_acquire);
    return of_inode == inode && version % 2 == 0 &&
           entry.version.load(std::memory_order_relaxed) == version;
  }

  void Note(int fd, uint64_t inode, const Flow& flow) {
    Entry& entry = EntryOf(fd);
    uint32_t version = entry.version.load(std::memory_order_relaxed);
    if (version % 2 != 0 ||
        !entry.version.compare_exchange_strong(version, version + 1, std::memory_order_relaxed)) {
      return;
    }
    std::atomic_thread_fence(std::memory_order_release);
    entry.inode.store(inode, std::memory_order_relaxed);
    entry.in.store(flow.in, std::memory_order_relaxed);
    entry.out.store(flow.out, std::memory_order_relaxed);
    entry.version.store(version + 2, std::memory_order_release);
  }

 private:
  struct alignas(64) Entry {
    std::atomic<uint32_t> version;  // odd: a thread changes the entry
    std::atomic<uint64_t> inode;    // 0: none
    std::atomic<uint64_t> in;
    std::atomic<uint64_t> out;
  };
  static constexpr unsigned kEntries = 1024;

  const Entry& EntryOf(int fd) const { return entries_[static_cast<unsigned>(fd) % kEntries]; }
  Entry& EntryOf(int fd) { return entries_[static_cast<unsigned>(fd) % kEntries]; }

  Entry entries_[kEntries];
};

}  // namespace coz::interpose

#endif  // COZ_SYNC_INTERPOSE_SOCKET_FLOWS_H_
