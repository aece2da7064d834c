// A program instrumented with the original's header, and one that calls its interface for custom
// synchronization by dlsym, as the Rust crate and others do.
#include <dlfcn.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <thread>

#include "original/coz.h"

namespace {

using Clock = std::chrono::steady_clock;

uint64_t Spin(uint64_t x) {
  for (int i = 0; i < 100000; ++i) x = x * 6364136223846793005u + (x >> 29);
  return x;
}

template <typename Function>
Function* Find(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

}  // namespace

int main() {
  auto* const add_delays = Find<void()>("_coz_add_delays");
  auto* const pre_block = Find<void()>("_coz_pre_block");
  auto* const post_block = Find<void(int)>("_coz_post_block");
  std::atomic<int> turn{0};
  std::atomic<bool> stop{false};
  // The two hand a turn to and fro by spinning, which no wrapped call shows.
  const auto player = [&](int self) {
    volatile uint64_t x = 1;
    while (!stop) {
      if (pre_block != nullptr) pre_block();
      while (turn != self && !stop) {
      }
      if (post_block != nullptr) post_block(1);
      COZ_BEGIN("turn");
      x = Spin(x);
      COZ_END("turn");
      COZ_PROGRESS_NAMED("turns");
      COZ_PROGRESS
      if (add_delays != nullptr) add_delays();
      turn = 1 - self;
    }
  };
  std::thread other(player, 1);
  std::thread watch([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(1500));
    stop = true;
  });
  player(0);
  other.join();
  watch.join();
  puts(add_delays != nullptr ? "profiled" : "alone");
  return 0;
}
