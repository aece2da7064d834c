#include "coz/report/exchange/import_coz.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "coz/report/format/program_identity.h"
#include "nlohmann/json.hpp"

namespace coz::report {
namespace {

constexpr size_t kMaxLineBytes = 1 << 20;
constexpr uint64_t kOriginalSamplingPeriodNs = 1'000'000;
// What coz and the original call the point that the end of a run is.
constexpr char kEndToEnd[] = "end-to-end";
// The original takes 64-bit counters from each other: below 0 they wrap. Never initialized ones
// differ by anything; this many things are never under way.
constexpr double kWrap = 18446744073709551616.0;
constexpr double kMostUnderWay = 4294967296.0;
// ns in a century: a duration beyond it is damage, and sums of such stay within 64 bits.
constexpr double kMaxNs = 3.2e18;

// A line as keys and values; keys with '-' as the text has them.
using Fields = std::map<std::string, std::string>;

bool ReadJson(const std::string& line, Fields* fields) {
  const nlohmann::json object = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!object.is_object()) return false;
  for (const auto& [key, value] : object.items()) {
    std::string name = key;
    std::replace(name.begin(), name.end(), '_', '-');
    if (value.is_string()) {
      (*fields)[name] = value.get<std::string>();
    } else if (value.is_number()) {
      (*fields)[name] = value.dump();
    }
  }
  return fields->count("type") != 0;
}

bool ReadText(const std::string& line, Fields* fields) {
  for (absl::string_view part : absl::StrSplit(line, '\t')) {
    const size_t equals = part.find('=');
    if (fields->empty()) {
      if (part.empty() || equals != absl::string_view::npos) return false;
      (*fields)["type"] = std::string(part);
    } else if (equals != absl::string_view::npos && part.substr(0, equals) != "type") {
      (*fields)[std::string(part.substr(0, equals))] = std::string(part.substr(equals + 1));
    }
  }
  return !fields->empty();
}

bool ReadLine(const std::string& line, Fields* fields) {
  return line[0] == '{' ? ReadJson(line, fields) : ReadText(line, fields);
}

std::optional<double> Number(const Fields& fields, const std::string& key) {
  const auto field = fields.find(key);
  double value = 0;
  if (field == fields.end() || !absl::SimpleAtod(field->second, &value) || !(value >= 0)) {
    return std::nullopt;
  }
  return value <= kMaxNs ? std::optional<double>(value) : std::nullopt;
}

std::optional<uint64_t> Count(const Fields& fields, const std::string& key) {
  const std::optional<double> value = Number(fields, key);
  if (!value.has_value()) return std::nullopt;
  // Times since the epoch have more digits than a double.
  uint64_t exact = 0;
  return absl::SimpleAtoi(fields.at(key), &exact) ? exact : static_cast<uint64_t>(*value);
}

std::string Text(const Fields& fields, const std::string& key) {
  const auto field = fields.find(key);
  return field == fields.end() ? "" : field->second;
}

class Importer {
 public:
  Importer(std::istream& in, std::string name) : in_(in), name_(std::move(name)) {}

  absl::StatusOr<ImportResult> Run() {
    std::string line;
    while (NextLine(&line)) {
      ++line_number_;
      if (!line.empty() && line.back() == '\r') line.pop_back();
      if (line.empty()) continue;
      const std::string problem = Take(line);
      if (!problem.empty()) Skip(problem);
      if (result_.profile.experiment_size() == 0 && result_.skipped_lines > kLinesToRecognize) {
        break;
      }
    }
    EndSession();
    if (result_.profile.experiment_size() == 0) return NothingFound();
    return std::move(result_);
  }

 private:
  static constexpr uint64_t kLinesToRecognize = 10;

  // False at the end. Cuts a line that is too long.
  bool NextLine(std::string* line) {
    line->clear();
    if (!in_) return false;
    for (int c = in_.get(); c != std::char_traits<char>::eof(); c = in_.get()) {
      if (c == '\n') return true;
      if (line->size() < kMaxLineBytes) line->push_back(static_cast<char>(c));
    }
    return !line->empty();
  }

  void Skip(const std::string& problem) {
    ++result_.skipped_lines;
    if (!result_.first_skipped.empty()) return;
    result_.first_skipped = absl::StrFormat("%s:%d: %s", name_, line_number_, problem);
  }

