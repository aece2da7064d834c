// Calls of known number into libapi.so, that end in every way.
//
//   api_caller ROUNDS
//
// Four threads make ROUNDS rounds each. In a round they call each function of libapi.so once, but
// for ApiPlain, which they call three times, and once by libmiddle.so. The main thread leaves a
// call of ApiCalls by a coroutine and goes on with it, cancels a thread within ApiWaits, and has a
// child of fork make 1,000 calls of ApiPlain. Ends with 1 where a result or an address is not what
// it is without a profiler.
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>

#include "coz/testing/puppets/api_library.h"

namespace {

using Plain = uint64_t (*)(uint64_t);

// A program may keep and compare it.
Plain volatile g_plain = ApiPlain;

uint64_t Callback(uint64_t x) { return ApiPlain(x) + 1; }

bool Round(uint64_t x) {
  const uint64_t plain = ApiPlain(x);
  if (ApiCalls(Callback, x) != (plain + 1) * 3 + 1) return false;
  volatile uint64_t sum = ApiTail(x) + ApiInside(x);
  try {
    sum = sum + ApiThrows(x);
  } catch (uint64_t thrown) {
    if (thrown != x) return false;
  }
  jmp_buf back;
  if (setjmp(back) == 0) sum = sum + ApiJumps(x, &back);
  if (ApiMany(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16) != 136) return false;
  const auto found = reinterpret_cast<Plain>(dlsym(RTLD_DEFAULT, "ApiPlain"));
  if (found != g_plain || found(x) != plain) return false;
  return MiddlePlain(x) == plain * 3 + 1;
}

void* MakeRounds(void* opaque) {
  const uint64_t rounds = *static_cast<uint64_t*>(opaque);
  for (uint64_t i = 0; i < rounds; ++i) {
    if (!Round(i)) exit(1);
  }
  return nullptr;
}

ucontext_t g_main;
ucontext_t g_coroutine;

// Leaves the call that it is made by.
uint64_t GoBack(uint64_t x) {
  swapcontext(&g_coroutine, &g_main);
  return x;
}

uint64_t g_from_coroutine = 0;
void RunCoroutine() { g_from_coroutine = ApiCalls(GoBack, 5); }

bool LeaveACall() {
  static char stack[65536];
  getcontext(&g_coroutine);
  g_coroutine.uc_stack.ss_sp = stack;
  g_coroutine.uc_stack.ss_size = sizeof(stack);
  g_coroutine.uc_link = &g_main;
  makecontext(&g_coroutine, RunCoroutine, 0);
  swapcontext(&g_main, &g_coroutine);
  const bool is_right = ApiCalls(Callback, 1) == (ApiPlain(1) + 1) * 3 + 1;
  swapcontext(&g_main, &g_coroutine);
  return is_right && g_from_coroutine == 5 * 3 + 1;
}

std::atomic<bool> g_waits{false};
void* Wait(void*) {
  g_waits = true;
  ApiWaits();
  return nullptr;
}

bool CancelACall() {
  pthread_t thread;
  if (pthread_create(&thread, nullptr, Wait, nullptr) != 0) return false;
  while (!g_waits) usleep(1000);
  void* result = nullptr;
  return pthread_cancel(thread) == 0 && pthread_join(thread, &result) == 0 &&
         result == PTHREAD_CANCELED;
}

bool CallInAChild() {
  const pid_t child = fork();
  if (child == 0) {
    volatile uint64_t sum = 0;
    for (uint64_t i = 0; i < 1000; ++i) sum = sum + ApiPlain(i);
    _exit(0);
  }
  int status = 1;
  return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

}  // namespace

int main(int argc, char** argv) {
  uint64_t rounds = argc > 1 ? strtoul(argv[1], nullptr, 10) : 1000;
  pthread_t threads[4];
  for (pthread_t& thread : threads) {
    if (pthread_create(&thread, nullptr, MakeRounds, &rounds) != 0) return 1;
  }
  for (pthread_t& thread : threads) pthread_join(thread, nullptr);
  return LeaveACall() && CancelACall() && CallInAChild() ? 0 : 1;
}
