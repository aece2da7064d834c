#include "coz/report/text/annotate.h"

#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "coz/report/analysis/analysis.h"
#include "coz/report/analysis/analyzed_profile.h"
#include "coz/report/analysis/experiment_table.h"
#include "coz/report/format/profile.pb.h"
#include "coz/report/wording/find_source.h"
#include "coz/report/wording/headline.h"
#include "coz/report/wording/repeat_command.h"
#include "coz/report/wording/text_layout.h"
#include "coz/report/wording/unit_names.h"
#include "coz/report/wording/verdict.h"

namespace coz::report {
namespace {

constexpr int kGainWidth = 18;
constexpr int kMarginWidth = kGainWidth + 27;

struct LineNote {
  uint64_t samples = 0;
  const LineAnalysis* analysis = nullptr;
  // Of a line that is set aside; empty where there is nothing to say.
  std::optional<Verdict> word;
  std::string gain;
};

// The one file of the profile that the user means.
absl::StatusOr<std::string> FindFile(const ExperimentTable& table, const profile::Profile& profile,
                                     const AnnotateOptions& options) {
  std::set<std::string> matches;
  std::set<std::string> known;
  for (const UnitRow& unit : table.units) {
    if (unit.kind != profile::UNIT_KIND_LINE) continue;
    known.insert(unit.file);
    if (MatchesName(options.file, unit.file)) matches.insert(unit.file);
  }
  if (matches.size() == 1) return *matches.begin();
  if (matches.size() > 1) {
    return absl::InvalidArgumentError(
        absl::StrCat(Printable(options.file), " fits ", matches.size(), " files of the profile (",
                     Printable(absl::StrJoin(matches, ", ")), "); give more of the path"));
  }
  const std::vector<std::string> names(known.begin(), known.end());
  const bool has_lines = !known.empty() || table.units.empty();
  if (!has_lines) {
    return absl::NotFoundError(
        absl::StrCat("the profile has no lines of ", Printable(options.file),
                     ", for its units are ", PluralOf(UnitNames(table).word()),
                     WithItsCommand("; profile again with `coz run --unit=line`", profile)));
  }
  const std::string hint =
      options.suggest != nullptr && !names.empty()
          ? options.suggest(options.file, names)
          : WithItsCommand("; profile again with `coz run --source-scope=%`", profile);
  return absl::NotFoundError(
      absl::StrCat("the profile has no sample in a line of ", Printable(options.file), hint));
}

absl::StatusOr<const PointAnalysis*> FindPoint(const ExperimentTable& table,
                                               const Analysis& analysis, const std::string& name) {
  std::vector<std::string> names;
  for (const PointAnalysis& point : analysis.points) {
    names.push_back(Printable(table.points[point.point].name));
    if (name.empty() || table.points[point.point].name == name) return &point;
  }
  return absl::NotFoundError(absl::StrCat("the profile has no progress point ", Printable(name),
                                          "; it has ",
                                          names.empty() ? "none" : absl::StrJoin(names, ", ")));
}

absl::StatusOr<std::vector<std::string>> ReadSource(const std::string& path,
                                                    const std::string& recorded) {
  std::ifstream source(path);
  if (path.empty() || !source) {
    return absl::NotFoundError(
        absl::StrCat("the source ", Printable(WithoutBuildFolder(recorded)),
                     " is not here; name the folder that it is in: coz annotate "
                     "--source-path=FOLDER FILE"));
  }
  std::vector<std::string> lines;
  std::string line;
  while (std::getline(source, line)) lines.push_back(line);
  return lines;
}

// The file as typed, where it is one; else what the profile calls it.
std::string Locate(const AnnotateOptions& options, const std::string& recorded,
                   const profile::Profile& profile) {
  struct stat info;
  const bool is_file = stat(options.file.c_str(), &info) == 0 && S_ISREG(info.st_mode);
  return is_file ? options.file : FindSource(recorded, SourceFolders(options.source_path, profile));
}

std::string Margin(const LineNote& note, uint64_t all_samples) {
  if (note.samples == 0 && note.analysis == nullptr) return "";
  const double share = all_samples == 0 ? 0
                                        : 100.0 * static_cast<double>(note.samples) /
                                              static_cast<double>(all_samples);
  if (note.analysis == nullptr) {
    return absl::StrFormat(
        "%s%7.1f %%%s", Pad(note.gain, kGainWidth, Align::kLeft), share,
        note.word.has_value() ? absl::StrCat("  ", VerdictWord(*note.word)) : "");
  }
  return absl::StrFormat("%s%7.1f %%  %s",
                         Pad(GainText(HeadlineOf(*note.analysis)), kGainWidth, Align::kLeft), share,
                         VerdictWord(*note.analysis));
}

// "  line 32: 30 % faster: +18 % (17 to 19), nothing more beyond 50 %", as the margin has no room
// for what comes beyond.
std::string Bends(const std::map<uint32_t, LineNote>& notes) {
  std::string text;
  for (const auto& [number, note] : notes) {
    if (note.analysis == nullptr || !note.analysis->curve.bend.has_value()) continue;
    absl::StrAppend(&text, "  line ", number, ": ", HeadlineText(*note.analysis), "\n");
  }
  return text;
}

// By number. A line that is split by groups of threads has the figures of that with most samples.
std::map<uint32_t, LineNote> NotesOf(const ExperimentTable& table, const PointAnalysis& point,
                                     const std::string& file) {
  std::map<uint32_t, LineNote> notes;
  const auto is_here = [&file](const UnitRow& unit) {
    return unit.kind == profile::UNIT_KIND_LINE && unit.file == file;
  };
  for (const UnitRow& unit : table.units) {
    if (is_here(unit)) notes[unit.line].samples += unit.samples;
  }
  for (const LineAnalysis& line : point.lines) {
    const UnitRow& unit = table.units[line.unit];
    if (!is_here(unit)) continue;
    const LineAnalysis*& shown = notes[unit.line].analysis;
    if (shown == nullptr || unit.samples > table.units[shown->unit].samples) shown = &line;
  }
  for (const LineSetAside& line : point.set_aside) {
    const UnitRow& unit = table.units[line.unit];
    if (!is_here(unit) || notes[unit.line].analysis != nullptr) continue;
    if (line.reason == SetAsideReason::kNotKnown) notes[unit.line].word = Verdict::kCannotTell;
    if (line.reason == SetAsideReason::kSmall) {
      notes[unit.line].word = Verdict::kNoEffect;
      notes[unit.line].gain = GainText(HeadlineOfLimit(line.gain_limit));
    }
  }
  return notes;
}

bool AreSplitByThreadGroup(const ExperimentTable& table) {
  return std::any_of(table.units.begin(), table.units.end(),
                     [](const UnitRow& unit) { return !unit.thread_group.empty(); });
}

}  // namespace

absl::Status Annotate(const AnnotateOptions& options, std::ostream& out) {
  const auto whole = ReadAndAnalyze(options.path);
  if (!whole.ok()) return whole.status();
  const ExperimentTable& table = (*whole)->table;
  const Analysis& analysis = (*whole)->analysis;
  const absl::StatusOr<std::string> file = FindFile(table, (*whole)->profile, options);
  if (!file.ok()) return file.status();
  const absl::StatusOr<const PointAnalysis*> point = FindPoint(table, analysis, options.point);
  if (!point.ok()) return point.status();
  const std::string opened = Locate(options, *file, (*whole)->profile);
  const absl::StatusOr<std::vector<std::string>> source = ReadSource(opened, *file);
  if (!source.ok()) return source.status();

  const std::map<uint32_t, LineNote> notes = NotesOf(table, **point, *file);
  out << Printable(opened) << " at progress point " << Printable(table.points[(*point)->point].name)
      << "\n";
  if (IsModifiedAfter(opened, BeginNs((*whole)->profile))) {
    out << "  note: the file was changed after the profile was begun, so lines may have moved, and "
           "figures may stand beside other code than was measured\n";
  }
  if (AreSplitByThreadGroup(table)) {
    out << "  note: lines are split by groups of threads; here a line has the figures of the group "
           "with most of its samples\n";
  }
  out << Bends(notes);
  out << Pad(GainHead(), kGainWidth, Align::kLeft) << "  samples  verdict\n";
  for (uint32_t i = 1; i <= source->size(); ++i) {
    const auto note = notes.find(i);
    const std::string margin = note == notes.end() ? "" : Margin(note->second, table.samples);
    out << Pad(margin, kMarginWidth, Align::kLeft) << absl::StrFormat("%5d  ", i)
        << (*source)[i - 1] << "\n";
  }
  out.flush();
  if (out) return absl::OkStatus();
  return absl::UnavailableError(
      "cannot write the output: the disk is full or the reader has gone; write to another file "
      "with `> FILE`");
}

}  // namespace coz::report
