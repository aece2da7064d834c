// Where the statements of a file's source lines begin.
//
// Shape    ascending, each once; rows of the line tables that begin a statement
// Units    addresses in the ELF file
// Errors   NOT_FOUND, INVALID_ARGUMENT: no line tables; the message names the file
// Threads  compatible
// Signals  none
// Source   DWARF 5, 6.2; libdw
#ifndef COZ_BENCH_PATCH_STATEMENT_ADDRESSES_H_
#define COZ_BENCH_PATCH_STATEMENT_ADDRESSES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace coz::bench {

absl::StatusOr<std::vector<uint64_t>> StatementAddresses(const std::string& path);

}  // namespace coz::bench

#endif  // COZ_BENCH_PATCH_STATEMENT_ADDRESSES_H_
