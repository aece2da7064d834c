// Puts any number of profiles of one program into one file.
//
// Shape    record by record, in the order of the inputs: one record in memory at a time, and the id
//          of each session. A session that an earlier input had is left out, so that the same
//          profile given twice counts once
// Units    none
// Errors   those of reading and writing; FAILED_PRECONDITION when two inputs are of different
//          programs (by build-id, else by path), when only one is imported, or when they were made
//          with different --given, naming both files, or when a compact profile holds some sessions
//          of an earlier input, but not all. The output file then stays as it was; a stream may
//          have a part
// Threads  compatible
// Signals  not async-signal-safe
// Source   profile.proto: concatenated profiles merge
#ifndef COZ_REPORT_FORMAT_MERGE_H_
#define COZ_REPORT_FORMAT_MERGE_H_

#include <cstdint>
#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "coz/report/format/profile.pb.h"

namespace coz::report {

// Gets all records that the output would have, and gives those that it has instead.
class MergeFilter {
 public:
  using Sink = std::function<absl::Status(const profile::Profile& record)>;

  virtual ~MergeFilter() = default;
  virtual void Add(const profile::Profile& record) = 0;
  virtual void EndInput() = 0;
  // Called once, after the last input. Ends with the first error of the sink.
  virtual absl::Status Finish(const Sink& sink) = 0;
};

struct MergeOptions {
  std::vector<std::string> inputs;
  std::string output;              // a file's path
  std::ostream* stream = nullptr;  // written instead of the file, if there is one
  bool any_program = false;        // do not ask whether it is the same program
  MergeFilter* filter = nullptr;
};

struct MergeResult {
  uint64_t sessions = 0;
  uint64_t experiments = 0;
  uint64_t repeated_sessions = 0;
  uint64_t bytes = 0;
  uint64_t noted_inputs = 0;       // damaged or cut ones
  std::vector<std::string> notes;  // "FILE: ..." of the first of them
};

absl::StatusOr<MergeResult> MergeProfiles(const MergeOptions& options);

}  // namespace coz::report

#endif  // COZ_REPORT_FORMAT_MERGE_H_
