#include "coz/report/wording/next_command.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "coz/report/wording/repeat_command.h"

namespace coz::report {
namespace {

// A shorter session may be too short for figures.
constexpr uint64_t kLongEnoughNs = 20'000'000'000;

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

// To what does not need debug information, and then to what needs no names of functions either.
void WidenToWorker(const std::string& worker, profile::Options* options) {
  const std::string scope = absl::StrCat("%", worker);
  const bool was_in_scope = HasScope(*options, scope);
  options->clear_binary_scope();
  options->clear_source_scope();
  options->add_binary_scope(scope);
  const profile::UnitKind kind = options->unit_kind();
  const bool are_lines = kind == profile::UNIT_KIND_UNKNOWN || kind == profile::UNIT_KIND_LINE ||
                         kind == profile::UNIT_KIND_FILE;
  if (are_lines) {
    options->set_unit_kind(profile::UNIT_KIND_FUNCTION);
  } else if (was_in_scope) {
    options->set_unit_kind(profile::UNIT_KIND_LIBRARY);
  }
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

}  // namespace

void FollowWorker(const std::string& worker, profile::Options* options) {
  options->set_follow("all");
  if (HasScope(*options, "MAIN")) options->set_binary_scope(0, absl::StrCat("%", worker));
}

NextCommands NextCommandsOf(const profile::Session& session, const std::string& worker) {
  if (session.options().attached_pid() != 0) return {CommandAgain(session), ""};
  profile::Session next = session;
  if (next.options().duration_ns() < kLongEnoughNs) next.mutable_options()->clear_duration_ns();
  NextCommands commands;
  commands.widened = Widened(next, worker);
  if (!worker.empty()) FollowWorker(worker, next.mutable_options());
  commands.again = CommandAgain(next);
  return commands;
}

}  // namespace coz::report
