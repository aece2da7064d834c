// Measures what a wrapped call costs when nobody owes delay: libc's function, and the wrapper in a
// profiled thread. Here the calls are bound inside the program. A preloaded library costs no more
// than that, because a program reaches libc's functions through the same table.
//
//   bazel-bin/bench/sync/fast_path_benchmark
#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/file.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/sem.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>

#include "coz/sync/interpose/stdio_tables.h"
#include "coz/sync/interpose/thread_sync.h"
#include "coz/sync/interpose/wrapped_calls.h"

namespace coz {
namespace {

delay::ThreadLedger* NewLedger() {
  constexpr uint32_t kLedgers = 1 << 16;
  static delay::ThreadLedger ledgers[kLedgers];
  static std::atomic<uint32_t> used{0};
  return &ledgers[used++ % kLedgers];
}

// Makes the calling thread a profiled thread.
void Profile() {
  static delay::GlobalLedger* const global = [] {
    interpose::ResolveRealCalls();
    delay::GlobalLedger* ledger = new delay::GlobalLedger();
    interpose::InitThreadSync(
        ledger, {NewLedger, [](delay::ThreadLedger*) {}, [](delay::ThreadLedger*, uint64_t) {},
                 [](delay::ThreadLedger*) {}});
    return ledger;
  }();
  if (interpose::CurrentThreadLedger() == nullptr) {
    interpose::EnterThreadSync(NewLedger(),
                               global->global_delay_ns.load(std::memory_order_relaxed));
  }
}

enum Which : int64_t { kLibc, kWrapped };

// A second thread, if wanted. libc needs no atomic instruction for an uncontended lock while a
// process has only one thread.
class SecondThread {
 public:
  explicit SecondThread(bool wanted) : wanted_(wanted) {
    if (wanted_) pthread_create(&thread_, nullptr, Idle, this);
  }
  ~SecondThread() {
    if (!wanted_) return;
    sem_post(&may_end_);
    pthread_join(thread_, nullptr);
  }

 private:
  static void* Idle(void* self) {
    sem_wait(&static_cast<SecondThread*>(self)->may_end_);
    return nullptr;
  }

