// A program that is built with the address or the thread sanitizer. Prints ok, or exits with what
// the sanitizer says.
//   sanitized work      for a second: threads that come and go, locks, conditions, the heap and
//                       libc's copying
//   sanitized mistake   a read past its memory, and a race
//   sanitized spawn     itself by posix_spawnp and by execvp; in between a program without
//                       sanitizer
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "coz/runtime/coz.h"

extern char** environ;

namespace {

std::mutex g_mutex;
std::condition_variable g_ready;
std::deque<std::string> g_queue;

void Fill(int count) {
  for (int i = 0; i < count; ++i) {
    std::string text(static_cast<size_t>(i % 3000), 'x');
    std::vector<char> copy(text.begin(), text.end());
    memmove(text.data(), copy.data(), copy.size());
    const std::lock_guard<std::mutex> lock(g_mutex);
    g_queue.push_back(std::move(text));
    g_ready.notify_one();
  }
}

void Empty(int count) {
  for (int i = 0; i < count; ++i) {
    std::unique_lock<std::mutex> lock(g_mutex);
    g_ready.wait(lock, [] { return !g_queue.empty(); });
    g_queue.pop_front();
    COZ_PROGRESS_NAMED("texts");
  }
}

int Work() {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  while (std::chrono::steady_clock::now() < end) {
    std::thread fill(Fill, 1000);
    std::thread empty(Empty, 1000);
    fill.join();
    empty.join();
  }
  puts("ok");
  return 0;
}

int g_raced = 0;

int Mistake() {
  std::thread other([] { ++g_raced; });
  ++g_raced;
  other.join();
  volatile int* const numbers = new int[4];
  volatile int past = 4;
  const int read = numbers[past];
  delete[] numbers;
  return read == 1 ? 1 : 0;
}

// True where `command` ends well.
bool Spawn(std::vector<const char*> command) {
  command.push_back(nullptr);
  pid_t child = 0;
  if (posix_spawnp(&child, command[0], nullptr, nullptr, const_cast<char* const*>(command.data()),
                   environ) != 0) {
    return false;
  }
  int status = -1;
  return waitpid(child, &status, 0) == child && status == 0;
}

int SpawnAndExec(char* self) {
  const char* const preload = getenv("LD_PRELOAD");
  if (preload != nullptr && strstr(preload, "san.so") != nullptr) return 3;
  if (!Spawn({self, "work"})) return 4;
  if (!Spawn({"sh", "-c", "case $LD_PRELOAD in *san.so*) exit 1; esac"})) return 5;
  char work[] = "work";
  char* const command[] = {self, work, nullptr};
  execvp(self, command);
  return 6;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  if (what == "work") return Work();
  if (what == "mistake") return Mistake();
  if (what == "spawn") return SpawnAndExec(argv[0]);
  return 2;
}
