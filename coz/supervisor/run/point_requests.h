// Answers what `coz points --session` asks of a session: which points it has, and to add and remove
// some.
//
// Shape    one change at a time, in the order in which they were asked for; lists at once
// Units    ns of CLOCK_MONOTONIC; visits
// Errors   told to who asked; a session that nobody can find goes on without
// Threads  compatible
// Signals  none
// Source   docs/design/points.md, "Added while the program runs"
#ifndef COZ_SUPERVISOR_RUN_POINT_REQUESTS_H_
#define COZ_SUPERVISOR_RUN_POINT_REQUESTS_H_

#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "coz/shared/control_block.h"
#include "coz/supervisor/points/outside_points.h"
#include "coz/supervisor/session/session_socket.h"
#include "coz/supervisor/target/live_target.h"

namespace coz::supervisor {

class PointRequests {
 public:
  using Record = std::function<void(const PointCame& came)>;

  // `start_ns`: of the session.
  PointRequests(OutsidePoints* outside, const LiveTarget* target, uint64_t start_ns)
      : outside_(outside), target_(target), start_ns_(start_ns) {}

  // From now on the session is found by any of these processes.
  void Open(const std::vector<pid_t>& processes);
  // Readable when there is something to do; -1: never.
  int fd() const { return socket_.has_value() ? socket_->fd() : -1; }
  bool is_changing() const { return outside_->is_changing(); }

  // `is_over`: nothing is measured any more. Calls `record` for each change, when it is made.
  void Poll(shared::ControlBlock& control, bool is_over, const Record& record);

 private:
  std::string List() const;
  void TakeOutcome(const Record& record);
  void BeginNext(shared::ControlBlock& control, bool is_over);

  OutsidePoints* outside_;
  const LiveTarget* target_;
  uint64_t start_ns_;
  std::optional<SessionSocket> socket_;
  std::deque<SessionRequest> waiting_;  // the first is under way, if one is
  std::map<uint32_t, uint64_t> came_ns_;
};

}  // namespace coz::supervisor

#endif  // COZ_SUPERVISOR_RUN_POINT_REQUESTS_H_
