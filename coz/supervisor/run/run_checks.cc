#include "coz/supervisor/run/run_checks.h"

#include <algorithm>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "coz/points/closest_names.h"
#include "coz/points/point_spec.h"
#include "coz/sourcemap/binary_info.h"
#include "coz/sourcemap/line_table.h"
#include "coz/sourcemap/scope.h"
#include "coz/supervisor/doctor/own_signals.h"

namespace coz::supervisor {
namespace {

// What can be profiled of a program without debug information.
const char* OtherUnit(const sourcemap::BinaryInfo& info, bool needs_debug_info) {
  if (!needs_debug_info || !info.can_be_preloaded()) return "";
  return info.has_function_names()
             ? "; or profile its functions, which needs no -g: --unit=function"
             : "; or profile it as a whole: --unit=library";
}

}  // namespace

namespace {

// A launcher gets the profiler's library, too, as what it starts inherits its environment. Into a
// static one the library is not loaded, which does no harm.
absl::Status CheckLauncher(const std::string& program) {
  absl::StatusOr<sourcemap::BinaryInfo> info = sourcemap::DescribeBinary(program);
  const bool is_script = info.ok() && info->kind == sourcemap::BinaryInfo::Kind::kScript;
  if (is_script) info = sourcemap::DescribeBinary(info->interpreter);
  const bool would_break = info.ok() && (info->kind == sourcemap::BinaryInfo::Kind::kForeignElf ||
                                         !info->foreign_loader.empty());
  return would_break ? sourcemap::CheckProfilable(*info, false) : absl::OkStatus();
}

}  // namespace

absl::Status CheckProgram(const RunOptions& options, const std::string& program) {
  if (options.is_launcher) return CheckLauncher(program);
  const absl::StatusOr<sourcemap::BinaryInfo> info = sourcemap::DescribeBinary(program);
  if (!info.ok()) return info.status();
  const bool needs_debug_info = options.units.kind == sourcemap::UnitKind::kLine ||
                                options.units.kind == sourcemap::UnitKind::kFile;
  absl::Status status = sourcemap::CheckProfilable(*info, needs_debug_info);
  // Where libraries are in scope, the program itself need not have debug information.
  const bool only_libraries = info->can_be_preloaded() && !options.binary_scope.empty();
  if (info->can_be_preloaded() && TakesSignalsItself(*info)) {
    return absl::FailedPreconditionError(
        absl::StrCat(program, " ", kTakesSignalsItself, " (of a launcher: --follow=all)"));
  }
  if (status.ok() || only_libraries) return absl::OkStatus();
  if (!info->foreign_loader.empty()) return status;
  return absl::Status(status.code(),
                      absl::StrCat(status.message(), OtherUnit(*info, needs_debug_info),
                                   " (of a launcher: --follow=all)"));
}

namespace {

absl::Status CheckJitScope(const RunOptions& options, const UnitIndex& units) {
  const bool is_asked_for = std::find(options.binary_scope.begin(), options.binary_scope.end(),
                                      kJitCode) != options.binary_scope.end();
  if (!is_asked_for || units.TakesJitCode()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrFormat(
      "--binary-scope=%s is code that is compiled while the program runs, which --unit=%s does not "
      "tell apart; add --unit=function",
      kJitCode, sourcemap::NameOf(options.units.kind)));
}

}  // namespace

bool HasSource(const UnitIndex& units, const std::string& pattern) {
  const sourcemap::SourceScope scope({pattern});
  for (const UnitIndex::Object& object : units.objects()) {
    const bool has_source =
        object.is_jit && std::any_of(object.units.begin(), object.units.end(),
                                     [&](const auto& unit) { return scope.Contains(unit.file); });
    if (has_source) return true;
    if (object.table == nullptr) continue;
    const sourcemap::LineTable& table = object.table->table();
    std::string_view last;
    for (uint32_t i = 0; i < table.line_count(); ++i) {
      // Lines of a file follow each other.
      const std::string_view file = table.line(i).file;
      if (file.data() != last.data() && scope.Contains(file)) return true;
      last = file;
    }
  }
  return false;
}

absl::Status CheckScopes(const RunOptions& options, const std::string& program,
                         const UnitIndex& units) {
  if (absl::Status status = CheckJitScope(options, units); !status.ok()) return status;
  if (options.is_launcher) return absl::OkStatus();
  for (const std::string& pattern : options.binary_scope) {
    const bool may_be_library = absl::StrContains(pattern, ".so") ||
                                std::any_of(pattern.begin(), pattern.end(), sourcemap::IsWildcard);
    if (may_be_library || pattern == kJitCode ||
        sourcemap::BinaryScope({pattern}).Contains(program, true))
      continue;
    return absl::NotFoundError(absl::StrFormat(
        "--binary-scope=%s is neither the program nor a library; write MAIN for the program, "
        "'libNAME.so*' for a library, or add --follow=all where it is a program that this one "
        "starts",
        pattern));
  }
  const bool needs_lines =
      options.units.IsByLine() || options.units.kind == sourcemap::UnitKind::kFile;
  if (!options.binary_scope.empty() || !needs_lines) return absl::OkStatus();
  for (const std::string& pattern : options.source_scope) {
    if (HasSource(units, pattern)) continue;
    return absl::NotFoundError(absl::StrFormat(
        "--source-scope=%s matches no source file of the program; write a path or the end of one, "
        "where * stands for anything, as in 'src/*.cc', or leave it out to take the program's own",
        pattern));
  }
  return absl::OkStatus();
}

absl::Status CheckSampledLines(const RunOptions& options, const UnitIndex& units) {
  if (!options.points.sampled.empty() && options.units.kind != sourcemap::UnitKind::kLine) {
    const std::string_view kind = sourcemap::NameOf(options.units.kind);
    return absl::InvalidArgumentError(absl::StrFormat(
        "--progress-sampled=%s counts samples of a line, and with --unit=%s it is known only in "
        "which %s a sample fell; use --progress instead, or --unit=line",
        options.points.sampled.front(), kind, kind));
  }
  if (!options.binary_scope.empty() || options.is_launcher) return absl::OkStatus();
  for (const std::string& line : options.points.sampled) {
    const absl::StatusOr<points::PointSpec> spec = points::ParsePointSpec(line);
    // What is no line is refused with all other places.
    if (!spec.ok() || spec->file.empty() || !units.Find(line).empty()) continue;
    return absl::NotFoundError(absl::StrFormat(
        "--progress-sampled=%s: no code of the program belongs to this line (blank, optimised "
        "away, out of scope, excluded or part of a group)%s; name a line with code, or widen "
        "--source-scope",
        line, points::ClosestPhrase(units.Closest(line))));
  }
  return absl::OkStatus();
}

}  // namespace coz::supervisor
