#include "coz/report/exchange/export_pprof.h"

#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "coz/report/analysis/session_facts.h"
#include "coz/report/exchange/valid_text.h"
#include "coz/report/json/report_json.h"
#include "coz/report/wording/text_layout.h"
#include "google/protobuf/io/gzip_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl.h"

namespace coz::report {
namespace {

constexpr int kFixedTypes = 2;  // samples and cpu
constexpr uint64_t kProgramMapping = 1;

class Writer {
 public:
  explicit Writer(const AnalyzedProfile& whole) : whole_(whole) { Text(""); }

  pprof::Profile Write() {
    AddTypes();
    AddProgram();
    CollectFindings();
    for (size_t unit = 0; unit < whole_.table.units.size(); ++unit) AddUnit(unit);
    uint64_t in_scope = 0;
    for (const UnitRow& unit : whole_.table.units) in_scope += unit.samples;
    if (whole_.table.samples > in_scope) AddRest("[out of scope]", whole_.table.samples - in_scope);
    return std::move(out_);
  }

 private:
  struct Finding {
    int64_t slope_permille = 0;
    const char* verdict = nullptr;
  };

  int64_t Text(const std::string& text) {
    const auto [known, is_new] = texts_.try_emplace(text, out_.string_table_size());
    if (is_new) out_.add_string_table(ValidText(text));
    return known->second;
  }

  void AddType(const std::string& type, const std::string& unit) {
    pprof::ValueType* added = out_.add_sample_type();
    added->set_type(Text(type));
    added->set_unit(Text(unit));
  }

  void AddTypes() {
    AddType("samples", "count");
    AddType("cpu", "nanoseconds");
    for (const PointAnalysis& point : whole_.analysis.points) {
      AddType(absl::StrCat("slope:", whole_.table.points[point.point].name), "permille");
    }
    out_.set_default_sample_type(Text("cpu"));
    out_.mutable_period_type()->set_type(Text("cpu"));
    out_.mutable_period_type()->set_unit(Text("nanoseconds"));
  }

  void AddProgram() {
    if (whole_.profile.session_size() != 0) {
      const profile::Session& session = whole_.profile.session(0);
      period_ns_ = std::llround(MeanSamplingPeriodNs(whole_.profile));
      out_.set_time_nanos(static_cast<int64_t>(session.start_unix_ns()));
    }
    out_.set_period(period_ns_);
    out_.set_duration_nanos(static_cast<int64_t>(whole_.table.run_time_ns));
    out_.add_comment(
        Text("causal profile by coz; slope:POINT is the program's speedup at that progress point "
             "for a speedup of the line, in permille"));
    pprof::Mapping* mapping = out_.add_mapping();
    mapping->set_id(kProgramMapping);
    mapping->set_has_functions(true);
    mapping->set_has_filenames(true);
    mapping->set_has_line_numbers(true);
    mapping->set_has_inline_frames(true);
    if (whole_.profile.binary_size() == 0) return;
    mapping->set_filename(Text(whole_.profile.binary(0).path()));
    mapping->set_build_id(Text(absl::BytesToHexString(whole_.profile.binary(0).build_id())));
  }

  void CollectFindings() {
    findings_.resize(whole_.table.units.size());
    const std::vector<PointAnalysis>& points = whole_.analysis.points;
    for (auto& of_unit : findings_) of_unit.resize(points.size());
    for (size_t i = 0; i < points.size(); ++i) {
      for (const LineAnalysis& line : points[i].lines) {
        Finding& finding = findings_[line.unit][i];
        finding.verdict = VerdictId(line.verdict);
        // A figure that may be anything must not be added to others.
        if (line.verdict == Verdict::kCannotTell) continue;
        finding.slope_permille = std::llround(line.slope.value * 1000);
      }
    }
  }

  uint64_t AddLocation(const std::string& name, const std::string& file, int64_t line) {
    const auto [known, is_new] =
        functions_.try_emplace({name, file}, static_cast<uint64_t>(functions_.size()) + 1);
    if (is_new) {
      pprof::Function* function = out_.add_function();
      function->set_id(known->second);
      function->set_name(Text(name));
      function->set_system_name(Text(name));
      function->set_filename(Text(file));
    }
    pprof::Location* location = out_.add_location();
    location->set_id(static_cast<uint64_t>(out_.location_size()));
    location->set_mapping_id(kProgramMapping);
    location->add_line()->set_function_id(known->second);
    location->mutable_line(0)->set_line(line);
    return location->id();
  }

  pprof::Sample* AddSample(uint64_t location, uint64_t samples) {
    pprof::Sample* sample = out_.add_sample();
    sample->add_location_id(location);
    sample->add_value(static_cast<int64_t>(samples));
    sample->add_value(static_cast<int64_t>(samples) * period_ns_);
    return sample;
  }

  void AddUnit(size_t index) {
    const UnitRow& unit = whole_.table.units[index];
    const bool is_named = !unit.function.empty();
    const uint64_t location = AddLocation(
        is_named ? WithoutAnonymous(unit.function) : unit.CodeName(), unit.file, unit.line);
    pprof::Sample* sample = AddSample(location, unit.samples);
    if (!unit.thread_group.empty()) {
      pprof::Label* label = sample->add_label();
      label->set_key(Text("thread group"));
      label->set_str(Text(unit.thread_group));
    }
    for (size_t i = 0; i < findings_[index].size(); ++i) {
      const Finding& finding = findings_[index][i];
      sample->add_value(finding.slope_permille);
      if (finding.verdict == nullptr) continue;
      pprof::Label* label = sample->add_label();
      const size_t point = whole_.analysis.points[i].point;
      label->set_key(Text(absl::StrCat("verdict:", whole_.table.points[point].name)));
      label->set_str(Text(finding.verdict));
    }
  }

  void AddRest(const std::string& name, uint64_t samples) {
    pprof::Sample* sample = AddSample(AddLocation(name, "", 0), samples);
    for (int i = kFixedTypes; i < out_.sample_type_size(); ++i) sample->add_value(0);
  }

  const AnalyzedProfile& whole_;
  pprof::Profile out_;
  int64_t period_ns_ = 0;
  std::map<std::string, int64_t> texts_;
  std::map<std::pair<std::string, std::string>, uint64_t> functions_;
  std::vector<std::vector<Finding>> findings_;  // by unit and index of Analysis.points
};

}  // namespace

pprof::Profile PprofOf(const AnalyzedProfile& whole) { return Writer(whole).Write(); }

absl::Status ExportPprof(const AnalyzedProfile& whole, std::ostream& out) {
  google::protobuf::io::OstreamOutputStream file(&out);
  google::protobuf::io::GzipOutputStream::Options options;
  options.format = google::protobuf::io::GzipOutputStream::GZIP;
  google::protobuf::io::GzipOutputStream gzip(&file, options);
  if (!PprofOf(whole).SerializeToZeroCopyStream(&gzip) || !gzip.Close()) {
    return absl::InternalError("cannot compress the profile; try --format=csv");
  }
  return absl::OkStatus();
}

}  // namespace coz::report
