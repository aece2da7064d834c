#include "coz/supervisor/run/launcher_hint.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "coz/base/command_name.h"
#include "coz/points/code_places.h"
#include "coz/points/point_spec.h"
#include "coz/report/analysis/session_facts.h"
#include "coz/report/wording/next_command.h"
#include "coz/report/wording/repeat_command.h"
#include "coz/sourcemap/binary_info.h"
#include "coz/supervisor/run/session_description.h"
#include "coz/supervisor/target/child_process.h"

namespace coz::supervisor {
namespace {

// What is known of a program's code. Each unit needs at least so much: a library, a function, a
// line.
enum class Known { kNothing, kWhole, kFunctions, kLines };

struct Worker {
  std::string word;  // as it stands in the command
  std::string file;  // the name that the program's mapping has: links are followed
  Known known = Known::kNothing;
  size_t argument = 0;  // the one that holds the word, or is it
};

Known WhatIsKnown(const std::string& word) {
  const absl::StatusOr<std::string> path = FindProgram(word);
  if (!path.ok()) return Known::kNothing;
  const absl::StatusOr<sourcemap::BinaryInfo> info = sourcemap::DescribeBinary(*path);
  if (!info.ok() || !info->can_be_preloaded()) return Known::kNothing;
  if (!info->debug_path.empty()) return Known::kLines;
  // Many words are names of the system's tools.
  if (!absl::StrContains(word, "/")) return Known::kNothing;
  return info->has_function_names() ? Known::kFunctions : Known::kWhole;
}

// Debian's redis-server is a link to redis-check-rdb.
std::string FileOf(const std::string& word) {
  const absl::StatusOr<std::string> path = FindProgram(word);
  std::error_code error;
  const std::filesystem::path file = std::filesystem::canonical(path.ok() ? *path : word, error);
  return error ? word.substr(word.rfind('/') + 1) : file.filename().string();
}

void Consider(absl::string_view word, size_t argument, Worker* best) {
  if (word.empty()) return;
  const Known known = WhatIsKnown(std::string(word));
  if (known > best->known) *best = {std::string(word), FileOf(std::string(word)), known, argument};
}

// The program among the arguments of which most is known, the first of several. A shell has its
// command in one argument.
Worker FindWorker(const std::vector<std::string>& command) {
  Worker best;
  for (size_t i = 1; i < command.size(); ++i) {
    Consider(command[i], i, &best);
    const std::vector<absl::string_view> parts =
        absl::StrSplit(command[i], absl::ByAnyChar(" \t\n;&|()'\""));
    if (parts.size() == 1) continue;
    for (const absl::string_view part : parts) Consider(part, i, &best);
  }
  return best;
}

// The unit that was asked for, or the finest that is known.
sourcemap::UnitKind KindFor(Known known, sourcemap::UnitKind asked) {
  const bool needs_lines =
      asked == sourcemap::UnitKind::kLine || asked == sourcemap::UnitKind::kFile;
  if (known == Known::kLines || (known == Known::kFunctions && !needs_lines)) return asked;
  return known == Known::kFunctions ? sourcemap::UnitKind::kFunction
                                    : sourcemap::UnitKind::kLibrary;
}

// Of what a process starts that has changed its user or root folder, the library is left out.
bool LeavesTheLibraryOut(const std::string& launcher) {
  constexpr absl::string_view kNames[] = {"capsh", "chpst",   "chroot",  "doas",
                                          "gosu",  "runuser", "setpriv", "setuidgid",
                                          "su",    "su-exec", "sudo"};
  const std::string name = launcher.substr(launcher.rfind('/') + 1);
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

// "setpriv --reuid=1 coz run --unit=function --- ./server 4".
std::string CommandBehindLauncher(const std::vector<std::string>& command, const Worker& worker,
                                  profile::Session session) {
  const std::string& argument = command[worker.argument];
  const bool is_whole = argument == worker.word;
  const size_t end = is_whole ? command.size() : worker.argument + 1;
  session.clear_command();
  if (!is_whole) session.add_command(worker.word);
  for (size_t i = worker.argument; is_whole && i < end; ++i) session.add_command(command[i]);
  const std::string run =
      absl::StrCat(CommandName(), absl::StripPrefix(report::CommandAgain(session), "coz"));
  std::vector<std::string> words;
  for (size_t i = 0; i < worker.argument; ++i) words.push_back(report::Quoted(command[i]));
  std::string of_shell = argument;
  if (!is_whole) of_shell.replace(argument.find(worker.word), worker.word.size(), run);
  words.push_back(is_whole ? run : report::Quoted(of_shell));
  for (size_t i = end; i < command.size(); ++i) words.push_back(report::Quoted(command[i]));
  return absl::StrJoin(words, " ");
}

bool HasPoints(const std::string& word, const std::vector<std::string>& texts) {
  const absl::StatusOr<std::string> path = FindProgram(word);
  if (!path.ok()) return false;
  const absl::StatusOr<std::unique_ptr<points::CodePlaces>> code = points::CodePlaces::Open(*path);
  if (!code.ok()) return false;
  return std::all_of(texts.begin(), texts.end(), [&code](const std::string& text) {
    const absl::StatusOr<points::PointSpec> spec = points::ParsePointSpec(text);
    if (!spec.ok() || !spec->binary.empty()) return true;
    std::string note;
    return (*code)->Find(*spec, points::InlinedCopies::kFind, &note).ok();
  });
}

// "./a has no debug information (...), so ...; build it with ..." without what follows from it.
absl::string_view Reason(absl::string_view message) {
  return message.substr(0,
                        std::min({message.find("; "), message.find(" ("), message.find(", so ")}));
}

}  // namespace

absl::Status WithCommandForWorker(absl::Status status, const RunOptions& options,
                                  const Series& series) {
  if (options.attach_pid != 0 || options.is_launcher) return status;
  const Worker worker = FindWorker(options.command);
  if (worker.known == Known::kNothing) return status;
  RunOptions followed = options;
  followed.units.kind = KindFor(worker.known, options.units.kind);
  profile::Session session;
  for (const std::string& word : options.command) session.add_command(word);
  *session.mutable_options() = AskedOptions(followed, series);
  if (LeavesTheLibraryOut(options.command.front())) {
    return absl::Status(
        status.code(),
        absl::StrFormat("%s; what it starts as another user cannot be reached from here, so start "
                        "coz there: `%s`",
                        Reason(status.message()),
                        CommandBehindLauncher(options.command, worker, session)));
  }
  report::FollowWorker(worker.file, session.mutable_options());
  return absl::Status(
      status.code(), absl::StrFormat("%s; if it only starts %s, run `%s`", Reason(status.message()),
                                     worker.word, report::CommandAgain(session)));
}

absl::Status WithCommandForPoints(absl::Status status, const RunOptions& options,
                                  const Series& series) {
  if (!absl::IsNotFound(status)) return status;
  if (!HasPoints(FindWorker(options.command).word, options.points.progress)) return status;
  return WithCommandForWorker(std::move(status), options, series);
}

}  // namespace coz::supervisor
