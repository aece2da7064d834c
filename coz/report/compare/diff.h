// Compares two profiles of a program: what became faster, and which lines gained or lost
// importance.
//
// Shape    a PointDiff for each progress point of either; each unit that has a slope in one of them
//          is in one LineDiff. Of a unit that is small in the other one (its samples alone tell
//          that it brings nothing), the limit is known there
// Units    fractions; slopes as in analysis.h
// Errors   none: what one side lacks is absent
// Threads  safe
// Signals  not async-signal-safe
// Source   docs/compare.md
//
// Which unit is which: unit_match.h.
#ifndef COZ_REPORT_COMPARE_DIFF_H_
#define COZ_REPORT_COMPARE_DIFF_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "coz/report/analysis/analyzed_profile.h"
#include "coz/report/wording/headline.h"
#include "nlohmann/json_fwd.hpp"

namespace coz::report {

enum class Change { kGained, kLost, kUnchanged, kCannotTell, kNew, kGone };

struct LineDiff {
  Change change = Change::kCannotTell;
  std::string before_name;  // with its whole path; empty: only in the other profile
  std::string after_name;
  std::string function;
  std::string before_file;
  std::string after_file;
  uint32_t before_line = 0;  // 0: none
  uint32_t after_line = 0;
  std::string before_shown;  // as the report shows it
  std::string after_shown;
  std::string shown_detail;
  // As the report shows it: "+18 % (17 to 19), nothing more beyond 50 %"; empty: no figure.
  std::string before_gain;
  std::string after_gain;
  std::optional<Headline> before_headline;
  std::optional<Headline> after_headline;
  // Slopes, by which `change` is told. Of a unit that was not tried, or that its samples tell of,
  // there is no difference: its gain is somewhere between nothing and the limit.
  std::optional<Estimate> before;
  std::optional<Estimate> after;
  std::optional<Estimate> difference;
};

struct PointDiff {
  std::string name;
  bool is_latency = false;
  bool is_in_before = false;
  bool is_in_after = false;
  std::optional<Estimate> time_before;  // ns per visit; none where there are too few baselines
  std::optional<Estimate> time_after;
  std::optional<Estimate> gain;  // of time per visit
  std::vector<LineDiff> lines;   // gained and lost ones first, by size of the difference
};

struct ProfileDiff {
  bool is_measured = true;  // in both
  std::string before_path;
  std::string after_path;
  // What is tried: "line" and "lines", "function" and "functions"...
  std::string unit_word = "line";
  std::string unit_words = "lines";
  // Sentences: where they are of different units (then no unit is compared), look like those of
  // different programs, or have files of which it is not clear which is which; then caveats.h.
  std::vector<std::string> notes;
  std::vector<PointDiff> points;  // most visited first
};

ProfileDiff Compare(const AnalyzedProfile& before, const AnalyzedProfile& after);

// "gained", "lost", "unchanged", "cannot_tell", "new", "gone".
const char* ChangeId(Change change);

// `max_lines` of each point; 0: all. A table that is wider than `width` columns is told in two rows
// for each line; 0: it may have any width.
std::string DiffText(const ProfileDiff& diff, size_t max_lines, int width = 0);
// For a comment on a pull request.
std::string DiffMarkdown(const ProfileDiff& diff, size_t max_lines);
nlohmann::ordered_json DiffJson(const ProfileDiff& diff);

}  // namespace coz::report

#endif  // COZ_REPORT_COMPARE_DIFF_H_
