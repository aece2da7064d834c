// Functions that are called a known number of times: places_program CALLS THREADS
#include <pthread.h>

#include <cstdint>
#include <cstdlib>

static int g_left;

namespace shop {

class Server {
 public:
  __attribute__((noipa)) int Reply(int x) {
    asm volatile("");
    return x + 1;  // PLACE(reply)
  }
  __attribute__((noipa)) int Replay(int x) {
    asm volatile("");
    return x + 2;
  }
  __attribute__((always_inline)) inline int Tiny(int x) {
    asm volatile("" : "+r"(x));
    return x * 3;
  }
  __attribute__((always_inline)) inline void Countdown() {
    asm volatile("1: decl %0; jg 1b" : "+m"(g_left));
  }
  // Begins with padding that its caller jumps over.
  __attribute__((always_inline)) inline void Padded() {
    asm volatile(".nops 8\n8: decl %0" : "+m"(g_left));
  }
  // Begins with padding before the head of a loop of its caller.
  __attribute__((always_inline)) inline void Aligned() {
    asm volatile(".nops 8\n7: decl %0" : "+m"(g_left));
  }
};

__attribute__((noipa)) int Overloaded(int x) {
  asm volatile("");
  return x + 3;
}
__attribute__((noipa)) int Overloaded(char x) {
  asm volatile("");
  return x + 4;
}

// The linker leaves it out, and its rows in.
__attribute__((noipa)) int LeftOut(int x) {
  return x + 5;  // PLACE(left_out)
}

}  // namespace shop

// A probe in the source, as <sys/sdt.h> notes it, without a semaphore. The second note has one that
// is no data of the program, and is damaged in that.
#define PROBE(name, semaphore)                     \
  asm volatile(                                    \
      "990: nop\n"                                 \
      ".pushsection .note.stapsdt,\"\",\"note\"\n" \
      ".balign 4\n"                                \
      ".4byte 992f-991f, 994f-993f, 3\n"           \
      "991: .asciz \"stapsdt\"\n"                  \
      "992: .balign 4\n"                           \
      "993: .8byte 990b, 0, " semaphore            \
      "\n"                                         \
      ".asciz \"shop\"\n"                          \
      ".asciz \"" name                             \
      "\"\n"                                       \
      ".asciz \"\"\n"                              \
      "994: .balign 4\n"                           \
      ".popsection\n")

static __attribute__((noipa)) int Sell(int x) {
  PROBE("sold", "0");
  if (x > 100) return x + 1;
  x = x * x + 3;
  PROBE("sold", "0");
  PROBE("bad_semaphore", "0x123456789abc");
  return x;
}

static int g_calls;

static void* Call(void*) {
  shop::Server server;
  int x = 0;
  for (int i = 0; i < g_calls; ++i) {
    x = server.Reply(x);
    x += server.Tiny(x);  // PLACE(tiny)
    asm volatile("jmp 8f");
    server.Padded();
    server.Countdown();  // PLACE(countdown)
    asm volatile("movl $1, %0" : "=m"(g_left));
    server.Aligned();
    asm volatile("jns 7b");
    if (i % 2 == 0) x = server.Replay(x);
    asm volatile("" : "+r"(x));
    x = Sell(x);
  }
  return reinterpret_cast<void*>(
      static_cast<intptr_t>(x + shop::Overloaded(x) + shop::Overloaded(static_cast<char>(x))));
}

int main(int argc, char** argv) {
  g_calls = argc > 1 ? atoi(argv[1]) : 10;
  const int threads = argc > 2 ? atoi(argv[2]) : 0;
  Call(nullptr);
  for (int i = 0; i < threads; ++i) {
    pthread_t thread;
    pthread_create(&thread, nullptr, Call, nullptr);
    pthread_join(thread, nullptr);
  }
}
