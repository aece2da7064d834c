#include "coz/report/text/apis_text.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "coz/report/text/call_figures.h"
#include "coz/report/wording/repeat_command.h"
#include "coz/report/wording/text_layout.h"

namespace coz::report {
namespace {

constexpr int kApiIndent = 2;
constexpr char kJumps[] = "ends in a jump";

std::string PerCall(const CallTimes& times) {
  const double ns = static_cast<double>(times.wall_ns) / static_cast<double>(times.calls);
  if (ns < 1e3) return absl::StrFormat("%.0f ns", ns);
  return ns < 1e6 ? absl::StrFormat("%.1f us", ns / 1e3) : absl::StrFormat("%.1f ms", ns / 1e6);
}

std::vector<std::string> ApiLine(const std::string& function, const std::string& caller,
                                 uint64_t calls, const CallTimes& times, uint64_t run_ns,
                                 const std::string& remark) {
  if (times.calls == 0) return {function, caller, Grouped(calls), "-", "-", "-", "-", remark};
  return {function,
          caller,
          Grouped(calls),
          CallSeconds(times.wall_ns),
          ShareOf(times.wall_ns, run_ns),
          CallSeconds(times.cpu_ns),
          PerCall(times),
          remark};
}

// Of calls whose end was not seen, where others of the function may be.
std::string UntimedApis(const std::vector<ApiRow>& rows, size_t shown) {
  std::string text;
  for (size_t i = 0; i < shown; ++i) {
    const ApiRow& row = rows[i];
    if (!row.timing.is_timed || row.times.calls >= row.calls) continue;
    absl::StrAppend(&text, "  ", Printable(row.function), " from ", Printable(row.caller), ": ",
                    Grouped(row.calls - row.times.calls), " of ", Grouped(row.calls),
                    " calls have no time, as they were open at the end, or were left by an "
                    "exception or longjmp\n");
  }
  return text;
}

std::string NoApis(const profile::Profile& profile) {
  std::set<std::string> asked;
  for (const profile::Session& session : profile.session()) {
    for (const std::string& text : session.options().api()) asked.insert(Printable(text));
  }
  if (!asked.empty()) {
    return absl::StrCat("No call of ", absl::StrJoin(asked, ", "),
                        " was counted; where coz cannot count, it says why at the end of the "
                        "run\n");
  }
  return WithItsCommand(
      "The profile holds no calls into libraries; count them with `coz run --api LIBRARY`, as in "
      "--api libz.so\n",
      profile);
}

}  // namespace

std::string RenderApis(const ApiTable& table, const profile::Profile& profile,
                       const TextOptions& options) {
  if (table.rows.empty()) return NoApis(profile);
  std::vector<Align> alignment(8, Align::kRight);
  alignment[0] = alignment[1] = alignment[7] = Align::kLeft;
  TextTable text(alignment);
  text.AddRow({"function", "from", "calls", "wall time", "of the run", "CPU time", "a call", ""});
  const size_t shown = options.max_lines == 0
                           ? table.rows.size()
                           : std::min(table.rows.size(), static_cast<size_t>(options.max_lines));
  bool any_untimed = false;
  bool any_jumps = false;
  for (size_t i = 0; i < shown; ++i) {
    const ApiRow& row = table.rows[i];
    any_untimed |= !row.timing.is_timed;
    any_jumps |= row.timing.ends_in_jump;
    text.AddRow(ApiLine(Printable(row.function), Printable(row.caller), row.calls, row.times,
                        table.run_ns, row.timing.ends_in_jump ? kJumps : ""));
    if (!options.verbose) continue;
    for (const ApiThread& thread : row.threads) {
      text.AddRow(ApiLine("", absl::StrCat("  ", Printable(thread.name)), thread.calls,
                          thread.times, table.run_ns, ""));
    }
  }
  std::string result = text.Render(kApiIndent);
  if (shown < table.rows.size()) {
    absl::StrAppend(&result, "  and ", table.rows.size() - shown, " more; for all: -n 0\n");
  }
  if (any_untimed) {
    result += "  -: the ends of these calls are not seen, so they have no time\n";
  }
  if (any_jumps) {
    absl::StrAppend(&result, "  ", kJumps, ": to another function, whose time is not in it\n");
  }
  return result + UntimedApis(table.rows, shown);
}

}  // namespace coz::report
