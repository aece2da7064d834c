// Writes the experiments of a profile as JSON lines, for DuckDB, ClickHouse, Spark and scripts.
//
// Shape    records in, in the order of the file; out comes an object a line: one for each progress
//          point that an experiment saw, or one without a point where it saw none. All lines have
//          the same fields (docs/export.md, "jsonl"). Memory in use: units, points and sessions,
//          and which experiments there were
// Units    in the names of the fields
// Errors   none; what is not known is null. An experiment that comes twice is written once
// Threads  compatible
// Signals  not async-signal-safe
// Source   profile.proto
#ifndef COZ_REPORT_EXCHANGE_EXPORT_JSONL_H_
#define COZ_REPORT_EXCHANGE_EXPORT_JSONL_H_

#include <cstdint>
#include <ostream>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/container/node_hash_map.h"
#include "coz/report/format/profile.pb.h"

namespace coz::report {

class JsonLinesExporter {
 public:
  explicit JsonLinesExporter(std::ostream* out) : out_(*out) {}

  void Add(const profile::Profile& records);

 private:
  using SessionAndId = std::pair<uint64_t, uint32_t>;
  struct Session {
    profile::Session session;
    profile::Binary program;  // its first binary
  };

  void AddExperiment(const profile::Experiment& experiment);

  std::ostream& out_;
  absl::node_hash_map<uint64_t, Session> sessions_;
  absl::node_hash_map<SessionAndId, profile::Unit> units_;
  absl::node_hash_map<SessionAndId, profile::ProgressPoint> points_;
  absl::flat_hash_set<SessionAndId> seen_;
};

}  // namespace coz::report

#endif  // COZ_REPORT_EXCHANGE_EXPORT_JSONL_H_
