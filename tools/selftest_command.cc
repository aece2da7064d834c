#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "CLI/App.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "coz/report/analysis/analyzed_profile.h"
#include "coz/report/wording/baseline_use.h"
#include "coz/report/wording/surroundings.h"
#include "coz/report/wording/text_layout.h"
#include "coz/supervisor/calibration/calibration.h"
#include "coz/supervisor/run/run_profile.h"
#include "nlohmann/json.hpp"
#include "tools/command_line.h"
#include "tools/documentation/command_tree.h"
#include "tools/seconds.h"

namespace coz {
namespace {

using Json = nlohmann::ordered_json;

// All functions are sped up by so much.
constexpr double kVirtualSpeedup = 0.5;

struct KnownAnswer {
  const char* function;
  double program_speedup;  // at kVirtualSpeedup
};
struct Shape {
  const char* name;  // as examples/known_answers.cc has it, which says why the answers are these
  int threads;
  std::vector<KnownAnswer> answers;
};

const std::vector<Shape>& Shapes() {
  static const auto* const shapes =
      new std::vector<Shape>{{"alone", 1, {{"First", 0.35}, {"Second", 0.15}}},
                             {"pipeline", 2, {{"Decode", 0.30}, {"Check", 0.20}, {"Compress", 0}}},
                             {"rounds", 2, {{"Long", 0.375}, {"Short", 0}}}};
  return *shapes;
}

struct Figure {
  std::string shape;
  KnownAnswer known;
  report::Estimate predicted;

