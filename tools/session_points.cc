#include "tools/session_points.h"

#include <cstdio>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "coz/report/wording/text_layout.h"
#include "coz/supervisor/session/ask_session.h"
#include "coz/supervisor/target/container_entry.h"
#include "tools/command_line.h"

namespace coz {
namespace {

void PrintPoints(const std::string& rows) {
  if (rows.empty()) {
    Say("the session has no progress point; add one with --add");
    return;
  }
  report::TextTable table(
      {report::Align::kLeft, report::Align::kLeft, report::Align::kRight, report::Align::kRight});
  table.AddRow({"point", "counted by", "since", "visits"});
  for (const absl::string_view row : absl::StrSplit(rows, '\n', absl::SkipEmpty())) {
    std::vector<std::string> cells;
    for (const absl::string_view cell : absl::StrSplit(row, '\t')) {
      cells.push_back(report::Printable(cell));
    }
    cells.resize(4);
    table.AddRow(cells);
  }
  absl::PrintF("%s", table.Render(0));
}

}  // namespace

int ChangeSessionPoints(const SessionPointsArguments& arguments) {
  std::vector<std::string> requests;
  for (const std::string& place : arguments.add) requests.push_back(absl::StrCat("add ", place));
  for (const std::string& place : arguments.remove) {
    requests.push_back(absl::StrCat("remove ", place));
  }
  pid_t session = arguments.session;
  if (supervisor::IsInContainer(session)) {
    const absl::StatusOr<pid_t> inside = supervisor::EnterContainer(session, "");
    if (!inside.ok()) return Report(inside.status());
    session = *inside;
  }
  for (const std::string& request : requests) {
    const absl::StatusOr<std::string> answer = supervisor::AskSession(session, request);
    if (!answer.ok()) return Report(answer.status());
    Say(*answer);
  }
  if (!arguments.list && !requests.empty()) return 0;
  const absl::StatusOr<std::string> rows = supervisor::AskSession(session, "list");
  if (!rows.ok()) return Report(rows.status());
  PrintPoints(*rows);
  return 0;
}

}  // namespace coz
