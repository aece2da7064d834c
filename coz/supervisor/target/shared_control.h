// The supervisor's side of the control block: a memfd that the target maps through /proc.
//
// Shape    one block per run
// Units    as in coz/shared/control_block.h
// Errors   RESOURCE_EXHAUSTED or UNAVAILABLE with what the system said
// Threads  compatible
// Signals  none
// Source   memfd_create(2), fcntl(2) on file seals. The target opens /proc/SUPERVISOR/fd/N, so
//          nothing is left behind whoever dies first
#ifndef COZ_SUPERVISOR_TARGET_SHARED_CONTROL_H_
#define COZ_SUPERVISOR_TARGET_SHARED_CONTROL_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "coz/base/unique_fd.h"
#include "coz/shared/control_block.h"

namespace coz::supervisor {

class SharedControl {
 public:
  static absl::StatusOr<SharedControl> Create();
  // In an empty file that is shared with the process already. It has no path then.
  static absl::StatusOr<SharedControl> CreateIn(UniqueFd fd);
  SharedControl(SharedControl&& other) noexcept;
  SharedControl& operator=(SharedControl&&) = delete;
  ~SharedControl();

  shared::ControlBlock& block() const { return *block_; }
  int fd() const { return fd_.get(); }
  // Copies the file `fd` of `bytes` behind the block. Returns its offset; RESOURCE_EXHAUSTED when
  // there is no room.
  absl::StatusOr<uint64_t> Append(int fd, uint64_t bytes);
  // The same of bytes in memory. 0 where there are none.
  absl::StatusOr<uint64_t> Append(std::string_view bytes);

  // Room for `bytes` behind the block, all 0, which stays mapped here as long as the block. Returns
  // its offset.
  absl::StatusOr<uint64_t> AppendMapped(uint64_t bytes, void** mapped);

  // What the target finds the block by: the value of kControlVariable.
  std::string Path() const;

 private:
  SharedControl(UniqueFd fd, shared::ControlBlock* block) : fd_(std::move(fd)), block_(block) {}

  // Makes room behind the block and returns its offset.
  absl::StatusOr<uint64_t> MakeRoom(uint64_t bytes);

  UniqueFd fd_;
  shared::ControlBlock* block_;
  std::vector<std::pair<void*, uint64_t>> mapped_;  // with their bytes
  uint64_t end_ = sizeof(shared::ControlBlock);     // of the file
};

}  // namespace coz::supervisor

#endif  // COZ_SUPERVISOR_TARGET_SHARED_CONTROL_H_