  absl::Status NothingFound() const {
    if (result_.skipped_lines == 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          name_,
          " holds no experiment of the original Coz; profiles of this one (profile.pb) need "
          "no import: coz report ",
          name_));
    }
    return absl::InvalidArgumentError(
        absl::StrCat(name_, " is no profile of the original Coz (", result_.first_skipped,
                     "); profiles of this one (profile.pb) need no import: coz report ", name_));
  }

  // Why the line was not used, or nothing.
  std::string Take(const std::string& line) {
    Fields fields;
    if (!ReadLine(line, &fields)) return "neither tab-separated fields nor a JSON object";
    const std::string type = fields["type"];
    if (type == "startup") {
      EndSession();
      BeginSession();
      session_->set_start_unix_ns(Count(fields, "time").value_or(0));
    }
    const bool is_known = type == "startup" || type == "experiment" || type == "samples" ||
                          type == "runtime" || type == "shutdown" || absl::EndsWith(type, "-point");
    if (!is_known) return absl::StrCat("unknown kind of line: ", type.substr(0, 40));
    if (session_ == nullptr) BeginSession();
    for (char c : line) hash_ = (hash_ ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    if (type == "experiment") return TakeExperiment(fields);
    if (type == "samples") return TakeSamples(fields);
    if (type == "runtime") runtime_ns_ = Count(fields, "time").value_or(0);
    if (type == "latency-point") return TakeLatency(fields);
    if (absl::EndsWith(type, "-point")) return TakeThroughput(fields);
    return "";
  }

  void BeginSession() {
    session_ = result_.profile.add_session();
    session_->set_coz_version(kOriginalCozVersion);
    session_->set_sampling_period_ns(kOriginalSamplingPeriodNs);
    first_unit_ = result_.profile.unit_size();
    first_point_ = result_.profile.progress_point_size();
    first_experiment_ = result_.profile.experiment_size();
    units_.clear();
    points_.clear();
    samples_.clear();
    in_experiments_.clear();
    experiment_ = nullptr;
    now_ns_ = 0;
    runtime_ns_ = 0;
    hash_ = 0xcbf29ce484222325;
  }

  // Ids are known when all of the session's text is.
  void EndSession() {
    if (session_ == nullptr) return;
    const uint64_t id = hash_ == 0 ? 1 : hash_;
    profile::Profile& profile = result_.profile;
    session_->set_id(id);
    profile::SampleCounts* rest = profile.add_sample_counts();
    rest->set_session(id);
    for (const auto& [location, count] : samples_) {
      const uint32_t unit = UnitOf(location);
      const uint64_t counted = in_experiments_[unit];
      if (count <= counted) continue;
      rest->add_unit_id(unit);
      rest->add_unit_samples(count - counted);
    }
    for (int i = first_unit_; i < profile.unit_size(); ++i) {
      profile.mutable_unit(i)->set_session(id);
    }
    for (int i = first_point_; i < profile.progress_point_size(); ++i) {
      profile.mutable_progress_point(i)->set_session(id);
    }
    for (int i = first_experiment_; i < profile.experiment_size(); ++i) {
      profile.mutable_experiment(i)->set_session(id);
    }
    profile::SessionEnd* end = profile.add_session_end();
    end->set_session(id);
    end->set_run_time_ns(std::max(runtime_ns_, now_ns_));
    end->set_experiments(static_cast<uint64_t>(profile.experiment_size() - first_experiment_));
    session_ = nullptr;
  }

  uint32_t UnitOf(const std::string& selected) {
    const auto [known, is_new] =
        units_.try_emplace(selected, static_cast<uint32_t>(units_.size()) + 1);
    if (!is_new) return known->second;
    profile::Unit* unit = result_.profile.add_unit();
    unit->set_id(known->second);
    const size_t colon = selected.rfind(':');
    uint32_t line = 0;
    const bool is_line = colon != std::string::npos && colon > 0 &&
                         absl::SimpleAtoi(selected.substr(colon + 1), &line) && line > 0;
    unit->set_kind(is_line ? profile::UNIT_KIND_LINE : profile::UNIT_KIND_FUNCTION);
    if (is_line) {
      unit->set_file(selected.substr(0, colon));
      unit->set_line(line);
    } else {
      unit->set_function(selected);
    }
    return known->second;
  }

  uint32_t PointOf(const std::string& name, profile::ProgressPointKind kind) {
    const auto [known, is_new] =
        points_.try_emplace({name, kind}, static_cast<uint32_t>(points_.size()) + 1);
    if (is_new) {
      profile::ProgressPoint* point = result_.profile.add_progress_point();
      point->set_id(known->second);
      point->set_name(name);
      point->set_kind(kind);
    }
    return known->second;
  }

  std::string TakeExperiment(const Fields& fields) {
    experiment_ = nullptr;
    const std::string selected = Text(fields, "selected");
    const std::optional<double> speedup = Number(fields, "speedup");
    const std::optional<uint64_t> duration = Count(fields, "duration");
    if (selected.empty()) return "an experiment without `selected`";
    if (!speedup.has_value() || *speedup > 1) return "an experiment whose speedup is not 0 to 1";
    if (!duration.has_value() || *duration == 0)
      return "an experiment whose duration is not above 0";
    const uint32_t unit = UnitOf(selected);
    experiment_ = result_.profile.add_experiment();
    experiment_->set_index(
        static_cast<uint32_t>(result_.profile.experiment_size() - 1 - first_experiment_));
    experiment_->set_selected_unit(unit);
    experiment_->set_virtual_speedup(*speedup);
    experiment_->set_achieved_virtual_speedup(std::nan(""));
    experiment_->set_start_ns(now_ns_);
    experiment_->set_elapsed_ns(*duration);
    experiment_->set_effective_duration_ns(*duration);
    const uint64_t samples = Count(fields, "selected-samples").value_or(0);
    experiment_->set_selected_samples(samples);
    experiment_->add_unit_id(unit);
    experiment_->add_unit_samples(samples);
    in_experiments_[unit] += samples;
    experiment_->mutable_validity()->set_runnable_threads_average(std::nan(""));
    now_ns_ += *duration;
    return "";
  }

  std::string TakeSamples(const Fields& fields) {
    const std::string location = Text(fields, "location");
    const std::optional<uint64_t> count = Count(fields, "count");
    if (location.empty() || !count.has_value()) return "samples without location or count";
    samples_[location] = std::max(samples_[location], *count);
    return "";
  }

  std::string TakeThroughput(const Fields& fields) {
    const std::string name = Text(fields, "name");
    const std::optional<uint64_t> delta = Count(fields, "delta");
    if (name.empty() || !delta.has_value()) return "a progress point without name or delta";
    if (experiment_ == nullptr) return "a progress point before any experiment";
    profile::PointCounts* counts = experiment_->add_point();
    counts->set_point(PointOf(name, name == kEndToEnd ? profile::PROGRESS_POINT_KIND_END_TO_END
                                                      : profile::PROGRESS_POINT_KIND_THROUGHPUT));
    counts->set_visits(*delta);
    return "";
  }

  std::string TakeLatency(const Fields& fields) {
    const std::string name = Text(fields, "name");
    const std::optional<uint64_t> arrivals = Count(fields, "arrivals");
    const std::optional<uint64_t> departures = Count(fields, "departures");
    // Negative where a departure was seen before its arrival.
    double difference = 0;
    if (name.empty() || !arrivals.has_value() || !departures.has_value() ||
        !absl::SimpleAtod(Text(fields, "difference"), &difference)) {
      return "a latency point without name, arrivals, departures and difference";
    }
    if (experiment_ == nullptr) return "a progress point before any experiment";
    if (difference >= kWrap / 2) difference -= kWrap;
    if (!(std::abs(difference) < kMostUnderWay)) {
      return "a latency point whose difference is no number of things under way";
    }
    profile::PointCounts* counts = experiment_->add_point();
    counts->set_point(PointOf(name, profile::PROGRESS_POINT_KIND_LATENCY));
    counts->set_arrivals(*arrivals);
    counts->set_departures(*departures);
    counts->set_in_flight_average(std::max(0.0, difference));
    return "";
  }

  std::istream& in_;
  const std::string name_;
  ImportResult result_;
  uint64_t line_number_ = 0;
  // Of the current session; its records get their id at its end.
  profile::Session* session_ = nullptr;
  profile::Experiment* experiment_ = nullptr;
  int first_unit_ = 0;
  int first_point_ = 0;
  int first_experiment_ = 0;
  std::map<std::string, uint32_t> units_;
  std::map<std::pair<std::string, int>, uint32_t> points_;
  std::map<std::string, uint64_t> samples_;  // by location, cumulative
  std::map<uint32_t, uint64_t> in_experiments_;
  uint64_t now_ns_ = 0;
  uint64_t runtime_ns_ = 0;
  uint64_t hash_ = 0;
};

}  // namespace

absl::StatusOr<ImportResult> ImportCoz(std::istream& in, const std::string& name) {
  return Importer(in, name).Run();
}

}  // namespace coz::report
