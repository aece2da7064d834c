// Arguments of the form name=number, for the simulator's reports.
//
// Shape    one function
// Units    none
// Errors   what is no number reads as 0
// Threads  safe
// Signals  none
// Source   none
#ifndef COZ_TESTING_SIM_ARGUMENTS_H_
#define COZ_TESTING_SIM_ARGUMENTS_H_

#include <cstdint>
#include <cstdlib>
#include <string>

namespace coz::sim {

// The value of `name` among the arguments.
inline uint64_t Argument(int argc, char** argv, const std::string& name, uint64_t otherwise) {
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument.rfind(name + "=", 0) == 0) {
      return std::strtoull(argument.c_str() + name.size() + 1, nullptr, 10);
    }
  }
  return otherwise;
}

}  // namespace coz::sim

#endif  // COZ_TESTING_SIM_ARGUMENTS_H_
