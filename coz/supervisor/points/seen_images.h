// Which programs have attached, by their numbers (ProcessSlot::image).
//
// Shape    a set that only grows, up to kMost: a process may write any number, and ever another
// Units    numbers of programs
// Errors   none
// Threads  compatible
// Signals  not safe
// Source   none
#ifndef COZ_SUPERVISOR_POINTS_SEEN_IMAGES_H_
#define COZ_SUPERVISOR_POINTS_SEEN_IMAGES_H_

#include <cstddef>
#include <cstdint>
#include <set>

namespace coz::supervisor {

class SeenImages {
 public:
  static constexpr size_t kMost = 1 << 20;

  // Whether it is new, and there is room.
  bool Insert(uint32_t image) { return !is_full() && images_.insert(image).second; }
  // What is new is no longer told.
  bool is_full() const { return images_.size() >= kMost; }

 private:
  std::set<uint32_t> images_;
};

}  // namespace coz::supervisor

#endif  // COZ_SUPERVISOR_POINTS_SEEN_IMAGES_H_
