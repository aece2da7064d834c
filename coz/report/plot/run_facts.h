// The summary of the HTML report: what was run, on what, how it was sampled, and how to run it
// again.
//
// Shape    JSON objects; see plot_data.h
// Units    seconds, milliseconds where the name says so
// Errors   none
// Threads  safe
// Signals  not async-signal-safe
// Source   docs/interpreting.md
#ifndef COZ_REPORT_PLOT_RUN_FACTS_H_
#define COZ_REPORT_PLOT_RUN_FACTS_H_

#include "coz/report/analysis/analysis.h"
#include "coz/report/analysis/experiment_table.h"
#include "coz/report/format/profile.pb.h"
#include "nlohmann/json.hpp"

namespace coz::report {

// `end` may be nullptr. {command, folder, start, host, kernel, cpu, cpus, sampling, fallback,
// given, seed, seconds, version, end, again}
nlohmann::json SessionFacts(const profile::Profile& profile, const profile::Session& session,
                            const profile::SessionEnd* end);

// {seconds, experiments, baselines, samples, in_scope, unmapped, lost}
nlohmann::json RunFacts(const ExperimentTable& table, const Analysis& analysis);

}  // namespace coz::report

#endif  // COZ_REPORT_PLOT_RUN_FACTS_H_
