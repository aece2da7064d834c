#include "coz/base/command_name.h"

#include <string_view>
#include <utility>

namespace coz {
namespace {

constexpr std::string_view kPlainName = "coz";

std::string& Name() {
  static std::string* const name = new std::string(kPlainName);
  return *name;
}

pid_t& AttachedProcess() {
  static pid_t pid = 0;
  return pid;
}

// Whether a command to type begins there.
bool IsCommand(std::string_view text, size_t at) {
  const std::string_view before = text.substr(0, at);
  const bool is_quoted = !before.empty() && before.back() == '`';
  const auto ends_with = [before](std::string_view end) {
    return before.size() >= end.size() && before.substr(before.size() - end.size()) == end;
  };
  const bool is_announced = ends_with(": ") || ends_with("sudo ");
  const size_t next = at + kPlainName.size();
  return (is_quoted || is_announced) && next + 1 < text.size() && text[next] == ' ' &&
         ((text[next + 1] >= 'a' && text[next + 1] <= 'z') || text[next + 1] == '-');
}

}  // namespace

void SetCommandName(std::string name) { Name() = std::move(name); }

const std::string& CommandName() { return Name(); }

std::string WithCommandName(std::string text) {
  for (size_t at = text.find(kPlainName); at != std::string::npos; at = text.find(kPlainName, at)) {
    if (IsCommand(text, at)) {
      text.replace(at, kPlainName.size(), Name());
      at += Name().size();
    } else {
      at += kPlainName.size();
    }
  }
  return text;
}

void SetAttachedProcess(pid_t pid) { AttachedProcess() = pid; }

std::string ProfilingCommand(const std::string& options) {
  const std::string words = options.empty() ? "" : " " + options;
  if (AttachedProcess() == 0) return "coz run" + words + " --- …";
  return "coz attach" + words + " " + std::to_string(AttachedProcess());
}

}  // namespace coz
