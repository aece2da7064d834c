#include "coz/report/wording/typed_name.h"

#include <fnmatch.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace coz::report {
namespace {

// Only '*' is a wildcard, and the sign with which reports shorten names. The other wildcards of
// fnmatch are ordinary characters in names.
std::string Escaped(const std::string& pattern) {
  std::string result;
  for (char c : absl::StrReplaceAll(pattern, {{"…", "*"}})) {
    if (c == '?' || c == '[' || c == '\\') result.push_back('\\');
    result.push_back(c);
  }
  return result;
}

}  // namespace

bool MatchesName(const std::string& pattern, const std::string& name) {
  const std::string escaped = Escaped(pattern);
  return fnmatch(escaped.c_str(), name.c_str(), 0) == 0 ||
         fnmatch(absl::StrCat("*/", escaped).c_str(), name.c_str(), 0) == 0 ||
         fnmatch(absl::StrCat("*::", escaped).c_str(), name.c_str(), 0) == 0;
}

}  // namespace coz::report
