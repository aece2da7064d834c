// Where functions begin and end, by the call frame information (.eh_frame) that even a stripped
// binary has.
//
// Shape    ascending by begin; a part that the compiler has moved away is an extent of its own
// Units    ELF addresses
// Errors   none: what cannot be read ends the list
// Threads  safe
// Signals  not safe
// Source   LSB, "Exception Frames"; DWARF 5, section 6.4.1
#ifndef COZ_POINTS_FUNCTION_EXTENTS_H_
#define COZ_POINTS_FUNCTION_EXTENTS_H_

#include <cstdint>
#include <string_view>
#include <vector>

namespace coz::points {

struct FunctionExtent {
  uint64_t begin;
  uint64_t end;
};

// `address`: where the section lies.
std::vector<FunctionExtent> ReadFunctionExtents(std::string_view eh_frame, uint64_t address);

}  // namespace coz::points

#endif  // COZ_POINTS_FUNCTION_EXTENTS_H_
