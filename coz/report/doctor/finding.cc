#include "coz/report/doctor/finding.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "coz/report/wording/text_layout.h"

namespace coz::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kIndent = 2;
constexpr int kGradeWidth = 7;  // "problem"
constexpr int kNarrowestText = 30;

int SubjectWidth(const std::vector<FindingGroup>& groups) {
  int width = 0;
  for (const FindingGroup& group : groups) {
    for (const Finding& finding : group.findings) {
      width = std::max(width, DisplayWidth(finding.subject));
    }
  }
  return width;
}

// The text in lines, each but the first behind `indent` blanks.
std::string Hanging(const std::string& text, int indent, int width) {
  const int room = std::max(kNarrowestText, width - indent);
  std::string hanging;
  for (const absl::string_view line : absl::StrSplit(Wrapped(text, room), '\n')) {
    const absl::string_view words = absl::StripAsciiWhitespace(line);
    if (words.empty()) continue;
    if (!hanging.empty()) absl::StrAppend(&hanging, std::string(static_cast<size_t>(indent), ' '));
    absl::StrAppend(&hanging, words, "\n");
  }
  return hanging;
}

}  // namespace

const char* GradeId(Grade grade) {
  switch (grade) {
    case Grade::kGood:
      return "ok";
    case Grade::kNote:
      return "note";
    case Grade::kWarning:
      return "warning";
    case Grade::kProblem:
      return "problem";
  }
  return "";
}

bool HasProblem(const std::vector<FindingGroup>& groups) {
  return std::any_of(groups.begin(), groups.end(), [](const FindingGroup& group) {
    return std::any_of(group.findings.begin(), group.findings.end(),
                       [](const Finding& f) { return f.grade == Grade::kProblem; });
  });
}

std::string FindingsText(const std::vector<FindingGroup>& groups, int width) {
  const int subject_width = SubjectWidth(groups);
  const int indent = kIndent + kGradeWidth + 2 + subject_width + 2;
  std::string text;
  for (const FindingGroup& group : groups) {
    absl::StrAppend(&text, text.empty() ? "" : "\n", Printable(group.title), "\n");
    for (const Finding& finding : group.findings) {
      absl::StrAppend(&text, std::string(kIndent, ' '),
                      Pad(GradeId(finding.grade), kGradeWidth, Align::kLeft), "  ",
                      Pad(finding.subject, subject_width, Align::kLeft), "  ",
                      Hanging(finding.what, indent, width));
      if (finding.remedy.empty()) continue;
      const std::string arrow = "→ ";
      absl::StrAppend(&text, std::string(static_cast<size_t>(indent), ' '), arrow,
                      Hanging(finding.remedy, indent + 2, width));
    }
  }
  return text;
}

Json FindingsJson(const std::vector<FindingGroup>& groups) {
  Json shown = Json::array();
  for (const FindingGroup& group : groups) {
    Json findings = Json::array();
    for (const Finding& finding : group.findings) {
      findings.push_back({{"grade", GradeId(finding.grade)},
                          {"subject", finding.subject},
                          {"what", Printable(finding.what)},
                          {"remedy", Printable(finding.remedy)}});
    }
    shown.push_back({{"title", Printable(group.title)}, {"findings", findings}});
  }
  return {{"schema", "coz-doctor"},
          {"schema_version", 1},
          {"has_problem", HasProblem(groups)},
          {"groups", shown}};
}

Finding FindingOfNote(absl::string_view subject, absl::string_view note) {
  const size_t split = note.rfind("; ");
  Finding finding = {Grade::kWarning, std::string(subject), std::string(note.substr(0, split)), ""};
  if (split != absl::string_view::npos) finding.remedy = std::string(note.substr(split + 2));
  return finding;
}

}  // namespace coz::report
