// The monitors at which a thread has waited lately (meeting.h).
//
// Shape    one per thread; all zero at first
// Units    ns of CLOCK_MONOTONIC
// Errors   of more than kMonitors at a time the one that was waited at first is forgotten
// Threads  the owner's only
// Signals  async-signal-safe; what a handler of the same thread notes may be lost
// Source   docs/design/waits-and-credit.md, "Meetings"
#ifndef COZ_SYNC_DELAY_WAITED_MONITORS_H_
#define COZ_SYNC_DELAY_WAITED_MONITORS_H_

#include <cstdint>

namespace coz::delay {

class WaitedMonitors {
 public:
  static constexpr int kMonitors = 4;
  // A wait counts for this long, and in its own experiment alone: in the one before, another unit
  // may have made the thread wait.
  static constexpr uint64_t kLastsNs = 500'000'000;

  void Note(const void* monitor, uint64_t selection, uint64_t now_ns) {
    Place* place = &places_[0];
    for (Place& other : places_) {
      if (other.monitor == monitor) {
        place = &other;
        break;
      }
      if (other.waited_ns < place->waited_ns) place = &other;
    }
    *place = {monitor, selection, now_ns};
  }
  bool HasWaited(const void* monitor, uint64_t selection, uint64_t now_ns) const {
    for (const Place& place : places_) {
      if (place.monitor != monitor) continue;
      return place.selection == selection && now_ns - place.waited_ns < kLastsNs;
    }
    return false;
  }

 private:
  struct Place {
    const void* monitor;
    uint64_t selection;  // the ledger's at that time
    uint64_t waited_ns;
  };
  Place places_[kMonitors];
};

}  // namespace coz::delay

#endif  // COZ_SYNC_DELAY_WAITED_MONITORS_H_
