// The terminal report: what was run, then a ranked table for each progress point, then what was set
// aside and why.
//
// Shape    UTF-8 text, lines of at most `width` columns (the command and long notes excepted)
// Units    shares and gains in percent, slopes as fractions; intervals are 95 % ones, and ± is half
//          of one
// Errors   none: a profile without experiments or visits gets a text that says what to do
// Threads  safe: pure functions
// Signals  not async-signal-safe
// Source   docs/interpreting.md
#ifndef COZ_REPORT_TEXT_REPORT_TEXT_H_
#define COZ_REPORT_TEXT_REPORT_TEXT_H_

#include <string>

#include "coz/report/analysis/analysis.h"
#include "coz/report/analysis/experiment_table.h"
#include "coz/report/format/profile.pb.h"
#include "coz/report/format/profile_reader.h"

namespace coz::report {

struct TextOptions {
  int width = 100;
  // Prose is broken at `width`: for a terminal, not for a file that is searched by line.
  bool wrap = false;
  // Lines shown for each progress point, and lines named among those set aside; 0: all.
  int max_lines = 20;
  int max_set_aside = 5;
  // Verdicts and headings in colour, by escape sequences.
  bool color = false;
  // Below each line its verdict in words, what statistics say, and a row for each speedup tried;
  // commands that make the sessions again.
  bool verbose = false;
  // Of the profile, for commands that add to it; empty: the usual one.
  std::string path;
};

// Command, length, sampling, samples, notes; if verbose, how to make each session again.
std::string RenderHeader(const profile::Profile& profile, const ExperimentTable& table,
                         const Analysis& analysis, const ReadStats& stats,
                         const TextOptions& options = {});

// The notes alone: what the reader has to know to judge the figures.
std::string RenderNotes(const profile::Profile& profile, const ExperimentTable& table,
                        const Analysis& analysis, const ReadStats& stats);

// Tables and what was set aside, or what to do where nothing was measured.
std::string RenderPoints(const profile::Profile& profile, const ExperimentTable& table,
                         const Analysis& analysis, const TextOptions& options);

}  // namespace coz::report

#endif  // COZ_REPORT_TEXT_REPORT_TEXT_H_
