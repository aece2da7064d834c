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
#include "coz/report/analysis/programs_run.h"
#include "coz/report/format/profile.pb.h"
#include "coz/report/wording/next_command.h"

namespace coz::report {

enum class MissingPart {
  kSuccess,        // the program failed early
  kRuntime,        // the program did not load the preload library
  kTable,          // the program could not be given a line table
  kUnit,           // no binary has code of the unit that was asked for
  kPoint,          // no progress point was seen
  kVisit,          // none was visited
  kSample,         // the program used hardly any CPU time, or has no wait that can be sped up
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
  bool is_attached = false;
  bool has_ended = false;              // the target, by itself
  bool has_short_experiments = false;  // as short as can be advised
  std::string command;                 // of the target
  NextCommands next;
  std::string failure;  // kSuccess: a clause
  ProgramsRun programs;
  std::vector<std::string> points;  // kVisit: names of the known ones
  std::string unit;                 // kUnit
  std::string binary;               // kTable
  std::string why_no_table;         // kTable: a clause
  // kSample: where waits were to be sped up, by lines, whose samples are of CPU time. Else empty.
  std::string by_line;
  // kSampleInScope: by libraries, which need no symbols, where functions of some that were named
  // were looked for. Else empty.
  std::string by_library;
};

// As far as a profile tells.
NothingContext ContextOf(const profile::Profile& profile);

NothingMeasured Explain(MissingPart missing, const NothingContext& context);

// The same of a profile; nullopt where something was measured.
std::optional<NothingMeasured> FindNothingMeasured(const profile::Profile& profile,
                                                   const ExperimentTable& table,
                                                   const Analysis& analysis);

// "nothing was measured: no progress point was visited; the program has requests; give it ...".
std::string OneSentence(const NothingMeasured& nothing);

}  // namespace coz::report

#endif  // COZ_REPORT_WORDING_NOTHING_MEASURED_H_
