#include "coz/base/split_package.h"

#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

namespace coz {

std::string SplitPackageOf(const std::string& program) {
  char resolved[PATH_MAX];
  if (realpath(program.c_str(), resolved) == nullptr) return "";
  const std::string package = std::string(resolved) + ".dwp";
  return access(package.c_str(), R_OK) == 0 ? package : "";
}

}  // namespace coz
