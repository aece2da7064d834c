// What a library exports under a version, as libc does with functions of which it has several.
int versioned_work_1(int x);

__asm__(".symver versioned_work_1, versioned_work@@VERSION_1");
int versioned_work_1(int x) { return x + 1; }

// As rustc calls shop::work.
int rust_work(int x) __asm__("_ZN4shop4work17h0123456789abcdefE");

int rust_work(int x) { return x + 2; }