  double Error() const { return predicted.value - known.program_speedup; }
  bool IsInInterval() const {
    return predicted.low <= known.program_speedup && known.program_speedup <= predicted.high;
  }
};

// Lines that are set aside have none, as on a busy machine.
std::string WithoutFigure(const std::vector<Figure>& figures) {
  std::string names;
  for (const Shape& shape : Shapes()) {
    for (const KnownAnswer& answer : shape.answers) {
      const bool has_one =
          std::any_of(figures.begin(), figures.end(), [&answer](const Figure& figure) {
            return std::string(figure.known.function) == answer.function;
          });
      if (!has_one) absl::StrAppend(&names, names.empty() ? "" : ", ", answer.function);
    }
  }
  return names;
}

struct SelftestArguments {
  double seconds = 30;
  bool awake = false;
  bool json = false;
};

// Removed with what is in it.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "coz-selftest.XXXXXX").string();
    if (mkdtemp(name.data()) != nullptr) path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

absl::StatusOr<profile::Profile> ProfileShape(const Shape& shape, double seconds, bool awake,
                                              const std::string& folder) {
  supervisor::RunOptions run;
  absl::StatusOr<std::string> library =
      FindProductFile("coz/runtime/libcoz.so", "lib/coz/libcoz.so");
  if (!library.ok()) return library.status();
  run.runtime_library = *std::move(library);
  const absl::StatusOr<std::string> program =
      FindProductFile("examples/known_answers", "lib/coz/examples/known_answers");
  if (!program.ok()) return program.status();
  run.command = {*program, shape.name, absl::StrFormat("%.1f", seconds)};
  run.output = folder + "/" + shape.name + ".pb";
  run.units.kind = sourcemap::UnitKind::kFunction;
  for (const KnownAnswer& answer : shape.answers) run.fixed_units.push_back(answer.function);
  run.fixed_speedups = {0, kVirtualSpeedup};
  run.awake = awake;
  absl::StatusOr<supervisor::RunResult> result = supervisor::RunProfile(run);
  if (!result.ok()) return result.status();
  return std::move(result->profile);
}

void AddFigures(const Shape& shape, const report::AnalyzedProfile& profile,
                std::vector<Figure>* figures) {
  constexpr double kSame = 0.01;
  for (const report::PointAnalysis& point : profile.analysis.points) {
    for (const report::LineAnalysis& line : point.lines) {
      const std::string function = profile.table.units[line.unit].function;
      for (const KnownAnswer& answer : shape.answers) {
        if (report::WithoutAnonymous(function) != answer.function) continue;
        for (const report::SpeedupEstimate& s : line.speedups) {
          if (std::fabs(s.virtual_speedup - kVirtualSpeedup) > kSame) continue;
          figures->push_back({shape.name, answer, s.program_speedup});
        }
      }
    }
  }
}

struct Measured {
  std::vector<Figure> figures;
  bool was_crowded = false;  // other programs disturbed a shape
};

absl::StatusOr<Measured> Measure(const SelftestArguments& arguments) {
  const TemporaryFolder folder;
  if (folder.path().empty()) {
    return absl::UnavailableError(
        "cannot make a temporary folder; name another place: TMPDIR=FOLDER coz selftest");
  }
  const auto cpus = static_cast<int>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
  std::vector<const Shape*> shapes;
  for (const Shape& shape : Shapes()) {
    if (shape.threads <= cpus) shapes.push_back(&shape);
  }
  Measured measured;
  for (const Shape* shape : shapes) {
    const double seconds = arguments.seconds / static_cast<double>(shapes.size());
    absl::StatusOr<profile::Profile> profile =
        ProfileShape(*shape, seconds, arguments.awake, folder.path());
    if (!profile.ok()) return profile.status();
    const auto analyzed = report::AnalyzeWhole(*std::move(profile));
    AddFigures(*shape, *analyzed, &measured.figures);
    measured.was_crowded |=
        report::OthersCrowd(report::SumBaselines(analyzed->profile, analyzed->table));
  }
  if (measured.figures.empty()) {
    return absl::FailedPreconditionError(
        "the selftest's programs gave no figure; look what this machine allows with: coz doctor");
  }
  return measured;
}

std::string Points(double fraction) { return absl::StrFormat("%+.1f", 100 * fraction); }

void PrintText(const std::vector<Figure>& figures, const supervisor::Calibration& calibration,
               const std::string& kept) {
  using report::Align;
  report::TextTable table(
      {Align::kLeft, Align::kLeft, Align::kRight, Align::kRight, Align::kLeft, Align::kRight});
  table.AddRow({"program", "function", "known %", "predicted %", "95 % interval", "off by"});
  for (const Figure& figure : figures) {
    table.AddRow({figure.shape, figure.known.function, Points(figure.known.program_speedup),
                  Points(figure.predicted.value),
                  absl::StrCat(Points(figure.predicted.low), " to ", Points(figure.predicted.high),
                               figure.IsInInterval() ? "" : ", misses it"),
                  Points(figure.Error())});
  }
  const auto in = std::count_if(figures.begin(), figures.end(),
                                [](const Figure& figure) { return figure.IsInInterval(); });
  absl::PrintF(
      "What the program gains when a function gets 50 %% faster:\n%s\n"
      "Predictions here are off by %.1f points on average, %.1f at worst; %d of %d intervals hold "
      "the known answer.\n%s\n",
      table.Render(2), 100 * calibration.mean_error, 100 * calibration.worst_error, in,
      figures.size(), kept);
}

void PrintJson(const std::vector<Figure>& figures, const supervisor::Calibration& calibration) {
  Json shown = Json::array();
  for (const Figure& figure : figures) {
    shown.push_back({{"program", figure.shape},
                     {"function", figure.known.function},
                     {"virtual_speedup", kVirtualSpeedup},
                     {"known", figure.known.program_speedup},
                     {"predicted",
                      {{"value", figure.predicted.value},
                       {"low", figure.predicted.low},
                       {"high", figure.predicted.high}}}});
  }
  const Json json = {{"schema", "coz-selftest"},
                     {"schema_version", 1},
                     {"mean_error", calibration.mean_error},
                     {"worst_error", calibration.worst_error},
                     {"figures", shown}};
  std::cout << json.dump(2) << "\n";
}

// Keeps what was found for later profiles, and says so.
std::string Keep(const Measured& measured, const supervisor::Calibration& calibration) {
  if (measured.was_crowded) {
    return "It is not kept, as other programs used the CPUs meanwhile; stop them and try again.";
  }
  const std::string path = supervisor::CalibrationPath();
  const absl::Status kept = supervisor::WriteCalibration(path, calibration);
  if (!kept.ok()) return absl::StrCat("It is not kept: ", kept.message(), ".");
  return absl::StrCat("Later profiles made here say so; it is kept in ", path, ".");
}

void Execute(const SelftestArguments& arguments, int* exit_status) {
  Say(absl::StrFormat("profiles programs whose answers are known, for %.0f s in all",
                      arguments.seconds));
  const absl::StatusOr<Measured> measured = Measure(arguments);
  if (!measured.ok()) {
    *exit_status = Report(measured.status());
    return;
  }
  const std::vector<Figure>& figures = measured->figures;
  if (const std::string without = WithoutFigure(figures); !without.empty()) {
    Say(
        absl::StrFormat("no figure for %s: the machine was too busy, or has one CPU; try again "
                        "with: coz selftest --seconds=120",
                        without));
  }
  std::vector<double> errors;
  errors.reserve(figures.size());
  for (const Figure& figure : figures) errors.push_back(figure.Error());
  const supervisor::Calibration calibration =
      supervisor::CalibrationOf(errors, static_cast<int64_t>(time(nullptr)));
  const std::string kept = Keep(*measured, calibration);
  if (arguments.json) {
    PrintJson(figures, calibration);
  } else {
    PrintText(figures, calibration, kept);
  }
}

}  // namespace

void AddSelftestCommand(CLI::App& app, int* exit_status) {
  CLI::App* command = app.add_subcommand(
      "selftest", "measure how far predictions are off on this machine, by known answers");
  auto arguments = std::make_shared<SelftestArguments>();
  command->add_option("--seconds", arguments->seconds, "how long in all (default 30)")
      ->transform(TimesWithUnits())
      ->check(NumberIn(CLI::Range(3.0, 3600.0)))
      ->type_name("SECONDS");
  command->add_flag("--awake", arguments->awake,
                    "keep idle CPUs from halting meanwhile, as coz run --awake does (needs root)");
  command->add_flag("--json", arguments->json, "print JSON, as described in docs/doctor.md");
  SetExamples(command, {{"selftest", "half a minute; later reports say what it found"}});
  command->callback([arguments, exit_status] {
    OutliveReaders();
    Execute(*arguments, exit_status);
  });
}

}  // namespace coz
