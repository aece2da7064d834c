#include "tools/command_line.h"

#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "absl/status/statusor.h"
#include "absl/strings/str_format.h"
#include "coz/base/command_name.h"
#include "coz/base/write_signals.h"
#include "coz/report/analysis/session_facts.h"
#include "coz/supervisor/target/child_process.h"

namespace coz {
namespace {

constexpr char kSelf[] = "/proc/self/exe";

std::string Environment(const char* name) {
  const char* value = getenv(name);
  return value == nullptr ? "" : value;
}

bool StartsThis(const std::filesystem::path& path) {
  std::error_code error;
  return std::filesystem::equivalent(path, kSelf, error) && !error;
}

// What starts this file from the current folder: as the user did, or by Bazel's link to what it has
// built. Another coz may come first on the path.
std::string WordToType(const std::string& argv0, const std::string& workspace) {
  std::error_code error;
  if (!workspace.empty()) {
    const std::filesystem::path link = std::filesystem::path(workspace) / "bazel-bin/tools/coz";
    if (StartsThis(link)) {
      const std::string near =
          link.lexically_proximate(std::filesystem::current_path(error)).string();
      return near.size() < link.string().size() ? near : link.string();
    }
  }
  if (argv0.find('/') != std::string::npos) {
    if (StartsThis(argv0)) return argv0;
  } else {
    const absl::StatusOr<std::string> found = supervisor::FindProgram(argv0);
    if (found.ok() && StartsThis(*found)) return argv0;
  }
  const std::filesystem::path self = std::filesystem::read_symlink(kSelf, error);
  return error ? argv0 : self.string();
}

// What was typed, before it is quoted.
std::filesystem::path& StartedAs() {
  static auto* const path = new std::filesystem::path;
  return *path;
}

}  // namespace

absl::StatusOr<std::string> FindProductFile(const std::string& path_in_repository,
                                            const std::string& path_installed) {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink(kSelf, error);
  if (error) {
    return absl::UnavailableError(absl::StrFormat(
        "cannot find out where the coz command lies, beside which its other files are (readlink "
        "%s: %s); %s",
        kSelf, error.message(),
        access("/proc/self", F_OK) == 0 ? "look at: ls -l /proc/self/exe"
                                        : "there is no /proc, so type: mount -t proc proc /proc"));
  }
  // bin/tools/coz lies beside bin/coz/...; PREFIX/bin/coz beside PREFIX/lib/coz/...
  const std::filesystem::path root = self.parent_path().parent_path();
  for (const std::string& candidate : {path_in_repository, path_installed}) {
    const std::filesystem::path file = root / candidate;
    if (std::filesystem::exists(file, error)) return file.string();
    if (error) {
      return absl::UnavailableError(absl::StrFormat("cannot look for %s: %s; look at: ls -l %s",
                                                    file.string(), error.message(),
                                                    report::Quoted(file.string())));
    }
  }
  return absl::NotFoundError(absl::StrFormat(
      "cannot find %s beside the coz command; build both with: ./bazelw build //tools:coz",
      std::filesystem::path(path_in_repository).filename().string()));
}

std::string AsStarted(const std::string& file, const std::string& path_in_repository) {
  const std::filesystem::path root = StartedAs().parent_path().parent_path();
  if (root.empty()) return file;
  std::error_code error;
  const std::string near = (root / path_in_repository).string();
  return std::filesystem::equivalent(near, file, error) && !error ? near : file;
}

void OutliveReaders() { IgnoreWriteSignal(SIGPIPE); }

void StartAs(const std::string& argv0) {
  std::string folder = Environment("COZ_CALLER_PWD");
  if (folder.empty()) folder = Environment("BUILD_WORKING_DIRECTORY");
  if (!folder.empty() && chdir(folder.c_str()) != 0) {
    Say(absl::StrFormat("cannot enter %s, staying in this folder", folder));
  }
  const std::string word = WordToType(argv0, Environment("BUILD_WORKSPACE_DIRECTORY"));
  StartedAs() = word;
  SetCommandName(report::Quoted(word));
  // The program is not to see them.
  unsetenv("COZ_CALLER_PWD");
  unsetenv("BUILD_WORKING_DIRECTORY");
  unsetenv("BUILD_WORKSPACE_DIRECTORY");
}

void Say(const std::string& message) {
  absl::FPrintF(stderr, "coz: %s\n", WithCommandName(message));
}

std::string Counted(uint64_t count, const std::string& noun) {
  return absl::StrFormat("%d %s%s", count, noun, count == 1 ? "" : "s");
}

int Report(const absl::Status& status) {
  if (status.ok()) return 0;
  Say(std::string(status.message()));
  const int of_program = supervisor::ShellStatus(status);
  return of_program != 0 ? of_program : kFailure;
}

int ReportUsage(const absl::Status& status) {
  const int exit_status = Report(status);
  return absl::IsInvalidArgument(status) ? kUsage : exit_status;
}

}  // namespace coz
