// A cgroup with a CPU quota, as a container has it, as long as the object lives.
//
// Shape    one class; cgroup v1 (its hierarchies cpu and cpuacct) or v2
// Units    CPUs
// Errors   missing() says what this machine does not let us do
// Threads  compatible
// Signals  none
// Source   Documentation/scheduler/sched-bwc.rst of the kernel
#ifndef COZ_TESTING_QUOTA_CGROUP_H_
#define COZ_TESTING_QUOTA_CGROUP_H_

#include <string>
#include <vector>

namespace coz::testing {

class QuotaCgroup {
 public:
  explicit QuotaCgroup(double cpus);
  // Only the calling process may still be in it, and is not then.
  ~QuotaCgroup();
  QuotaCgroup(const QuotaCgroup&) = delete;
  QuotaCgroup& operator=(const QuotaCgroup&) = delete;

  // Empty: it is there. Else "required …, actual …".
  const std::string& missing() const { return missing_; }
  // The command, run within.
  std::vector<std::string> With(std::vector<std::string> command) const;
  // From now on the calling process and those that it starts are within.
  bool Enter();

 private:
  // Returns what is missing.
  std::string Make(const std::string& folder, const std::string& file, const std::string& quota);

  std::vector<std::string> folders_;
  std::string missing_;
};

}  // namespace coz::testing

#endif  // COZ_TESTING_QUOTA_CGROUP_H_
