#include "coz/report/wording/next_command.h"

#include <algorithm>
#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "coz/report/wording/repeat_command.h"

namespace coz::report {
namespace {

// A shorter session may be too short for figures.
constexpr uint64_t kLongEnoughNs = 20'000'000'000;
constexpr uint64_t kAmpleNs = 60'000'000'000;

// Whether these patterns alone decide.
bool HasScope(const profile::Options& options, const std::string& scope) {
  return options.binary_scope_size() == 1 && options.binary_scope(0) == scope;
}

void WidenToAll(profile::Options* options) {
  options->clear_binary_scope();
  options->clear_source_scope();
  options->add_binary_scope("%");
  options->add_source_scope("%");
}

// That need no debug information, and then, where their code was in scope already, no names of
// functions either.
void TakeLargerUnits(bool was_in_scope, profile::Options* options) {
  const profile::UnitKind kind = options->unit_kind();
  const bool are_lines = kind == profile::UNIT_KIND_UNKNOWN || kind == profile::UNIT_KIND_LINE ||
                         kind == profile::UNIT_KIND_FILE;
  if (are_lines) {
    options->set_unit_kind(profile::UNIT_KIND_FUNCTION);
  } else if (was_in_scope) {
    options->set_unit_kind(profile::UNIT_KIND_LIBRARY);
  }
}

void WidenToWorker(const std::string& worker, profile::Options* options) {
  const std::string scope = absl::StrCat("%", worker);
  const bool was_in_scope = HasScope(*options, scope);
  options->clear_binary_scope();
  options->clear_source_scope();
  options->add_binary_scope(scope);
  TakeLargerUnits(was_in_scope, options);
}

std::string Widened(profile::Session session, const std::string& worker) {
  profile::Options* const options = session.mutable_options();
  if (worker.empty()) {
    WidenToAll(options);
  } else {
    WidenToWorker(worker, options);
    FollowWorker(worker, options);
  }
  return CommandAgain(session);
}

// That there is a process of this number is not said.
std::string OfAnyProcess(const std::string& command, int pid) {
  return absl::StrCat(absl::StripSuffix(command, std::to_string(pid)), "PID");
}

NextCommands AttachCommands(const profile::Session& session, bool has_ended) {
  const auto with = [&](auto change) {
    profile::Session next = session;
    change(next.mutable_options());
    const std::string command = CommandAgain(next);
    return has_ended ? OfAnyProcess(command, session.options().attached_pid()) : command;
  };
  const profile::Options& options = session.options();
  NextCommands commands;
  commands.again = with([](profile::Options*) {});
  commands.widened = with([](profile::Options* next) {
    const bool were_all_in_scope = HasScope(*next, "%");
    WidenToAll(next);
    TakeLargerUnits(were_all_in_scope, next);
  });
  commands.counting = with([](profile::Options* next) { next->add_progress("FUNCTION"); });
  commands.listing =
      absl::StrCat("coz points --pid=", has_ended ? "PID" : absl::StrCat(options.attached_pid()),
                   options.attached_tree() ? " --tree" : "");
  commands.longer = with([](profile::Options* next) {
    next->set_duration_ns(std::max(kAmpleNs, 2 * next->duration_ns()));
  });
  return commands;
}

}  // namespace

void FollowWorker(const std::string& worker, profile::Options* options) {
  options->set_follow("all");
  if (HasScope(*options, "MAIN")) options->set_binary_scope(0, absl::StrCat("%", worker));
}

NextCommands NextCommandsOf(const profile::Session& session, const std::string& worker,
                            bool has_ended) {
  if (session.options().attached_pid() != 0) return AttachCommands(session, has_ended);
  profile::Session next = session;
  if (next.options().duration_ns() < kLongEnoughNs) next.mutable_options()->clear_duration_ns();
  NextCommands commands;
  commands.widened = Widened(next, worker);
  if (!worker.empty()) FollowWorker(worker, next.mutable_options());
  commands.again = CommandAgain(next);
  return commands;
}

}  // namespace coz::report
