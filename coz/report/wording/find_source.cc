#include "coz/report/wording/find_source.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace coz::report {
namespace {

bool IsReadable(const std::string& path) {
  struct stat status;
  return stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) && std::ifstream(path).good();
}

std::string LongestEndIn(const std::string& folder, absl::string_view file) {
  while (!file.empty()) {
    while (!file.empty() && file[0] == '/') file.remove_prefix(1);
    std::string candidate = absl::StrCat(folder, "/", file);
    if (!file.empty() && IsReadable(candidate)) return candidate;
    const size_t slash = file.find('/');
    if (slash == absl::string_view::npos) break;
    file.remove_prefix(slash);
  }
  return "";
}

}  // namespace

std::string FindSource(const std::string& file, const std::vector<std::string>& folders) {
  if (!file.empty() && file[0] == '/' && IsReadable(file)) return file;
  for (const std::string& folder : folders) {
    std::string found = LongestEndIn(folder, file);
    if (!found.empty()) return found;
  }
  return "";
}

std::vector<std::string> SourceFolders(const std::vector<std::string>& wanted,
                                       const profile::Profile& profile) {
  std::vector<std::string> folders = wanted;
  std::set<std::string> known(folders.begin(), folders.end());
  const auto add = [&](const std::string& folder) {
    if (!folder.empty() && known.insert(folder).second) folders.push_back(folder);
  };
  add(".");
  for (const profile::Session& session : profile.session()) {
    add(session.working_folder());
    if (session.command_size() == 0 || !absl::StrContains(session.command(0), "/")) continue;
    std::error_code error;
    const std::filesystem::path program = std::filesystem::weakly_canonical(
        std::filesystem::path(session.working_folder()) / session.command(0), error);
    const std::string path = program.string();
    if (const size_t outputs = path.find("/bazel-out/"); outputs != std::string::npos) {
      add(path.substr(0, outputs));
    }
    add(program.parent_path().string());
    add(program.parent_path().parent_path().string());
  }
  return folders;
}

uint64_t BeginNs(const profile::Profile& profile) {
  uint64_t begin_ns = 0;
  for (const profile::Session& session : profile.session()) {
    const uint64_t start_ns = session.start_unix_ns();
    if (start_ns != 0) begin_ns = begin_ns == 0 ? start_ns : std::min(begin_ns, start_ns);
  }
  return begin_ns;
}

bool IsModifiedAfter(const std::string& path, uint64_t unix_ns) {
  struct stat status;
  if (unix_ns == 0 || stat(path.c_str(), &status) != 0) return false;
  const auto modified_ns = static_cast<uint64_t>(status.st_mtim.tv_sec) * 1'000'000'000 +
                           static_cast<uint64_t>(status.st_mtim.tv_nsec);
  return modified_ns > unix_ns;
}

}  // namespace coz::report
