#include "coz/supervisor/run/launcher_hint.h"

#include <algorithm>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
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

void Consider(absl::string_view word, Worker* best) {
  if (word.empty()) return;
  const Known known = WhatIsKnown(std::string(word));
  if (known > best->known) *best = {std::string(word), FileOf(std::string(word)), known};
}

// The program among the arguments of which most is known, the first of several. A shell has its
// command in one argument.
Worker FindWorker(const std::vector<std::string>& command) {
  Worker best;
  for (size_t i = 1; i < command.size(); ++i) {
    Consider(command[i], &best);
    const std::vector<absl::string_view> parts =
        absl::StrSplit(command[i], absl::ByAnyChar(" \t\n;&|()'\""));
    if (parts.size() == 1) continue;
    for (const absl::string_view part : parts) Consider(part, &best);
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
  report::FollowWorker(worker.file, session.mutable_options());
  return absl::Status(
      status.code(), absl::StrFormat("%s; if it only starts %s, run `%s`", Reason(status.message()),
                                     worker.word, report::CommandAgain(session)));
}

}  // namespace coz::supervisor
