#include "coz/supervisor/units/jit_dump_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "absl/strings/str_format.h"
#include "coz/base/file_text.h"
#include "coz/base/unique_fd.h"
#include "coz/shared/jit_code.h"

namespace coz::supervisor {
namespace {

constexpr uint64_t kMostBytes = uint64_t{4} << 30;
constexpr uint64_t kMostBytesPerLook = uint64_t{4} << 20;

bool IsJitDump(std::string_view path) {
  constexpr std::string_view kBegin = "jit-";
  constexpr std::string_view kEnd = ".dump";
  const std::string_view name = path.substr(path.rfind('/') + 1);
  if (name.size() <= kBegin.size() + kEnd.size() || name.substr(0, kBegin.size()) != kBegin ||
      name.substr(name.size() - kEnd.size()) != kEnd) {
    return false;
  }
  const std::string_view number =
      name.substr(kBegin.size(), name.size() - kBegin.size() - kEnd.size());
  return number.find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace

// It is mapped for execution only so that perf finds it.
std::string JitDumpIn(std::string_view maps) {
  while (!maps.empty()) {
    const std::string_view line = maps.substr(0, maps.find('\n'));
    maps.remove_prefix(std::min(line.size() + 1, maps.size()));
    const size_t rights = line.find(' ');
    const size_t path = line.find('/');
    if (rights == std::string_view::npos || path == std::string_view::npos) continue;
    if (line.substr(rights + 1, 3).find('x') == std::string_view::npos) continue;
    if (IsJitDump(line.substr(path))) return std::string(line.substr(path));
  }
  return "";
}

void JitDumpFile::Find(pid_t pid) {
  path_ = JitDumpIn(FileText(absl::StrFormat("/proc/%d/maps", pid)));
}

void JitDumpFile::NoteRoom(bool has_room) {
  if (has_room || !problem_.empty()) return;
  problem_ = absl::StrFormat(
      "%s has more code than coz has room for (%d places); the rest of it counts for nothing",
      path_, shared::kMaxJitRanges);
}

void JitDumpFile::Take(const sourcemap::JitDumpParser::Load& load, UnitIndex* units,
                       sourcemap::CodeRanges* ranges) {
  const uint64_t end = load.start + load.size;
  if (load.lines.empty() || !units->HasJitLines()) {
    // Whoever names no file has lines of one.
    const bool names_file = load.lines.empty() || !sourcemap::ParseJitName(load.name).file.empty();
    return NoteRoom(ranges->Put(
        load.start, end,
        names_file
            ? units->UnitOfJitCode(load.name)
            : units->UnitOfJitLine(load.name, load.lines.front().file, load.lines.front().line)));
  }
  for (size_t i = 0; i < load.lines.size(); ++i) {
    const uint64_t from = i == 0 ? load.start : load.lines[i].start;
    const uint64_t to = i + 1 == load.lines.size() ? end : load.lines[i + 1].start;
    if (from >= to) continue;
    NoteRoom(ranges->Put(from, to,
                         units->UnitOfJitLine(load.name, load.lines[i].file, load.lines[i].line)));
  }
}

bool JitDumpFile::IsUsable(pid_t pid, const struct stat& file) {
  struct stat process;
  const bool is_owned = stat(absl::StrFormat("/proc/%d", pid).c_str(), &process) == 0 &&
                        (file.st_uid == process.st_uid || file.st_uid == 0);
  if (!S_ISREG(file.st_mode) || !is_owned) {
    problem_ = absl::StrFormat(
        "%s is not used, for it is no file of the process's user; remove it "
        "and start the program again",
        path_);
  } else if (static_cast<uint64_t>(file.st_size) > kMostBytes) {
    problem_ = absl::StrFormat(
        "%s is larger than %d MiB; code that it names from now on counts for "
        "nothing",
        path_, kMostBytes >> 20);
  }
  return problem_.empty();
}

bool JitDumpFile::Read(pid_t pid, UnitIndex* units, sourcemap::CodeRanges* ranges) {
  // A pipe or a link in its place does not hold coz up, nor lead it elsewhere.
  constexpr int kFlags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
  const UniqueFd fd(open(absl::StrFormat("/proc/%d/root%s", pid, path_).c_str(), kFlags));
  struct stat file;
  if (!fd.ok() || fstat(fd.get(), &file) != 0 || !problem_.empty()) return false;
  if (!IsUsable(pid, file)) return false;
  bool is_changed = false;
  if (static_cast<uint64_t>(file.st_size) < read_bytes_) {
    // It is written anew.
    read_bytes_ = 0;
    parser_ = sourcemap::JitDumpParser();
    ranges->Clear();
    is_changed = true;
  }
  const uint64_t left = static_cast<uint64_t>(file.st_size) - read_bytes_;
  std::string bytes(std::min(kMostBytesPerLook, left), '\0');
  const ssize_t count =
      pread(fd.get(), bytes.data(), bytes.size(), static_cast<off_t>(read_bytes_));
  if (count <= 0) return is_changed;
  bytes.resize(static_cast<size_t>(count));
  read_bytes_ += bytes.size();
  parser_.Feed(bytes, {[&](const sourcemap::JitDumpParser::Load& load) {
                         Take(load, units, ranges);
                         is_changed = true;
                       },
                       [&](const sourcemap::JitDumpParser::Move& move) {
                         NoteRoom(ranges->Move(move.from, move.to, move.size));
                         is_changed = true;
                       }});
  if (parser_.is_damaged() && problem_.empty()) {
    problem_ = absl::StrFormat(
        "%s is no jitdump from byte %d on, or of another machine; what follows counts for nothing",
        path_, read_bytes_ - bytes.size());
  }
  return is_changed;
}

}  // namespace coz::supervisor
