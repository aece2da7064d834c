#include "coz/supervisor/doctor/program_findings.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "coz/report/analysis/session_facts.h"
#include "coz/report/wording/text_layout.h"

namespace coz::supervisor {
namespace {

using report::Finding;
using report::Grade;
using report::Printable;
using sourcemap::BinaryInfo;

constexpr size_t kNamesShown = 5;

double Share(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

std::string Run(const ProgramFacts& facts, const char* options) {
  if (facts.pid != 0) return absl::StrCat("coz attach", options, " ", facts.pid);
  return absl::StrCat("coz run", options, " --- ", report::Quoted(facts.word), " …");
}

Finding FileKind(const ProgramFacts& facts) {
  const BinaryInfo& info = facts.info;
  if (info.can_be_preloaded()) {
    return {Grade::kGood, "file", absl::StrCat(info.description, ", dynamically linked"), ""};
  }
  if (info.is_static) {
    return {Grade::kProblem, "file",
            "statically linked, so the profiler's library cannot be loaded into it",
            sourcemap::StaticRemedy(info)};
  }
  if (!info.foreign_loader.empty()) {
    return {
        Grade::kProblem, "file",
        absl::StrCat("its loader is ", info.foreign_loader,
                     ", which is not of glibc 2.35 or later, so the profiler's library cannot be "
                     "loaded into it"),
        "build it for this machine's glibc"};
  }
  if (info.needs_no_library) {
    return {Grade::kProblem, "file",
            "linked with no C library, so the profiler's library sees none of its calls",
            info.is_go ? sourcemap::kGoRemedy : "link it with libc"};
  }
  const bool is_script = info.kind == BinaryInfo::Kind::kScript;
  return {Grade::kProblem, "file", absl::StrCat(info.description, ", not an x86-64 program"),
          is_script ? absl::StrCat("name the program that it starts, or profile what it starts: ",
                                   Run(facts, " --follow=all"))
                    : absl::StrCat("look at it: file ", report::Quoted(info.path))};
}

Finding Rights(const ProgramFacts& facts) {
  if (!facts.gains_rights || facts.pid != 0) return {};
  return {Grade::kProblem, "rights",
          "it gains rights when it is started (setuid, setgid or file capabilities), so the loader "
          "preloads nothing into it",
          absl::StrCat("profile a copy, as the user that it becomes: cp ",
                       report::Quoted(facts.info.path), " .")};
}

// Its own code is not told apart from libc's, and is looked at once it is linked otherwise.
bool HasLibcWithin(const ProgramFacts& facts) { return facts.info.is_static && !facts.info.is_go; }

Finding Signals(const ProgramFacts& facts) {
  if (facts.takes_signals_itself && !HasLibcWithin(facts)) {
    return {Grade::kProblem, "signals",
            "it handles signals by the system call rt_sigaction without libc, and might take a "
            "sample for a signal of its own",
            "let it use sigaction()"};
  }
  if (!facts.info.is_go || !facts.info.can_be_preloaded()) return {};
  const std::string seen =
      facts.why_no_goroutines.empty()
          ? "waits of goroutines for each other are seen"
          : absl::StrCat(
                "where goroutines wait for each other, effects look smaller or larger than "
                "they are, for ",
                facts.why_no_goroutines);
  return {
      Grade::kNote, "Go",
      absl::StrCat(
          "its runtime makes system calls without libc: time in the kernel is not sampled; ", seen),
      "see: docs/running.md, Go"};
}

Finding MissingSplits(const sourcemap::DebugSummary& debug, const std::string& what) {
  return {Grade::kWarning, "debug info",
          absl::StrCat(what, "; ", report::Counted(debug.splits_missing, ".dwo file"),
                       debug.splits_missing == 1 ? " is" : " are", " missing (first: ",
                       Printable(debug.split_missing), "), so inlined calls are not known"),
          debug.split_package.empty()
              ? "build it again and keep the .dwo files where the compiler writes them"
              : absl::StrCat("keep the .dwo files where the compiler writes them; the package ",
                             Printable(debug.split_package), " is not read")};
}

Finding DebugInformation(const ProgramFacts& facts) {
  const BinaryInfo& info = facts.info;
  if (info.debug_path.empty()) {
    if (!info.unreadable_section.empty()) {
      return {Grade::kProblem, "debug info",
              absl::StrCat(info.unreadable_section, " is compressed in a way that coz cannot read"),
              absl::StrCat("objcopy --decompress-debug-sections ", report::Quoted(info.path))};
    }
    if (!info.unfit_debug_path.empty()) {
      return {Grade::kProblem, "debug info",
              absl::StrCat(Printable(info.unfit_debug_path),
                           " is of another build, so no lines are known"),
              "put the debug file of this very build there, or build with -g"};
    }
    return {Grade::kProblem, "debug info", "none was found, so no lines are known",
            info.has_function_names() ? absl::StrCat("build with -g; or measure functions: ",
                                                     Run(facts, " --unit=function"))
                                      : "build with -g"};
  }
  std::vector<std::string> versions;
  for (const auto& [version, units] : facts.debug.units_by_version) {
    versions.push_back(absl::StrCat(version));
  }
  const std::string where = info.debug_path == info.path ? "in the program" : info.debug_path;
  const double covered = Share(facts.debug.covered_bytes, facts.debug.code_bytes);
  const std::string what =
      absl::StrFormat("%s, DWARF %s, covers %.0f %% of the code", Printable(where),
                      absl::StrJoin(versions, " and "), 100 * covered);
  constexpr double kMost = 0.5;
  if (facts.debug.splits_missing > 0) return MissingSplits(facts.debug, what);
  // The C library's code is in it, and seldom has any.
  if (covered >= kMost || info.is_static) return {Grade::kGood, "debug info", what, ""};
  return {Grade::kWarning, "debug info", what, "build all of what is yours with -g"};
}

Finding Scope(const ProgramFacts& facts) {
  if (facts.info.debug_path.empty()) return {};
  const double share = Share(facts.bytes_in_scope, facts.debug.code_bytes);
  if (facts.lines_in_scope == 0) {
    return {
        Grade::kProblem, "scope",
        "no line is of your own sources: all are of the system, the toolchain or fetched "
        "crates, as where what is yours was built without -g",
        absl::StrCat("build what is yours with -g; or measure functions: ",
                     Run(facts, " --unit=function"), "; or take all in: ", Run(facts, " -s %"))};
  }
  return {Grade::kGood, "scope",
          absl::StrFormat("%s of your own sources %s %.0f %% of the code",
                          report::Counted(facts.lines_in_scope, "line"),
                          facts.lines_in_scope == 1 ? "has" : "have", 100 * share),
          ""};
}

Finding Optimized(const ProgramFacts& facts) {
  // Go optimizes unless it is told not to, and does not say so.
  const uint64_t bare = facts.info.is_go ? 0 : facts.debug.units_unoptimized;
  if (bare == 0 || bare < facts.debug.units_optimized) return {};
  return {Grade::kWarning, "optimization",
          absl::StrFormat("%d of %s compiled without -O: other lines matter than in the program "
                          "that you ship",
                          bare,
                          bare + facts.debug.units_optimized == 1
                              ? std::string("1 source was")
                              : absl::StrCat(bare + facts.debug.units_optimized, " sources were")),
          "build with -O2 -g"};
}

Finding Symbols(const ProgramFacts& facts) {
  if (facts.info.has_symbols) {
    return {Grade::kGood, "symbols", "functions outside of debug information have names", ""};
  }
  // A separate debug file has them, too.
  if (!facts.info.debug_path.empty()) {
    return {Grade::kNote, "symbols", "stripped; names come from the debug information", ""};
  }
  if (facts.info.has_function_names()) {
    return {Grade::kNote, "symbols",
            absl::StrFormat("stripped; of its functions the %d that it exports have names",
                            facts.info.exported_functions),
            "link without -s"};
  }
  return {Grade::kWarning, "symbols", "stripped: functions have no names", "link without -s"};
}

Finding Points(const ProgramFacts& facts) {
  std::set<std::string> names;
  std::set<std::string> begins;
  std::set<std::string> ends;
  for (const points::MarkInFile& mark : facts.marks.marks) {
    names.insert(Printable(mark.name));
    if (mark.kind == points::MarkKind::kBegin) begins.insert(Printable(mark.name));
    if (mark.kind == points::MarkKind::kEnd) ends.insert(Printable(mark.name));
  }
  if (begins != ends) {
    std::set<std::string> alone;
    std::set_symmetric_difference(begins.begin(), begins.end(), ends.begin(), ends.end(),
                                  std::inserter(alone, alone.end()));
    return {Grade::kWarning, "points",
            absl::StrCat("of ", absl::StrJoin(alone, ", "),
                         " there is only COZ_BEGIN, or only COZ_END, in the program itself"),
            "put the other where the work ends or begins; the names have to be the same"};
  }
  if (!names.empty()) {
    const size_t shown = std::min(names.size(), kNamesShown);
    const auto last = std::next(names.begin(), static_cast<ptrdiff_t>(shown));
    return {Grade::kGood, "points",
            absl::StrCat(names.size(), ": ", absl::StrJoin(names.begin(), last, ", "),
                         shown < names.size() ? " …" : ""),
            ""};
  }
  if (facts.marks.has_marks_of_original) {
    return {Grade::kGood, "points",
            "it has marks of the original's coz.h; which, is known once they are passed", ""};
  }
  constexpr char kNone[] = "no mark is in the program itself, though a library of it may have some";
  if (facts.pid != 0 && !facts.info.has_function_names()) {
    return {Grade::kWarning, "points", kNone,
            absl::StrCat("its functions have no names (stripped), so install its debug symbols; or "
                         "count calls into a library: coz attach --progress='libc.so*!sendmsg' ",
                         facts.pid)};
  }
  if (facts.pid != 0) {
    return {Grade::kWarning, "points", kNone,
            absl::StrCat("find a function to count: coz points --pid=", facts.pid)};
  }
  return {Grade::kWarning, "points", kNone,
          absl::StrCat("put COZ_PROGRESS where a unit of work is done; or find a function to "
                       "count: coz points --- ",
                       report::Quoted(facts.word),
                       " …; or measure whole runs: ", Run(facts, " --end-to-end --repeat=20"))};
}

Finding Waits(const ProgramFacts& facts) {
  if (HasLibcWithin(facts)) return {};
  std::vector<std::string> seen;
  for (const std::string& library : facts.waits.libraries) seen.push_back(library);
  for (const std::string& call : facts.waits.calls) seen.push_back(absl::StrCat(call, "()"));
  for (const std::string& call : facts.waits.own_system_calls) {
    seen.push_back(absl::StrCat("the system call ", call, " without libc"));
  }
  if (seen.empty()) return {Grade::kGood, "waits", "no way to wait that coz does not know", ""};
  return {Grade::kNote, "waits",
          absl::StrCat("the program has ", Printable(absl::StrJoin(seen, ", ")),
                       "; where threads wait for each other by these, effects look smaller or "
                       "larger than they are"),
          "put COZ_PRE_BLOCK and COZ_POST_BLOCK around such waits"};
}

}  // namespace

std::vector<Finding> FindingsOfProgram(const ProgramFacts& facts) {
  std::vector<Finding> findings = {FileKind(facts)};
  if (facts.info.kind != BinaryInfo::Kind::kElf) return findings;
  for (const auto check :
       {Rights, Signals, DebugInformation, Scope, Optimized, Symbols, Points, Waits}) {
    Finding finding = check(facts);
    if (!finding.subject.empty()) findings.push_back(std::move(finding));
  }
  return findings;
}

}  // namespace coz::supervisor
