#include "coz/supervisor/points/image_breakpoints.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/status/statusor.h"
#include "coz/base/clock.h"

namespace coz::supervisor {
namespace {

bool HasOtherCodeAt(const ImageProcess& process, uint64_t address) {
  return std::any_of(
      process.mapped.begin(), process.mapped.end(),
      [address](const MappedCode& code) { return code.start <= address && address < code.end; });
}

// Whether nothing else would be counted there.
bool IsFree(uint64_t address, const std::vector<uint64_t>& addresses,
            const std::vector<ImageProcess>& processes) {
  for (size_t i = 0; i < processes.size(); ++i) {
    if (addresses[i] != address && HasOtherCodeAt(processes[i], address)) return false;
  }
  return true;
}

}  // namespace

absl::Status ImageBreakpoints::Reserve() {
  absl::StatusOr<points::VisitCounter> counter =
      points::VisitCounter::ForBreakpoint(first_, with_children_);
  if (!counter.ok()) return counter.status();
  shared_.push_back({first_, kNoPlace, 0, 0, *std::move(counter)});
  return absl::OkStatus();
}

absl::Status ImageBreakpoints::Move(Breakpoint* breakpoint, uint64_t address) {
  if (breakpoint->address == address) return absl::OkStatus();
  breakpoint->address = address;
  if (address == 0) {
    breakpoint->counter.Disarm();
    return absl::OkStatus();
  }
  was_set_ = true;
  absl::Status status = breakpoint->counter.Arm(address);
  if (!status.ok()) breakpoint->address = 0;
  return status;
}

ImageBreakpoints::Breakpoint* ImageBreakpoints::Shared(size_t place, bool is_in_first,
                                                       absl::Status* status) {
  for (const size_t wanted : {place, kNoPlace}) {
    for (Breakpoint& breakpoint : shared_) {
      if (breakpoint.place != wanted) continue;
      breakpoint.place = place;
      return &breakpoint;
    }
  }
  if (!is_in_first) return nullptr;
  absl::StatusOr<points::VisitCounter> counter =
      points::VisitCounter::ForBreakpoint(first_, with_children_);
  *status = counter.status();
  if (!counter.ok()) return nullptr;
  shared_.push_back({first_, place, 0, MonotonicNowNs(), *std::move(counter)});
  return &shared_.back();
}

// Children begin with what the first process has loaded, so its address comes first; then the
// address until now, then the one that most have.
uint64_t ImageBreakpoints::CommonAddress(const Addresses& addresses, uint64_t until_now,
                                         const std::vector<ImageProcess>& processes) const {
  uint64_t best = 0;
  std::ptrdiff_t most = 0;
  for (size_t i = 0; i < processes.size(); ++i) {
    const uint64_t address = addresses[i];
    if (address == 0 || !IsFree(address, addresses, processes)) continue;
    if (processes[i].pid == first_) return address;
    const std::ptrdiff_t count = address == until_now
                                     ? std::numeric_limits<std::ptrdiff_t>::max()
                                     : std::count(addresses.begin(), addresses.end(), address);
    if (count <= most) continue;
    best = address;
    most = count;
  }
  return best;
}

void ImageBreakpoints::DropOwn(pid_t process, size_t place) {
  for (auto own = own_.begin(); own != own_.end(); ++own) {
    if (own->pid != process || own->place != place) continue;
    own->counter.Disarm();
    visits_before_ += own->counter.Read();
    own_.erase(own);
    return;
  }
}

void ImageBreakpoints::DropOwnOfEnded(const std::vector<ImageProcess>& processes) {
  const auto ended = std::partition(own_.begin(), own_.end(), [&](const Breakpoint& own) {
    return std::any_of(processes.begin(), processes.end(),
                       [&own](const ImageProcess& process) { return process.pid == own.pid; });
  });
  for (auto own = ended; own != own_.end(); ++own) visits_before_ += own->counter.Read();
  own_.erase(ended, own_.end());
}

absl::Status ImageBreakpoints::SetOwn(pid_t process, size_t place, uint64_t address) {
  for (Breakpoint& own : own_) {
    if (own.pid == process && own.place == place) return Move(&own, address);
  }
  // Without its children: a child that inherited it looks the same as an older one.
  absl::StatusOr<points::VisitCounter> counter =
      points::VisitCounter::ForBreakpoint(process, false);
  // It has ended just now.
  if (absl::IsNotFound(counter.status())) return absl::OkStatus();
  if (!counter.ok()) return counter.status();
  own_.push_back({process, place, 0, 0, *std::move(counter)});
  return Move(&own_.back(), address);
}

absl::Status ImageBreakpoints::SetPlace(size_t place, const Addresses& addresses,
                                        const std::vector<ImageProcess>& processes) {
  bool is_in_first = false;
  for (size_t i = 0; i < processes.size(); ++i) {
    is_in_first |= processes[i].pid == first_ && addresses[i] != 0;
  }
  absl::Status status;
  Breakpoint* shared = Shared(place, is_in_first, &status);
  const uint64_t common =
      shared == nullptr ? 0 : CommonAddress(addresses, shared->address, processes);
  const uint64_t since_ns = shared == nullptr ? 0 : shared->since_ns;
  const auto needs_own = [&](size_t i) {
    if (addresses[i] == 0) return false;
    return addresses[i] != common ||
           (processes[i].pid != first_ && processes[i].start_ns < since_ns);
  };
  // Nothing is counted twice, not for a moment.
  for (size_t i = 0; i < processes.size(); ++i) {
    if (!needs_own(i)) DropOwn(processes[i].pid, place);
  }
  if (shared != nullptr) status.Update(Move(shared, common));
  for (size_t i = 0; i < processes.size() && status.ok(); ++i) {
    if (needs_own(i)) status.Update(SetOwn(processes[i].pid, place, addresses[i]));
  }
  return status;
}

// Of a process that may not be looked into any more, or has just ended.
uint64_t ImageBreakpoints::AddressUntilNow(size_t place, pid_t process) const {
  for (const auto* breakpoints : {&own_, &shared_}) {
    for (const Breakpoint& breakpoint : *breakpoints) {
      if (breakpoint.place != place) continue;
      if (breakpoints == &shared_ || breakpoint.pid == process) return breakpoint.address;
    }
  }
  return 0;
}

absl::Status ImageBreakpoints::Set(const std::vector<PlaceInFile>& places,
                                   const std::vector<ImageProcess>& processes) {
  DropOwnOfEnded(processes);
  absl::Status status;
  for (size_t place = 0; place < places.size(); ++place) {
    Addresses addresses;
    for (const ImageProcess& process : processes) {
      addresses.push_back(
          RuntimeAddress(process.mapped, places[place].file, places[place].code.file_offset));
    }
    status.Update(SetPlace(place, addresses, processes));
  }
  return status;
}

uint64_t ImageBreakpoints::Read() const {
  uint64_t visits = visits_before_;
  for (const Breakpoint& breakpoint : shared_) visits += breakpoint.counter.Read();
  for (const Breakpoint& breakpoint : own_) visits += breakpoint.counter.Read();
  return visits;
}

std::vector<uint64_t> ImageBreakpoints::AddressesIn(pid_t process) const {
  std::vector<uint64_t> addresses;
  for (const Breakpoint& breakpoint : shared_) {
    if (breakpoint.address != 0) addresses.push_back(breakpoint.address);
  }
  for (const Breakpoint& breakpoint : own_) {
    if (breakpoint.pid == process) addresses.push_back(breakpoint.address);
  }
  return addresses;
}

std::vector<int> ImageBreakpoints::Descriptors() const {
  std::vector<int> descriptors;
  for (const auto* breakpoints : {&shared_, &own_}) {
    for (const Breakpoint& breakpoint : *breakpoints) {
      for (const int fd : breakpoint.counter.Descriptors()) descriptors.push_back(fd);
    }
  }
  return descriptors;
}

}  // namespace coz::supervisor
