// What a profile counts in the whole run: in its experiments, in its bare intervals and in between.
//
// Shape    sums by name; a test that leaves one kind of record out is right only while no such
//          record is written
// Units    visits, samples
// Errors   a point that the profile does not have fails the test and counts 0
// Threads  compatible
// Signals  none
// Source   coz/report/format/profile.proto
#ifndef COZ_TESTING_WHOLE_RUN_H_
#define COZ_TESTING_WHOLE_RUN_H_

#include <cstdint>
#include <map>
#include <string>

#include "coz/report/format/profile.pb.h"

namespace coz::testing {

const profile::ProgressPoint& FindPoint(const profile::Profile& profile, const std::string& name);

// Visits, or arrivals of a latency point.
uint64_t VisitsInRun(const profile::Profile& profile, const std::string& point);
uint64_t DeparturesInRun(const profile::Profile& profile, const std::string& point);

// By the functions of their units.
std::map<std::string, uint64_t> SamplesInRun(const profile::Profile& profile);
// By the lines of their units, of whatever file.
std::map<uint32_t, uint64_t> SamplesOfLinesInRun(const profile::Profile& profile);

}  // namespace coz::testing

#endif  // COZ_TESTING_WHOLE_RUN_H_
