// Finds the package that holds the split debug information (.dwo files) of a program.
//
// Shape    PROGRAM.dwp beside the program itself, links resolved
// Units    none
// Errors   none: empty where there is no such file
// Threads  safe
// Signals  not safe
// Source   DWARF 5, section 7.3.5; GDB manual, "Debugging Information in Separate Files". libdw
//          reads packages from elfutils 0.191 on.
#ifndef COZ_BASE_SPLIT_PACKAGE_H_
#define COZ_BASE_SPLIT_PACKAGE_H_

#include <string>

namespace coz {

std::string SplitPackageOf(const std::string& program);

}  // namespace coz

#endif  // COZ_BASE_SPLIT_PACKAGE_H_
