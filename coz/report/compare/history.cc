#include "coz/report/compare/history.h"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "coz/base/unique_fd.h"
#include "coz/report/wording/text_layout.h"
#include "nlohmann/json.hpp"

namespace coz::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kHistoryNameWidth = 40;

absl::Status FileError(const char* tried, const std::string& path, int error, const char* next) {
  return absl::Status(
      absl::ErrnoToStatusCode(error),
      absl::StrFormat("cannot %s the history %s: %s; %s", tried, path, strerror(error), next));
}

absl::Status ReadError(const char* tried, const std::string& path, int error) {
  return FileError(tried, path, error,
                   "outcomes are put into one by `coz verify BEFORE.pb AFTER.pb --line FILE:LINE "
                   "--record --history FILE`");
}

absl::Status WriteError(const char* tried, const std::string& path, int error) {
  return FileError(tried, path, error,
                   error == ENOSPC || error == EDQUOT
                       ? "free some space, or name a file elsewhere with --history FILE"
                       : "name a file that you may write with --history FILE");
}

absl::Status NoHistory(const std::string& path) {
  return absl::InvalidArgumentError(
      absl::StrFormat("%s is no history: none of its lines is an outcome of `coz verify`; name "
                      "another file with --history FILE",
                      path));
}

bool ReadEstimate(const Json& json, Estimate* estimate) {
  if (!json.is_object()) return false;
  const auto number = [&](const char* key, double* value) {
    if (json.contains(key) && json[key].is_number()) *value = json[key].get<double>();
  };
  estimate->value = std::nan("");
  number("value", &estimate->value);
  number("low", &estimate->low);
  number("high", &estimate->high);
  return std::isfinite(estimate->value);
}

// What older entries lack.
void ReadDetails(const Json& json, Verification* v) {
  const auto text = [&](const char* key, std::string* value) {
    if (json.contains(key) && json[key].is_string()) *value = json[key].get<std::string>();
  };
  text("line_after", &v->line_after);
  text("note", &v->note);
  if (json.contains("largest_tried") && json["largest_tried"].is_number()) {
    v->largest_tried = json["largest_tried"].get<double>();
  }
  if (json.contains("predicted_by_samples") && json["predicted_by_samples"].is_boolean()) {
    v->is_limit = json["predicted_by_samples"].get<bool>();
  }
}

std::optional<HistoryEntry> ParseEntry(const std::string& line) {
  const Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return std::nullopt;
  HistoryEntry entry;
  Verification& v = entry.verification;
  for (const char* key :
       {"time_s", "point", "line", "line_speedup", "predicted", "happened", "outcome"}) {
    if (!json.contains(key)) return std::nullopt;
  }
  if (!json["time_s"].is_number_integer() || !json["point"].is_string() ||
      !json["line"].is_string() || !json["outcome"].is_string() ||
      !ReadEstimate(json["line_speedup"], &v.line_speedup) ||
      !ReadEstimate(json["predicted"], &v.predicted) ||
      !ReadEstimate(json["happened"], &v.happened)) {
    return std::nullopt;
  }
  entry.time_s = json["time_s"].get<int64_t>();
  v.point = json["point"].get<std::string>();
  v.line = json["line"].get<std::string>();
  v.error = v.predicted.value - v.happened.value;
  ReadDetails(json, &v);
  const std::string outcome = json["outcome"].get<std::string>();
  for (Outcome known : {Outcome::kHeld, Outcome::kTooHigh, Outcome::kTooLow}) {
    if (outcome != OutcomeId(known)) continue;
    v.outcome = known;
    return entry;
  }
  return std::nullopt;
}

std::string Date(int64_t time_s) {
  const time_t time = static_cast<time_t>(time_s);
  tm parts = {};
  char text[32] = "";
  if (gmtime_r(&time, &parts) != nullptr) strftime(text, sizeof(text), "%Y-%m-%d", &parts);
  return text;
}

std::string OutcomeWords(Outcome outcome) {
  return outcome == Outcome::kHeld ? "held" : outcome == Outcome::kTooHigh ? "too high" : "too low";
}

std::string FasterText(const Verification& v) {
  return absl::StrFormat("%.0f %%", v.line_speedup.value * 100);
}

std::string ShownGain(const Estimate& gain) {
  return absl::StrFormat("%+.1f %%", gain.value * 100);
}

std::string EntryTable(const History& history) {
  const auto L = Align::kLeft;
  const auto R = Align::kRight;
  TextTable table({L, L, L, R, R, R, L});
  table.AddRow({"date", "line", "point", "line faster", "predicted", "happened", "outcome"});
  for (const HistoryEntry& entry : history.entries) {
    const Verification& v = entry.verification;
    table.AddRow({Date(entry.time_s), ElidePath(Printable(v.line), kHistoryNameWidth),
                  Printable(v.point), FasterText(v), ShownGain(v.predicted), ShownGain(v.happened),
                  OutcomeWords(v.outcome)});
  }
  return table.Render(0);
}

