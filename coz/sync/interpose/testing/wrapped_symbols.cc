// Prints the symbols that libcoz.so has to export according to the tables of wrapped calls. There
// is one per line, in the form of readelf: NAME, NAME@VERSION, or NAME@@VERSION for a default
// version.
#include <cstdio>

#include "coz/sync/interpose/io_uring_calls_table.h"
#include "coz/sync/interpose/mpi_calls_table.h"
#include "coz/sync/interpose/openmp_calls_table.h"
#include "coz/sync/interpose/wrapped_calls_table.h"

namespace {

void PrintDefault(const char* name, const char* version) {
  printf("%s%s%s\n", name, version != nullptr ? "@@" : "", version != nullptr ? version : "");
}

}  // namespace

int main() {
#define COZ_X(presence, version, result, name, parameters, arguments) PrintDefault(#name, version);
  COZ_WRAPPED_CALLS(COZ_X)
#undef COZ_X
#define COZ_X(presence, version, result, name, parameters, arguments) puts(#name "@" version);
  COZ_OLD_CALLS(COZ_X)
#undef COZ_X
#define COZ_X(shape, version, result, name, parameters, arguments) puts(#name "@" version);
  COZ_OPENMP_CALLS(COZ_X)
#undef COZ_X
#define COZ_X(version, result, name, parameters, arguments) puts(#name "@" version);
  COZ_IO_URING_CALLS(COZ_X)
#undef COZ_X
#define COZ_X(shape, name, count) puts("MPI_" #name "\nPMPI_" #name);
  COZ_MPI_CALLS(COZ_X)
#undef COZ_X
#define COZ_X(name) puts(#name);
  COZ_COMPOSED_CALLS(COZ_X)
#undef COZ_X
#define COZ_X(second, name) puts(#second);
  COZ_SECOND_NAMES(COZ_X)
#undef COZ_X
}
