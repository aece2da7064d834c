// Lines of which compilers make several pieces of code. Named .cpp, as the tree's own flags for
// .cc would take the place of those of the rule.
static volatile int g_sum;

static __attribute__((noipa)) void Work(int x) { g_sum = g_sum + x; }

static int g_locked;

// Its end is inlined where a scope ends, and its first row carries the number of that line.
struct Lock {
  Lock() { ++g_locked; }
  ~Lock() {
    if (g_locked > 0) --g_locked;
    asm volatile("");
  }
};

__attribute__((noipa)) void Rounds() {
  for (int i = 0; i < 3; ++i) {  // PLACE(head)
    Work(i);                     // PLACE(round)
  }
}

// clang-format off: two lines in one
__attribute__((noipa)) void Locks(int x) {
  if (x < 0) return;
  Lock lock;
  Work(x); }  // PLACE(end_of_scope)
// clang-format on

int main() {
  Rounds();
  Locks(1);
}
