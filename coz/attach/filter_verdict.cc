#include "coz/attach/filter_verdict.h"

#include <linux/seccomp.h>

#include <string>

#include "absl/strings/str_format.h"
#include "coz/attach/process_view.h"

namespace coz::attach {

namespace {

int64_t CountIn(const StatusFields& status) {
  const bool is_strict = NumberIn(status, "Seccomp", 0) == SECCOMP_MODE_STRICT;
  return is_strict ? kStrictMode : NumberIn(status, "Seccomp_filters", 0);
}

}  // namespace

int64_t CountFiltersOf(pid_t pid, pid_t tid) { return CountIn(ReadThreadStatus(pid, tid)); }

std::map<pid_t, int64_t> CountFilters(pid_t pid) {
  std::map<pid_t, int64_t> counts;
  for (const pid_t tid : ReadThreads(pid)) {
    const StatusFields status = ReadThreadStatus(pid, tid);
    if (!status.empty()) counts[tid] = CountIn(status);
  }
  return counts;
}

absl::Status WhyNotUnderFilters(const FilterFacts& facts) {
  const auto own = facts.counts.find(facts.stopped);
  const int64_t count = own == facts.counts.end() ? 0 : own->second;
  for (const auto& [tid, of_thread] : facts.counts) {
    if (of_thread == count) continue;
    return absl::FailedPreconditionError(absl::StrFormat(
        "cannot attach to process %d: its threads %d and %d have different filters of system "
        "calls, as sandboxes have; see: grep Seccomp /proc/%d/task/*/status",
        facts.pid, facts.stopped, tid, facts.pid));
  }
  if (count == kStrictMode) {
    return absl::FailedPreconditionError(absl::StrFormat(
        "cannot attach to process %d: the strict mode of its system calls (Seccomp: 1) would end "
        "it; start it without that under: coz run --- PROGRAM",
        facts.pid));
  }
  if (!facts.filters.ok()) {
    if (facts.has_only_filters_of_container) return absl::OkStatus();
    return absl::FailedPreconditionError(absl::StrFormat(
        "cannot attach to process %d: it has restricted its own system calls, and %s; type: sudo "
        "coz attach %d",
        facts.pid, facts.filters.status().message(), facts.pid));
  }
  const std::string unsafe = UnsafeCall(*facts.filters);
  if (unsafe.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrFormat(
      "cannot attach to process %d: a filter of its system calls would end it where coz makes it "
      "call %s; start it without that under: coz run --- PROGRAM",
      facts.pid, unsafe));
}

}  // namespace coz::attach
