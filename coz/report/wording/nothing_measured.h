// Where a run has no figures: why, and what to do about it. Report, plot and `coz run` all tell it
// in these words.
//
// Shape    what was missing and the remedy: clauses without a capital and a full stop
// Units    none
// Errors   none
// Threads  safe: pure functions
// Signals  not async-signal-safe
// Source   none
#ifndef COZ_REPORT_WORDING_NOTHING_MEASURED_H_
#define COZ_REPORT_WORDING_NOTHING_MEASURED_H_

#include <optional>
#include <string>
#include <vector>

#include "coz/report/analysis/analysis.h"
#include "coz/report/analysis/experiment_table.h"
#include "coz/report/format/profile.pb.h"

namespace coz::report {

enum class MissingPart {
  kRuntime,        // the program did not load the preload library
  kTable,          // the program could not be given a line table
  kUnit,           // no binary has code of the unit that was asked for
  kPoint,          // no progress point was seen
  kVisit,          // none was visited
  kSample,         // the program used hardly any CPU time
  kSampleInScope,  // it used it elsewhere
  kChoice,         // one experiment per run, and the run ended before its unit was chosen
  kExperiment,     // the run ended before an experiment did
};

struct NothingMeasured {
  std::string what;    // "no progress point was visited"
  std::string remedy;  // "the program has requests; give it work that reaches one ..."
};

// What the words depend on.
struct NothingContext {
  std::string command;              // of the target, for commands to copy
  std::string attach;               // `coz attach` with the session's options; empty: coz ran it
  std::vector<std::string> points;  // kVisit: names of the known ones
  std::string unit;                 // kUnit
  std::string binary;               // kTable
  std::string why_no_table;         // kTable: a clause
};

NothingMeasured Explain(MissingPart missing, const NothingContext& context);

// As far as a profile tells; nullopt where something was measured.
std::optional<NothingMeasured> FindNothingMeasured(const profile::Profile& profile,
                                                   const ExperimentTable& table,
                                                   const Analysis& analysis);

// "nothing was measured: no progress point was visited; the program has requests; give it ...".
std::string OneSentence(const NothingMeasured& nothing);

}  // namespace coz::report

#endif  // COZ_REPORT_WORDING_NOTHING_MEASURED_H_
