#include "coz/supervisor/run/point_requests.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "coz/base/command_name.h"
#include "coz/experiment/target.h"

namespace coz::supervisor {

void PointRequests::Open(const std::vector<pid_t>& processes) {
  absl::StatusOr<SessionSocket> opened = SessionSocket::Open(processes);
  if (opened.ok()) socket_.emplace(*std::move(opened));
}

// A row for each point: its name, how it is counted, since when, and its visits, by tabs.
std::string PointRequests::List() const {
  std::string rows;
  const std::vector<experiment::PointCounts> counts = target_->CountPoints();
  for (uint32_t id = 0; id < counts.size(); ++id) {
    if (!outside_->IsThere(id)) continue;
    const LiveTarget::Point& point = target_->points()[id];
    const auto came = came_ns_.find(id);
    const std::string since =
        came == came_ns_.end()
            ? "the start"
            : absl::StrFormat("%.1f s", static_cast<double>(came->second - start_ns_) / 1e9);
    absl::StrAppend(&rows, point.name, "\t",
                    point.counted_by.empty() ? "mark in the source" : point.counted_by, "\t", since,
                    "\t", counts[id].visits + counts[id].departures, "\n");
  }
  return rows;
}

void PointRequests::TakeOutcome(const Record& record) {
  const std::optional<absl::StatusOr<PointCame>> outcome = outside_->TakeOutcome();
  if (!outcome.has_value()) return;
  const SessionRequest asked = std::move(waiting_.front());
  waiting_.pop_front();
  if (!outcome->ok()) return socket_->Answer(asked.client, outcome->status());
  const PointCame& came = **outcome;
  if (came.added) came_ns_[came.point] = came.at_ns;
  record(came);
  socket_->Answer(asked.client, came.said);
}

void PointRequests::BeginNext(shared::ControlBlock& control, bool is_over) {
  while (!waiting_.empty() && !outside_->is_changing()) {
    const SessionRequest& next = waiting_.front();
    absl::Status status = absl::FailedPreconditionError(absl::StrCat(
        "the session measures nothing any more; start another one with: ", ProfilingCommand("")));
    if (!is_over) {
      status = next.verb == "add" ? outside_->BeginToAdd(control, next.text)
                                  : outside_->BeginToRemove(control, next.text);
    }
    if (status.ok()) return;
    socket_->Answer(next.client, status);
    waiting_.pop_front();
  }
}

void PointRequests::Poll(shared::ControlBlock& control, bool is_over, const Record& record) {
  if (!socket_.has_value()) return;
  TakeOutcome(record);
  for (SessionRequest& request : socket_->Take()) {
    if (request.verb == "list") {
      socket_->Answer(request.client, List());
    } else if (request.verb == "add" || request.verb == "remove") {
      waiting_.push_back(std::move(request));
    } else {
      socket_->Answer(request.client,
                      absl::UnimplementedError(absl::StrFormat(
                          "the session is of another version of coz, which does not know '%s'; "
                          "ask it with that version",
                          request.verb)));
    }
  }
  BeginNext(control, is_over);
}

}  // namespace coz::supervisor
