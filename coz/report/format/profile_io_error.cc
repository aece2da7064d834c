#include "coz/report/format/profile_io_error.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "coz/base/command_name.h"

namespace coz::report {
namespace {

absl::StatusCode CodeOf(int error) {
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return absl::StatusCode::kNotFound;
    case EACCES:
    case EPERM:
    case EROFS:
      return absl::StatusCode::kPermissionDenied;
    case EISDIR:
      return absl::StatusCode::kFailedPrecondition;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
    case EMFILE:
    case ENFILE:
      return absl::StatusCode::kResourceExhausted;
    default:
      return absl::StatusCode::kUnavailable;
  }
}

std::string Folder(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

bool IsCurrentFolderDeleted() {
  struct stat folder = {};
  return stat(".", &folder) == 0 && folder.st_nlink == 0;
}

const char* Slash(const std::string& folder) {
  return folder.empty() || folder.back() != '/' ? "/" : "";
}

// `writer` is the command that writes, with the options that it is given.
std::string NextForWriting(const std::string& path, int error,
                           absl::FunctionRef<std::string(const std::string&)> writer) {
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      if (path[0] != '/' && IsCurrentFolderDeleted()) {
        return absl::StrCat(
            "the current folder has been deleted; go to another with `cd /tmp`, or "
            "name a file elsewhere with `",
            writer("-o /tmp/profile.pb"), "`");
      }
      return absl::StrCat("make its folder with `mkdir -p ", Folder(path),
                          "`, or name another file with `", writer("-o FILE"), "`");
    case EISDIR:
      return absl::StrCat("name a file in it with `",
                          writer(absl::StrCat("-o ", path, Slash(path), "profile.pb")), "`");
    case ENOSPC:
    case EDQUOT:
      return absl::StrCat("free some space, or write elsewhere with `", writer("-o FILE"), "`");
    case EFBIG:
      return "allow larger files with `ulimit -f unlimited`";
    default:
      return absl::StrCat("name a file that you may write with `", writer("-o FILE"), "`");
  }
}

std::string NextForReading(const std::string& path, int error) {
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return "make a profile first with `coz run --- PROGRAM ARGS`, or give the path of one that "
             "is there";
    case EISDIR:
      return absl::StrCat("name the profile in it, e.g. `coz report ", path, Slash(path),
                          "profile.pb`");
    default:
      return absl::StrCat("see its owner and permissions with `ls -l ", path, "`");
  }
}

std::string Sentence(absl::string_view tried, const std::string& path, int error,
                     const std::string& next) {
  return absl::StrCat("cannot ", tried, " the profile ", path, ": ", std::strerror(error), "; ",
                      next);
}

}  // namespace

absl::Status ProfileWriteError(absl::string_view tried, const std::string& path, int error) {
  return absl::Status(CodeOf(error),
                      Sentence(tried, path, error, NextForWriting(path, error, ProfilingCommand)));
}

absl::Status MergeWriteError(absl::string_view tried, const std::string& path, int error) {
  const auto merge = [](const std::string& options) {
    return absl::StrCat("coz merge PROFILES ", options);
  };
  return absl::Status(CodeOf(error),
                      Sentence(tried, path, error, NextForWriting(path, error, merge)));
}

absl::Status ProfileReadError(absl::string_view tried, const std::string& path, int error) {
  if (path == "-") {
    return absl::Status(CodeOf(error),
                        Sentence(tried, "on standard input", error,
                                 "put one there, e.g. with `coz report - < profile.pb`"));
  }
  return absl::Status(CodeOf(error), Sentence(tried, path, error, NextForReading(path, error)));
}

}  // namespace coz::report
