#include "tools/command_line.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "absl/strings/str_format.h"

namespace coz {

std::string FindProductFile(const std::string& path_in_repository,
                            const std::string& path_installed) {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return "";
  // bin/tools/coz lies beside bin/coz/...; PREFIX/bin/coz beside PREFIX/lib/coz/...
  const std::filesystem::path root = self.parent_path().parent_path();
  for (const std::string& candidate : {path_in_repository, path_installed}) {
    const std::filesystem::path file = root / candidate;
    if (std::filesystem::exists(file, error)) return file.string();
  }
  return "";
}

void EnterCallersFolder() {
  const char* folder = getenv("COZ_CALLER_PWD");
  if (folder == nullptr) folder = getenv("BUILD_WORKING_DIRECTORY");
  if (folder != nullptr && chdir(folder) != 0) {
    absl::FPrintF(stderr, "coz: cannot enter %s, staying in this folder\n", folder);
  }
  // The program is not to see them.
  unsetenv("COZ_CALLER_PWD");
  unsetenv("BUILD_WORKING_DIRECTORY");
  unsetenv("BUILD_WORKSPACE_DIRECTORY");
}

int Report(const absl::Status& status) {
  if (status.ok()) return 0;
  absl::FPrintF(stderr, "coz: %s\n", status.message());
  return kFailure;
}

}  // namespace coz
