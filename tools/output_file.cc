#include "tools/output_file.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <streambuf>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "coz/base/file_replacement.h"
#include "coz/report/analysis/session_facts.h"
#include "tools/command_line.h"

namespace coz {
namespace {

absl::Status CannotWrite(const std::string& path, int error) {
  const char* const next = error == EFBIG ? "allow larger files with: ulimit -f unlimited"
                                          : "name another file with -o FILE";
  return absl::ErrnoToStatus(error, absl::StrFormat("cannot write %s; %s", path, next));
}

// For what writes to streams.
class ReplacementBuffer : public std::streambuf {
 public:
  explicit ReplacementBuffer(FileReplacement* file) : file_(file) { Empty(); }

  int error() const { return error_; }

 protected:
  int overflow(int c) override {
    if (sync() != 0) return traits_type::eof();
    if (traits_type::eq_int_type(c, traits_type::eof())) return traits_type::not_eof(c);
    return sputc(traits_type::to_char_type(c));
  }
  int sync() override {
    if (error_ != 0) return -1;
    errno = 0;
    if (!file_->Write({pbase(), static_cast<size_t>(pptr() - pbase())})) error_ = errno;
    Empty();
    return error_ == 0 ? 0 : -1;
  }

 private:
  void Empty() { setp(bytes_, bytes_ + sizeof(bytes_)); }

  FileReplacement* file_;
  int error_ = 0;
  char bytes_[1 << 16];
};

}  // namespace

absl::StatusOr<std::string> ExpandOutputName(const std::string& pattern) {
  std::string name;
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '%') {
      name.push_back(pattern[i]);
      continue;
    }
    const char kind = i + 1 < pattern.size() ? pattern[++i] : '\0';
    if (kind == '%') {
      name.push_back('%');
    } else if (kind == 'p') {
      absl::StrAppend(&name, getpid());
    } else if (kind == 'h') {
      char host[256] = "";
      gethostname(host, sizeof(host) - 1);
      absl::StrAppend(&name, host);
    } else if (kind == 'q' && i + 1 < pattern.size() && pattern[i + 1] == '{' &&
               pattern.find('}', i) != std::string::npos) {
      const size_t end = pattern.find('}', i);
      const std::string variable = pattern.substr(i + 2, end - i - 2);
      const char* value = getenv(variable.c_str());
      if (value == nullptr) {
        return absl::InvalidArgumentError(
            absl::StrFormat("-o %s: the environment has no variable %s", pattern, variable));
      }
      absl::StrAppend(&name, value);
      i = end;
    } else {
      return absl::InvalidArgumentError(absl::StrFormat(
          "-o %s: after %% there may be p (process id), h (host), q{VARIABLE} or another %%; write "
          "for example -o profile.%%p.%%h.pb",
          pattern));
    }
  }
  return name;
}

absl::Status CheckInputIsKept(const std::string& input, const std::string& output) {
  if (!IsSameFile(input, output)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrFormat(
      "cannot write %s: it is the profile that is read%s, which would be lost; name another file "
      "with -o FILE",
      output, input == output ? "" : absl::StrCat(" as ", input)));
}

bool IsStandardOutput(const std::string& path) { return path.empty() || path == "-"; }

std::string PlaceOfProfile(const std::string& path) {
  if (IsStandardOutput(path)) return "standard output";
  return absl::StrCat(path, ": coz report ", report::Quoted(path));
}

absl::Status WriteOutput(const std::string& path, bool is_binary,
                         const std::function<absl::Status(std::ostream&)>& write) {
  if (IsStandardOutput(path)) {
    if (is_binary && isatty(STDOUT_FILENO) == 1) {
      return absl::InvalidArgumentError(
          "this format is no text, and standard output is a terminal; write it to a file with -o "
          "FILE");
    }
    absl::Status status = write(std::cout);
    std::cout.flush();
    if (status.ok() && !std::cout) {
      return absl::UnavailableError(
          "cannot write the output: the disk is full or the reader has gone; write to a file with "
          "-o FILE");
    }
    return status;
  }
  FileReplacement file;
  if (!file.Open(path)) return CannotWrite(path, errno);
  ReplacementBuffer buffer(&file);
  std::ostream stream(&buffer);
  if (absl::Status status = write(stream); !status.ok()) return status;
  if (!stream.flush()) return CannotWrite(path, buffer.error() == 0 ? EIO : buffer.error());
  return file.Finish() ? absl::OkStatus() : CannotWrite(path, errno);
}

bool IsAllPrinted() {
  std::cout.flush();
  if (fflush(stdout) == 0 && ferror(stdout) == 0) return true;
  Say("cannot write the output: the disk is full or the reader has gone; write to another file "
      "with "
      "`> FILE`");
  return false;
}

}  // namespace coz
