#include "coz/supervisor/points/refused_calls.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace coz::supervisor {
namespace {

constexpr size_t kShownNames = 3;

// Where not even calls are counted, none is timed.
bool IsCounted(const std::vector<RefusedCalls>& refused, const std::string& function) {
  return std::none_of(refused.begin(), refused.end(), [&function](const RefusedCalls& other) {
    return !other.only_times && other.function == function;
  });
}

std::string Sentence(const std::string& library, const std::set<std::string>& functions,
                     bool only_times, const std::string& why) {
  const std::string of = library.empty() ? "" : absl::StrCat(" of ", library);
  std::string text =
      functions.size() == 1
          ? absl::StrCat("calls of ", library, library.empty() ? "" : "!", *functions.begin())
          : absl::StrCat("calls of ", functions.size(), " functions", of);
  absl::StrAppend(&text, " are not ", only_times ? "timed" : "counted", " in all processes, for ",
                  why);
  if (functions.size() > 1) absl::StrAppend(&text, ": ", SomeNames(functions));
  if (why == kBlocksInside) {
    absl::StrAppend(&text, "; start the program with: coz run --- PROGRAM");
  }
  return text;
}

}  // namespace

std::vector<std::string> DescribeRefusedCalls(const std::vector<RefusedCalls>& refused) {
  std::map<std::tuple<std::string, bool, std::string>, std::set<std::string>> groups;
  for (const RefusedCalls& one : refused) {
    if (one.only_times && !IsCounted(refused, one.function)) continue;
    const size_t mark = one.function.find('!');
    const bool has_library = mark != std::string::npos;
    const std::string library = has_library ? one.function.substr(0, mark) : "";
    groups[{library, one.only_times, one.why}].insert(has_library ? one.function.substr(mark + 1)
                                                                  : one.function);
  }
  std::vector<std::string> sentences;
  sentences.reserve(groups.size());
  for (const auto& [group, functions] : groups) {
    const auto& [library, only_times, why] = group;
    sentences.push_back(Sentence(library, functions, only_times, why));
  }
  return sentences;
}

std::string SomeNames(const std::set<std::string>& names) {
  const size_t shown = std::min(names.size(), kShownNames);
  std::string text = absl::StrJoin(
      names.begin(), std::next(names.begin(), static_cast<std::ptrdiff_t>(shown)), ", ");
  if (shown < names.size()) absl::StrAppend(&text, " and ", names.size() - shown, " more");
  return text;
}

}  // namespace coz::supervisor
