// The functions that a library offers to other objects, by its dynamic symbol table.
//
// Shape    ascending by address; names of one address in the order of the table
// Units    ELF addresses
// Errors   what cannot be read exports nothing
// Threads  safe
// Signals  not safe
// Source   System V ABI, "Symbol Table"
#ifndef COZ_POINTS_EXPORTED_FUNCTIONS_H_
#define COZ_POINTS_EXPORTED_FUNCTIONS_H_

#include <cstdint>
#include <string>
#include <vector>

namespace coz::points {

struct ExportedFunction {
  uint64_t begin;
  uint64_t end;
  std::string linkage_name;  // without a version
  bool is_chosen_at_load;    // (IFUNC): `begin` is code that chooses another function
};

std::vector<ExportedFunction> ReadExportedFunctions(const std::string& path);

}  // namespace coz::points

#endif  // COZ_POINTS_EXPORTED_FUNCTIONS_H_
