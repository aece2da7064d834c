// The sums of the sessions that are alike but for their times, and how they are written.
//
// Shape    Group: one for each machine, program and way to profile it
// Units    as profile.proto; units and points by their number in Names
// Errors   none
// Threads  compatible
// Signals  not async-signal-safe
// Source   docs/fleet.md
#ifndef COZ_REPORT_COMPACT_POOLED_GROUP_H_
#define COZ_REPORT_COMPACT_POOLED_GROUP_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "coz/report/format/profile.pb.h"

namespace coz::report {

// Stable over processes and versions, unlike absl::Hash.
uint64_t Hash(absl::string_view bytes, uint64_t hash = 0xcbf29ce484222325u);
uint64_t Hash(uint64_t value, uint64_t hash);

// The first `bits` of a hash, never 0: that would be no block.
uint64_t Prefix(uint64_t hash, uint32_t bits);

using UnitCounts = std::map<uint32_t, uint64_t>;

struct PooledExperiment {
  profile::Experiment sum;  // without samples of units and points
  UnitCounts samples;
  std::map<uint32_t, profile::PointCounts> points;
};

struct PooledBare {
  profile::BareInterval sum;
  std::map<uint32_t, profile::PointCounts> points;
};

// Of what makes experiments one sum: block, unit, speedup, taints, and what was active.
using PoolKey = std::tuple<uint64_t, uint32_t, int, uint32_t, uint64_t>;
using BareKey = std::pair<uint64_t, uint32_t>;

struct Group {
  profile::Session session;
  std::set<uint64_t> sessions;
  profile::Binary binary;
  bool has_binary = false;
  profile::SessionEnd end;  // without own waits
  // ns, by the OwnWait without them.
  std::map<std::string, uint64_t> own_waits;
  std::map<PoolKey, PooledExperiment> experiments;
  std::map<BareKey, PooledBare> bare;
  std::map<BareKey, PooledExperiment> controls;
  // Outside experiments, or of use for totals alone.
  profile::SampleCounts outside;
  UnitCounts outside_samples;
  UnitCounts spinning_samples;  // in experiments, too
  std::map<uint32_t, profile::PointCounts> outside_points;
};

void AddOwnWaits(const profile::SessionEnd& end, Group* group);

// Adds all of `one`; the session of `sum` is its own.
void Combine(const Group& one, Group* sum);
void Combine(const PooledExperiment& one, PooledExperiment* sum);
void Combine(const PooledBare& one, PooledBare* sum);

// Puts blocks together whose numbers begin with the same `bits`.
void ShortenBlocks(uint32_t bits, Group* group);

// The name of a unit or point, as the table of experiments tells them apart.
template <typename Record>
std::string NameOf(Record record) {
  record.clear_session();
  record.clear_id();
  std::string bytes;
  record.SerializeToString(&bytes);
  return bytes;
}

// A name's number, and the record without session and number.
template <typename Record>
struct Names {
  absl::flat_hash_map<std::string, uint32_t> numbers;
  std::vector<Record> records;
  std::vector<uint64_t> hashes;

  uint32_t Of(const Record& record) {
    std::string name = NameOf(record);
    const auto [found, added] = numbers.try_emplace(name, records.size());
    if (added) {
      records.push_back(record);
      hashes.push_back(Hash(name));
    }
    return found->second;
  }
};

// Writes groups as sessions of a profile. The ids of units and points do not depend on the order of
// the inputs.
class GroupWriter {
 public:
  GroupWriter(const Names<profile::Unit>& units, const Names<profile::ProgressPoint>& points);

  void Write(uint64_t session, const Group& group, profile::Profile* record) const;

 private:
  // All but the figures, and the unit.
  void WritePooled(uint64_t session, uint64_t block, const PooledExperiment& one,
                   profile::Experiment* written) const;
  void WriteNames(uint64_t session, const Group& group, profile::Profile* record) const;
  template <typename Record>
  void WritePoints(const std::map<uint32_t, profile::PointCounts>& from, Record* to) const;

  const Names<profile::Unit>& units_;
  const Names<profile::ProgressPoint>& points_;
  std::vector<uint32_t> unit_ids_;  // by number
  std::vector<uint32_t> point_ids_;
};

}  // namespace coz::report

#endif  // COZ_REPORT_COMPACT_POOLED_GROUP_H_
