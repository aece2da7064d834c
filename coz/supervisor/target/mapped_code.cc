#include "coz/supervisor/target/mapped_code.h"

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "absl/strings/match.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"

namespace coz::supervisor {

std::string RealPath(const std::string& path) {
  std::error_code error;
  const std::filesystem::path real = std::filesystem::canonical(path, error);
  return error ? path : real.string();
}

std::vector<MappedCode> ReadMappedCode(pid_t pid) {
  std::vector<MappedCode> mapped;
  std::ifstream maps(absl::StrFormat("/proc/%d/maps", pid));
  std::string line;
  while (std::getline(maps, line)) {
    unsigned long long start = 0;
    unsigned long long end = 0;
    unsigned long long offset = 0;
    char permissions[5] = "";
    int path_at = 0;
    if (sscanf(line.c_str(), "%llx-%llx %4s %llx %*s %*s %n", &start, &end, permissions, &offset,
               &path_at) != 4 ||
        permissions[2] != 'x' || path_at == 0 || line[static_cast<size_t>(path_at)] != '/') {
      continue;
    }
    mapped.push_back({start, end, offset, line.substr(static_cast<size_t>(path_at))});
  }
  return mapped;
}

std::vector<MappedRange> ReadMappedRanges(pid_t pid) {
  constexpr uint64_t kRoomToGrow = uint64_t{1} << 30;
  constexpr uint64_t kMostBytesOfStubs = uint64_t{1} << 20;
  std::vector<MappedRange> mapped;
  std::ifstream maps(absl::StrFormat("/proc/%d/maps", pid));
  std::string line;
  while (std::getline(maps, line)) {
    unsigned long long begin = 0;
    unsigned long long end = 0;
    unsigned long long inode = 0;
    char access[5] = "";
    if (sscanf(line.c_str(), "%llx-%llx %4s %*s %*s %llu", &begin, &end, access, &inode) != 4) {
      continue;
    }
    const bool is_named = absl::StrContains(line, "[");
    const bool may_grow = inode != 0 || is_named || absl::string_view(access) != "r-xp" ||
                          end - begin > kMostBytesOfStubs;
    if (line.find("[stack]") != std::string::npos) begin -= kRoomToGrow;
    if (line.find("[heap]") != std::string::npos) end += kRoomToGrow;
    mapped.push_back({begin, end, may_grow});
  }
  return mapped;
}

uint64_t RuntimeAddress(const std::vector<MappedCode>& mapped, const std::string& file,
                        uint64_t file_offset) {
  const auto holds = [file_offset](const MappedCode& code) {
    return file_offset >= code.file_offset &&
           file_offset - code.file_offset < code.end - code.start;
  };
  // The kernel says real paths, except where folders are mounted elsewhere: that is dear to ask.
  for (const bool is_real : {true, false}) {
    for (const MappedCode& code : mapped) {
      if (holds(code) && (is_real ? code.path : RealPath(code.path)) == file) {
        return code.start + (file_offset - code.file_offset);
      }
    }
  }
  return 0;
}

}  // namespace coz::supervisor
