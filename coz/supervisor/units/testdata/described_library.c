// Debug information knows this code, as that of the system. A function has the name of another one
// in described_function.c.
int other_twice(int x);

#line 1 "/usr/include/described_library.h"
int library_work(int x);

static __attribute__((noipa)) int twice(int x) { return x * 2; }

int library_work(int x) { return twice(x) + other_twice(x); }
