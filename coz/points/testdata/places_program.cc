// Functions that are called a known number of times: places_program CALLS THREADS
#include <pthread.h>

#include <cstdint>
#include <cstdlib>

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
};

__attribute__((noipa)) int Overloaded(int x) {
  asm volatile("");
  return x + 3;
}
__attribute__((noipa)) int Overloaded(char x) {
  asm volatile("");
  return x + 4;
}

}  // namespace shop

static int g_calls;

static void* Call(void*) {
  shop::Server server;
  int x = 0;
  for (int i = 0; i < g_calls; ++i) {
    x = server.Reply(x);
    x += server.Tiny(x);  // PLACE(tiny)
    if (i % 2 == 0) x = server.Replay(x);
    asm volatile("" : "+r"(x));
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
