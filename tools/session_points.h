// `coz points --session`: the points of a session that runs.
#ifndef COZ_TOOLS_SESSION_POINTS_H_
#define COZ_TOOLS_SESSION_POINTS_H_

#include <string>
#include <vector>

namespace coz {

struct SessionPointsArguments {
  int session = 0;  // a process; 0: no session is meant
  std::vector<std::string> add;
  std::vector<std::string> remove;
  bool list = false;
};

// Adds, then removes, then lists. Returns the exit status.
int ChangeSessionPoints(const SessionPointsArguments& arguments);

}  // namespace coz

#endif  // COZ_TOOLS_SESSION_POINTS_H_
