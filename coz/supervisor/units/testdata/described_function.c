// The other function of one name, see described_library.c.
int other_twice(int x);

#line 1 "/usr/include/described_function.h"
static __attribute__((noipa)) int twice(int x) { return x + x; }

int other_twice(int x) { return twice(x); }
