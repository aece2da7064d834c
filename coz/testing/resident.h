// A program that a test talks to while it runs: it reads lines and answers each with one.
//
// Shape    one child, which is killed with the object
// Units    none
// Errors   a program that cannot be started ends with status 127; to ask one that has ended fails
//          the test
// Threads  compatible
// Signals  none
// Source   none
#ifndef COZ_TESTING_RESIDENT_H_
#define COZ_TESTING_RESIDENT_H_

#include <sys/types.h>

#include <cstdio>
#include <string>
#include <vector>

#include "coz/base/unique_fd.h"

namespace coz::testing {

class Resident {
 public:
  // Runs in `folder`; empty: in this one.
  explicit Resident(const std::vector<std::string>& command, const std::string& folder = "");
  ~Resident();
  Resident(const Resident&) = delete;
  Resident& operator=(const Resident&) = delete;

  pid_t pid() const { return pid_; }
  std::string Line();
  std::string Ask(const std::string& line);
  // What it says in the end, and how it ends. It may have ended by itself, as one does that was
  // interrupted.
  std::string End(int* status);

 private:
  bool Write(const std::string& line) const;

  pid_t pid_ = -1;
  UniqueFd input_;
  FILE* output_ = nullptr;
};

}  // namespace coz::testing

#endif  // COZ_TESTING_RESIDENT_H_