std::string EntryRows(const History& history) {
  std::string text;
  for (const HistoryEntry& entry : history.entries) {
    const Verification& v = entry.verification;
    absl::StrAppend(&text, Date(entry.time_s), "  ", OutcomeWords(v.outcome), "  ",
                    ElidePath(Printable(v.line), kHistoryNameWidth), " at ", Printable(v.point),
                    "\n  line faster ", FasterText(v), ", predicted ", ShownGain(v.predicted),
                    ", happened ", ShownGain(v.happened), "\n");
  }
  return text;
}

struct Score {
  size_t held = 0;
  double mean_error = 0;  // absolute
  double bias = 0;        // positive: predictions were too high
};

Score ScoreOf(const History& history) {
  Score score;
  for (const HistoryEntry& entry : history.entries) {
    score.held += entry.verification.outcome == Outcome::kHeld ? 1 : 0;
    score.mean_error += std::fabs(entry.verification.error);
    score.bias += entry.verification.error;
  }
  if (!history.entries.empty()) {
    score.mean_error /= static_cast<double>(history.entries.size());
    score.bias /= static_cast<double>(history.entries.size());
  }
  return score;
}

bool AreSame(const Estimate& a, const Estimate& b) { return a.value == b.value; }

// The same two profiles give the same figures, to the last digit, and no others do.
bool IsIn(const History& history, const Verification& v) {
  return std::any_of(history.entries.begin(), history.entries.end(), [&](const HistoryEntry& one) {
    const Verification& w = one.verification;
    return w.line == v.line && w.point == v.point && AreSame(w.line_speedup, v.line_speedup) &&
           AreSame(w.predicted, v.predicted) && AreSame(w.happened, v.happened);
  });
}

Json EntryJson(const HistoryEntry& entry) {
  Json json = {{"time_s", entry.time_s}};
  json.update(VerificationJson(entry.verification));
  return json;
}

}  // namespace

absl::StatusOr<bool> AppendHistory(const std::string& path, const HistoryEntry& entry) {
  // A profile that was named by mistake would be spoilt.
  const absl::StatusOr<History> earlier = ReadHistory(path);
  if (!earlier.ok() && !absl::IsNotFound(earlier.status())) return earlier.status();
  if (earlier.ok() && IsIn(*earlier, entry.verification)) return false;
  const UniqueFd fd(open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644));
  if (!fd.ok()) return WriteError("open", path, errno);
  const std::string line =
      absl::StrCat(EntryJson(entry).dump(-1, ' ', true, Json::error_handler_t::replace), "\n");
  // One write, so that lines of two commands do not mix.
  const ssize_t written = write(fd.get(), line.data(), line.size());
  if (written < 0) return WriteError("write", path, errno);
  if (static_cast<size_t>(written) != line.size()) return WriteError("write", path, ENOSPC);
  return true;
}

History ParseHistory(std::istream& lines) {
  History history;
  std::string line;
  while (std::getline(lines, line)) {
    if (line.empty()) continue;
    if (std::optional<HistoryEntry> entry = ParseEntry(line)) {
      if (IsIn(history, entry->verification)) {
        ++history.repeated_lines;
      } else {
        history.entries.push_back(*std::move(entry));
      }
    } else {
      ++history.damaged_lines;
    }
  }
  return history;
}

absl::StatusOr<History> ReadHistory(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) return ReadError("read", path, EISDIR);
  std::ifstream file(path);
  if (!file) return ReadError("open", path, errno);
  History history = ParseHistory(file);
  if (file.bad()) return ReadError("read", path, EIO);
  if (history.entries.empty() && history.damaged_lines != 0) return NoHistory(path);
  return history;
}

std::string HistoryText(const History& history, int width) {
  std::string text;
  if (history.damaged_lines != 0) {
    absl::StrAppendFormat(&text, "note: lines that are no entries of a history: %d\n",
                          history.damaged_lines);
  }
  if (history.repeated_lines != 0) {
    absl::StrAppendFormat(&text, "note: lines that repeat an entry, which counts once: %d\n",
                          history.repeated_lines);
  }
  if (history.entries.empty()) {
    return absl::StrCat(text,
                        "No prediction has been verified yet: coz verify before.pb after.pb --line "
                        "FILE:LINE --record\n");
  }
  const Score score = ScoreOf(history);
  absl::StrAppendFormat(
      &text, "%d of %d predictions held; mean error %.1f points, %s by %.1f on average\n\n",
      score.held, history.entries.size(), score.mean_error * 100,
      score.bias > 0 ? "too high" : "too low", std::fabs(score.bias) * 100);
  const std::string table = EntryTable(history);
  return text + (width == 0 || WidestLine(table) <= width ? table : EntryRows(history));
}

Json HistoryJson(const History& history) {
  Json entries = Json::array();
  for (const HistoryEntry& entry : history.entries) entries.push_back(EntryJson(entry));
  const Score score = ScoreOf(history);
  // Of no entries there is no mean.
  const bool has_entries = !history.entries.empty();
  return {{"schema", "coz-history"},
          {"schema_version", 1},
          {"entries", entries},
          {"held", score.held},
          {"mean_error", has_entries ? Json(score.mean_error) : Json()},
          {"mean_bias", has_entries ? Json(score.bias) : Json()},
          {"damaged_lines", history.damaged_lines},
          {"repeated_lines", history.repeated_lines}};
}

}  // namespace coz::report
