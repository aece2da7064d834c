// Finds what a user may have meant by a name that is not there.
//
// Shape    one wanted name; candidates in any order; at most three answers, best first
// Units    none
// Errors   nothing similar: no answer
// Threads  compatible
// Signals  none
// Source   Levenshtein distance, in the band that still counts as similar
#ifndef COZ_POINTS_CLOSEST_NAMES_H_
#define COZ_POINTS_CLOSEST_NAMES_H_

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace coz::points {

// Characters to change, insert or leave out to turn `b` into `a`; above `limit`: limit + 1.
int EditDistance(std::string_view a, std::string_view b, int limit);

class ClosestNames {
 public:
  explicit ClosestNames(std::string_view wanted);

  // A function, file or group. Only its last part is compared where the wanted name has one part.
  void Add(std::string_view name);
  // A line with code: lines of the wanted file come before similar files.
  void AddLine(std::string_view file, uint32_t line);

  bool wants_line() const { return wanted_line_ != 0; }

  std::vector<std::string> Best() const;

 private:
  void Offer(int64_t distance, std::string_view name);

  const std::string wanted_;
  std::string wanted_file_;
  uint32_t wanted_line_ = 0;
  std::set<std::pair<int64_t, std::string>> best_;
};

// ", the closest are a, b and c", or nothing.
std::string ClosestPhrase(const std::vector<std::string>& names);

// "; the closest are: libevent-2.1.so.7", or nothing: of paths, the files that a library's name,
// glob or path may mean. Versions do not count.
std::string ClosestLibraries(std::string_view wanted, const std::set<std::string>& paths);

}  // namespace coz::points

#endif  // COZ_POINTS_CLOSEST_NAMES_H_
