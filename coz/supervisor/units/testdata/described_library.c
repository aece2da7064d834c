// Debug information knows this code, as that of the system.
#line 1 "/usr/include/described_library.h"
int library_work(int x) { return x + 1; }
