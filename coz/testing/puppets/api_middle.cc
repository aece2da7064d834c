// A library that calls another one.
#include "coz/testing/puppets/api_library.h"

uint64_t MiddlePlain(uint64_t x) { return ApiPlain(x) * 3 + 1; }
