// Whether a process belongs to the profile. The target writes process numbers into the control
// block, and could name any. The kernel tells who has mapped the block.
//
// Shape    an answer for a process slot, which is kept for a second
// Units    ns of CLOCK_MONOTONIC
// Errors   a process that may not be looked into does not belong to it
// Threads  compatible
// Signals  not safe
// Source   proc(5), /proc/PID/maps
#ifndef COZ_SUPERVISOR_TARGET_TREE_MEMBERS_H_
#define COZ_SUPERVISOR_TARGET_TREE_MEMBERS_H_

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>

#include "coz/shared/control_block.h"

namespace coz::supervisor {

// Whether the process has mapped the block at this moment. A block in memory that is not shared is
// the calling process's own.
bool HasMapped(const shared::ControlBlock& control, pid_t pid);

class TreeMembers {
 public:
  // The same as of at most a second ago. To be asked of a process that has a slot and is not in an
  // exec.
  bool Has(const shared::ControlBlock& control, uint32_t slot, pid_t pid, uint64_t now_ns);

 private:
  struct Answer {
    pid_t pid = 0;
    bool is_member = false;
    uint64_t until_ns = 0;
  };
  const shared::ControlBlock* block_ = nullptr;  // of which `file_` is
  std::string file_;
  std::map<uint32_t, Answer> answers_;  // by slot
};

}  // namespace coz::supervisor

#endif  // COZ_SUPERVISOR_TARGET_TREE_MEMBERS_H_