  const bool wanted_;
  pthread_t thread_ = {};
  sem_t may_end_ = {};
};

void Mutex(benchmark::State& state) {
  Profile();
  const SecondThread second(state.range(1) > 1);
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  if (state.range(0) == kLibc) {
    for ([[maybe_unused]] auto _ : state) {
      interpose::g_real.pthread_mutex_lock(&mutex);
      interpose::g_real.pthread_mutex_unlock(&mutex);
    }
  } else {
    for ([[maybe_unused]] auto _ : state) {
      pthread_mutex_lock(&mutex);
      pthread_mutex_unlock(&mutex);
    }
  }
}
// The benchmarks with one thread come before any thread is made: libc does not go back to the way
// of a process with one thread.
BENCHMARK(Mutex)->ArgNames({"wrapped", "threads"})->Args({kLibc, 1})->Args({kWrapped, 1});
BENCHMARK(Mutex)->ArgNames({"wrapped", "threads"})->Args({kLibc, 2})->Args({kWrapped, 2});

void Semaphore(benchmark::State& state) {
  Profile();
  const SecondThread second(true);
  sem_t semaphore;
  sem_init(&semaphore, 0, 0);
  if (state.range(0) == kLibc) {
    for ([[maybe_unused]] auto _ : state) {
      interpose::g_real.sem_post(&semaphore);
      interpose::g_real.sem_wait(&semaphore);
    }
  } else {
    for ([[maybe_unused]] auto _ : state) {
      sem_post(&semaphore);
      sem_wait(&semaphore);
    }
  }
}
BENCHMARK(Semaphore)->ArgNames({"wrapped"})->Arg(kLibc)->Arg(kWrapped);

void PipeOfOneThread(benchmark::State& state) {
  Profile();
  const SecondThread second(true);
  int fds[2];
  if (pipe(fds) != 0) {
    state.SkipWithError("no pipe");
    return;
  }
  char byte = 0;
  for ([[maybe_unused]] auto _ : state) {
    if (state.range(0) == kLibc) {
      benchmark::DoNotOptimize(interpose::g_real.write(fds[1], &byte, 1));
      benchmark::DoNotOptimize(interpose::g_real.read(fds[0], &byte, 1));
    } else {
      benchmark::DoNotOptimize(write(fds[1], &byte, 1));
      benchmark::DoNotOptimize(read(fds[0], &byte, 1));
    }
  }
  close(fds[0]);
  close(fds[1]);
}
BENCHMARK(PipeOfOneThread)->ArgNames({"wrapped"})->Arg(kLibc)->Arg(kWrapped);

void SystemVSemaphore(benchmark::State& state) {
  Profile();
  const int set = semget(IPC_PRIVATE, 1, 0600);
  sembuf up = {0, 1, 0};
  sembuf down = {0, -1, 0};
  for ([[maybe_unused]] auto _ : state) {
    if (state.range(0) == kLibc) {
      interpose::g_real.semop(set, &up, 1);
      interpose::g_real.semop(set, &down, 1);
    } else {
      semop(set, &up, 1);
      semop(set, &down, 1);
    }
  }
  semctl(set, 0, IPC_RMID);
}
BENCHMARK(SystemVSemaphore)->ArgNames({"wrapped"})->Arg(kLibc)->Arg(kWrapped);

void FileLock(benchmark::State& state) {
  Profile();
  const int fd = memfd_create("bench", 0);
  for ([[maybe_unused]] auto _ : state) {
    if (state.range(0) == kLibc) {
      interpose::g_real.flock(fd, LOCK_EX);
      interpose::g_real.flock(fd, LOCK_UN);
    } else {
      flock(fd, LOCK_EX);
      flock(fd, LOCK_UN);
    }
  }
  close(fd);
}
BENCHMARK(FileLock)->ArgNames({"wrapped"})->Arg(kLibc)->Arg(kWrapped);

void OpenFile(benchmark::State& state) {
  Profile();
  for ([[maybe_unused]] auto _ : state) {
    const int fd = state.range(0) == kLibc ? interpose::g_real.open("/dev/null", O_RDONLY, 0)
                                           : open("/dev/null", O_RDONLY);
    interpose::g_real.close(fd);
  }
}
BENCHMARK(OpenFile)->ArgNames({"wrapped"})->Arg(kLibc)->Arg(kWrapped);

void DescriptorFlags(benchmark::State& state) {
  Profile();
  for ([[maybe_unused]] auto _ : state) {
    benchmark::DoNotOptimize(state.range(0) == kLibc ? interpose::g_real.fcntl(0, F_GETFL, 0)
                                                     : fcntl(0, F_GETFL));
  }
}
BENCHMARK(DescriptorFlags)->ArgNames({"wrapped"})->Arg(kLibc)->Arg(kWrapped);

// A byte at a time, to a file in memory and back.
void StdioBytes(benchmark::State& state) {
  Profile();
  if (state.range(0) == kWrapped) interpose::WrapStdio();
  FILE* const file = fdopen(memfd_create("bench", 0), "w+");
  constexpr int kBytes = 16384;
  for ([[maybe_unused]] auto _ : state) {
    rewind(file);
    for (int i = 0; i < kBytes; ++i) fputc('x', file);
    rewind(file);
    for (int i = 0; i < kBytes; ++i) benchmark::DoNotOptimize(fgetc(file));
  }
  state.SetItemsProcessed(state.iterations() * kBytes * 2);
  fclose(file);
  interpose::UnwrapStdio();
}
BENCHMARK(StdioBytes)->ArgNames({"wrapped"})->Arg(kLibc)->Arg(kWrapped);

// A line at a time through a pipe.
void StdioLines(benchmark::State& state) {
  Profile();
  if (state.range(0) == kWrapped) interpose::WrapStdio();
  int fds[2];
  if (pipe(fds) != 0) {
    state.SkipWithError("no pipe");
    return;
  }
  FILE* const in = fdopen(fds[0], "r");
  FILE* const out = fdopen(fds[1], "w");
  char line[16];
  for ([[maybe_unused]] auto _ : state) {
    fputs("line\n", out);
    fflush(out);
    benchmark::DoNotOptimize(fgets(line, sizeof(line), in));
  }
  fclose(in);
  fclose(out);
  interpose::UnwrapStdio();
}
BENCHMARK(StdioLines)->ArgNames({"wrapped"})->Arg(kLibc)->Arg(kWrapped);

void* Return(void* argument) { return argument; }

void CreateAndJoin(benchmark::State& state) {
  Profile();
  pthread_t thread;
  for ([[maybe_unused]] auto _ : state) {
    if (state.range(0) == kLibc) {
      interpose::g_real.pthread_create(&thread, nullptr, Return, nullptr);
      interpose::g_real.pthread_join(thread, nullptr);
    } else {
      pthread_create(&thread, nullptr, Return, nullptr);
      pthread_join(thread, nullptr);
    }
  }
}
BENCHMARK(CreateAndJoin)->ArgNames({"wrapped"})->Arg(kLibc)->Arg(kWrapped)->UseRealTime();

}  // namespace
}  // namespace coz
