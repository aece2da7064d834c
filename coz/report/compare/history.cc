#include "coz/report/compare/history.h"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

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

absl::Status FileError(const char* tried, const std::string& path, int error) {
  return absl::Status(
      absl::ErrnoToStatusCode(error),
      absl::StrFormat("cannot %s the history %s: %s; outcomes are put into one by `coz verify "
                      "BEFORE.pb AFTER.pb --line FILE:LINE --record --history FILE`",
                      tried, path, strerror(error)));
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

Json EntryJson(const HistoryEntry& entry) {
  Json json = {{"time_s", entry.time_s}};
  json.update(VerificationJson(entry.verification));
  return json;
}

}  // namespace

absl::Status AppendHistory(const std::string& path, const HistoryEntry& entry) {
  // A profile that was named by mistake would be spoilt.
  const absl::StatusOr<History> earlier = ReadHistory(path);
  if (!earlier.ok() && !absl::IsNotFound(earlier.status())) return earlier.status();
  const UniqueFd fd(open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644));
  if (!fd.ok()) return FileError("open", path, errno);
  const std::string line =
      absl::StrCat(EntryJson(entry).dump(-1, ' ', true, Json::error_handler_t::replace), "\n");
  // One write, so that lines of two commands do not mix.
  if (write(fd.get(), line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
    return FileError("write", path, errno);
  }
  return absl::OkStatus();
}

History ParseHistory(std::istream& lines) {
  History history;
  std::string line;
  while (std::getline(lines, line)) {
    if (line.empty()) continue;
    if (std::optional<HistoryEntry> entry = ParseEntry(line)) {
      history.entries.push_back(*std::move(entry));
    } else {
      ++history.damaged_lines;
    }
  }
  return history;
}

absl::StatusOr<History> ReadHistory(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) return FileError("read", path, EISDIR);
  std::ifstream file(path);
  if (!file) return FileError("open", path, errno);
  History history = ParseHistory(file);
  if (file.bad()) return FileError("read", path, EIO);
  if (history.entries.empty() && history.damaged_lines != 0) return NoHistory(path);
  return history;
}

std::string HistoryText(const History& history, int width) {
  std::string text;
  if (history.damaged_lines != 0) {
    absl::StrAppendFormat(&text, "note: lines that are no entries of a history: %d\n",
                          history.damaged_lines);
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
  return {{"schema", "coz-history"},
          {"schema_version", 1},
          {"entries", entries},
          {"held", score.held},
          {"mean_error", score.mean_error},
          {"mean_bias", score.bias},
          {"damaged_lines", history.damaged_lines}};
}

}  // namespace coz::report
