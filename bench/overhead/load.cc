// The loads of the overhead study, which compares their cost with and without a profiler. Prints
// `load: ns_per_op=N ...`.
//
//   [COZ_BENCH_INHERITED_EVENT=PERIOD_NS | COZ_BENCH_RING_EVENT=PERIOD_NS] load MODE COUNT
//   [STEPS_PER_US [THREADS]]
#include <linux/perf_event.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "bench/accuracy/workload.h"

namespace {

using workload::NowNs;

// A load takes the number of operations and returns the time that they took.
using Load = uint64_t (*)(uint64_t count, double steps_per_us);

// One operation is a ms of work.
uint64_t Compute(uint64_t count, double steps_per_us) {
  workload::UseCpu(0);
  const uint64_t steps = static_cast<uint64_t>(1000 * steps_per_us);
  uint64_t x = 1;
  const uint64_t start_ns = NowNs();
  for (uint64_t i = 0; i < count; ++i) {
    WORK(x, steps);
    VISIT("ms");
  }
  workload::Keep(x);
  return NowNs() - start_ns;
}

// The same in two threads at once.
uint64_t ComputeInTwo(uint64_t count, double steps_per_us) {
  const uint64_t steps = static_cast<uint64_t>(1000 * steps_per_us);
  workload::Thread other(1, [count, steps] {
    uint64_t x = 1;
    for (uint64_t i = 0; i < count; ++i) WORK(x, steps);
    workload::Keep(x);
  });
  const uint64_t took_ns = Compute(count, steps_per_us);
  other.join();
  return took_ns;
}

uint64_t LockAndUnlock(uint64_t count, double) {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  // libc takes a shorter path in a process with only one thread.
  std::atomic<bool> stop{false};
  std::thread second([&stop] {
    while (!stop) usleep(1000);
  });
  const uint64_t start_ns = NowNs();
  for (uint64_t i = 0; i < count; ++i) {
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
  }
  const uint64_t took_ns = NowNs() - start_ns;
  stop = true;
  second.join();
  return took_ns;
}

// Two threads pass a token to each other.
uint64_t HandOver(uint64_t count, double) {
  std::mutex mutex;
  std::condition_variable turned;
  bool turn = false;
  const auto play = [&](bool mine) {
    for (uint64_t i = 0; i < count; ++i) {
      std::unique_lock<std::mutex> lock(mutex);
      turned.wait(lock, [&] { return turn == mine; });
      turn = !mine;
      turned.notify_one();
    }
  };
  const uint64_t start_ns = NowNs();
  workload::Thread other(1, [&] { play(true); });
  workload::UseCpu(0);
  play(false);
  other.join();
  return NowNs() - start_ns;
}

uint64_t VisitPoint(uint64_t count, double) {
  const uint64_t start_ns = NowNs();
  for (uint64_t i = 0; i < count; ++i) {
    COZ_PROGRESS_NAMED("visits");
    asm volatile("" : : : "memory");
  }
  return NowNs() - start_ns;
}

uint64_t CreateAndJoin(uint64_t count, double) {
  const uint64_t start_ns = NowNs();
  for (uint64_t i = 0; i < count; ++i) std::thread([] {}).join();
  return NowNs() - start_ns;
}

// A thread for each task of 0.1 ms. Two run at a time.
uint64_t ThreadPerTask(uint64_t count, double steps_per_us) {
  const uint64_t steps = static_cast<uint64_t>(100 * steps_per_us);
  sem_t places;
  sem_init(&places, 0, 2);
  const uint64_t start_ns = NowNs();
  for (uint64_t i = 0; i < count; ++i) {
    sem_wait(&places);
    std::thread([&, i] {
      uint64_t x = i;
      WORK(x, steps);
      workload::Keep(x);
      sem_post(&places);
    }).detach();
  }
  sem_wait(&places);
  sem_wait(&places);
  return NowNs() - start_ns;
}

// A thousand threads that are woken one after the other. Each works a little.
uint64_t ManyThreads(uint64_t count, double steps_per_us) {
  constexpr size_t kThreads = 1000;
  const uint64_t steps = static_cast<uint64_t>(20 * steps_per_us);
  const std::unique_ptr<sem_t[]> gates(new sem_t[kThreads]);
  sem_t done;
  sem_init(&done, 0, 0);
  for (size_t i = 0; i < kThreads; ++i) sem_init(&gates[i], 0, 0);
  const uint64_t rounds = count / kThreads;
  std::vector<std::thread> threads;
  for (size_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      uint64_t x = i;
      for (uint64_t round = 0; round < rounds; ++round) {
        sem_wait(&gates[i]);
        WORK(x, steps);
        if (i + 1 < kThreads) {
          sem_post(&gates[i + 1]);
        } else {
          sem_post(&done);
        }
      }
      workload::Keep(x);
    });
  }
  const uint64_t start_ns = NowNs();
  for (uint64_t round = 0; round < rounds; ++round) {
    sem_post(&gates[0]);
    sem_wait(&done);
  }
  const uint64_t took_ns = NowNs() - start_ns;
  for (std::thread& thread : threads) thread.join();
  return took_ns;
}

// Runs `function(i)` in threads on the CPUs from 0 on, which begin together. Returns the time from
// the first one's begin to the last one's end.
uint64_t RunTogether(int threads, const std::function<void(int)>& function) {
  struct Span {
    uint64_t start_ns = 0;
    uint64_t end_ns = 0;
  };
  std::vector<Span> spans(static_cast<size_t>(threads));
  pthread_barrier_t begin;
  pthread_barrier_init(&begin, nullptr, static_cast<unsigned>(threads));
  std::list<workload::Thread> workers;
  for (int i = 0; i < threads; ++i) {
    workers.emplace_back(i, [&, i] {
      Span span;
      pthread_barrier_wait(&begin);
      span.start_ns = NowNs();
      function(i);
      span.end_ns = NowNs();
      spans[static_cast<size_t>(i)] = span;
    });
  }
  for (workload::Thread& worker : workers) worker.join();
  Span all = spans[0];
  for (const Span& span : spans) {
    all.start_ns = std::min(all.start_ns, span.start_ns);
    all.end_ns = std::max(all.end_ns, span.end_ns);
  }
  return all.end_ns - all.start_ns;
}

// The loads of many threads. Each thread does `count` operations.

uint64_t WideCompute(uint64_t count, double steps_per_us, int threads) {
  const uint64_t steps = static_cast<uint64_t>(1000 * steps_per_us);
  return RunTogether(threads, [count, steps](int) {
    uint64_t x = 1;
    for (uint64_t i = 0; i < count; ++i) {
      WORK(x, steps);
      VISIT("ms");
    }
    workload::Keep(x);
  });
}

// Each thread has a mutex of its own, on its own stack.
uint64_t WideMutex(uint64_t count, double, int threads) {
  return RunTogether(threads, [count](int) {
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    for (uint64_t i = 0; i < count; ++i) {
      pthread_mutex_lock(&mutex);
      pthread_mutex_unlock(&mutex);
    }
  });
}

uint64_t WideVisit(uint64_t count, double, int threads) {
  return RunTogether(threads, [count](int) {
    for (uint64_t i = 0; i < count; ++i) {
      COZ_PROGRESS_NAMED("visits");
      asm volatile("" : : : "memory");
    }
  });
}

// One mutex, held for 1 us, with 10 us of work between.
uint64_t WideShared(uint64_t count, double steps_per_us, int threads) {
  const uint64_t inside = static_cast<uint64_t>(1 * steps_per_us);
  const uint64_t outside = static_cast<uint64_t>(10 * steps_per_us);
  std::mutex mutex;
  uint64_t shared = 1;
  const uint64_t took_ns = RunTogether(threads, [&](int) {
    uint64_t x = 1;
    for (uint64_t i = 0; i < count; ++i) {
      WORK(x, outside);
      const std::lock_guard<std::mutex> lock(mutex);
      WORK(shared, inside);
    }
    workload::Keep(x);
  });
  workload::Keep(shared);
  return took_ns;
}

// Pairs of threads that pass a token to each other. An odd number of threads gets one more.
uint64_t WideHandOver(uint64_t count, double, int threads) {
  constexpr size_t kCacheLines = 128;
  struct alignas(kCacheLines) Pair {
    std::mutex mutex;
    std::condition_variable turned;
    bool turn = false;
  };
  const int pairs = (threads + 1) / 2;
  std::vector<Pair> all(static_cast<size_t>(pairs));
  return RunTogether(2 * pairs, [&](int i) {
    Pair& pair = all[static_cast<size_t>(i / 2)];
    const bool mine = i % 2 == 1;
    for (uint64_t k = 0; k < count; ++k) {
      std::unique_lock<std::mutex> lock(pair.mutex);
      pair.turned.wait(lock, [&] { return pair.turn == mine; });
      pair.turn = !mine;
      pair.turned.notify_one();
    }
  });
}

// How much memory this process holds according to /proc, in kB.
unsigned long MemoryKb(const char* what) {
  FILE* const file = fopen("/proc/self/smaps_rollup", "r");
  if (file == nullptr) return 0;
  char line[256];
  unsigned long kb = 0;
  while (fgets(line, sizeof(line), file) != nullptr) {
    if (strncmp(line, what, strlen(what)) == 0) sscanf(line + strlen(what), ": %lu", &kb);
  }
  fclose(file);
  return kb;
}

constexpr struct {
  const char* mode;
  Load load;
} kLoads[] = {
    {"compute", Compute},
    {"compute-two", ComputeInTwo},
    {"mutex", LockAndUnlock},
    {"hand-over", HandOver},
    {"visit", VisitPoint},
    {"create-join", CreateAndJoin},
    {"thread-per-task", ThreadPerTask},
    {"many-threads", ManyThreads},
};

constexpr struct {
  const char* mode;
  uint64_t (*load)(uint64_t count, double steps_per_us, int threads);
} kWideLoads[] = {
    {"wide-compute", WideCompute}, {"wide-mutex", WideMutex},       {"wide-visit", WideVisit},
    {"wide-shared", WideShared},   {"wide-handover", WideHandOver},
};

std::atomic<uint64_t> signals{0};

int OpenEvent(perf_event_attr attr, int cpu) {
  const long fd = syscall(SYS_perf_event_open, &attr, 0, cpu, -1, PERF_FLAG_FD_CLOEXEC);
  if (fd < 0) {
    perror("perf_event_open");
    exit(2);
  }
  return static_cast<int>(fd);
}

// The attributes of an event like the sampler's that threads inherit.
perf_event_attr InheritedEvent(uint64_t period_ns) {
  perf_event_attr attr = {};
  attr.size = sizeof(attr);
  attr.type = PERF_TYPE_SOFTWARE;
  attr.config = PERF_COUNT_SW_TASK_CLOCK;
  attr.sample_period = period_ns;
  attr.inherit = 1;
  attr.inherit_thread = 1;
  attr.remove_on_exec = 1;
  return attr;
}

// Opens only an event with a signal. Its cost is the kernel's part of a profiler's cost.
void SampleBySignal(uint64_t period_ns) {
  struct sigaction action = {};
  action.sa_handler = [](int) { signals.fetch_add(1, std::memory_order_relaxed); };
  action.sa_flags = SA_RESTART;
  sigaction(SIGTRAP, &action, nullptr);
  perf_event_attr attr = InheritedEvent(period_ns);
  attr.sigtrap = 1;
  OpenEvent(attr, -1);
}

std::vector<const perf_event_mmap_page*> rings;
constexpr uint64_t kRingSampleBytes = sizeof(perf_event_header) + sizeof(uint64_t);

// Opens events without a signal. Their cost is the timer's part of that. Only an event on one CPU
// can be inherited and have a ring, so there is one per CPU. Nobody reads the rings; the kernel
// writes a read-only ring round and round.
void SampleIntoRings(uint64_t period_ns) {
  perf_event_attr attr = InheritedEvent(period_ns);
  attr.sample_type = PERF_SAMPLE_IP;
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  for (int cpu = 0; cpu < sysconf(_SC_NPROCESSORS_ONLN); ++cpu) {
    void* const ring = mmap(nullptr, 2 * page, PROT_READ, MAP_SHARED, OpenEvent(attr, cpu), 0);
    if (ring == MAP_FAILED) {
      perror("mmap of a perf event's ring");
      exit(2);
    }
    rings.push_back(static_cast<const perf_event_mmap_page*>(ring));
  }
}

// The number of samples of the events above.
uint64_t SamplesTaken() {
  uint64_t samples = signals;
  for (const perf_event_mmap_page* ring : rings) samples += ring->data_head / kRingSampleBytes;
  return samples;
}

int Print(uint64_t took_ns, uint64_t count) {
  printf("load: ns_per_op=%.3f rss_kb=%lu pss_kb=%lu samples=%lu\n",
         static_cast<double>(took_ns) / static_cast<double>(count), MemoryKb("Rss"),
         MemoryKb("Pss"), SamplesTaken());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  if (const char* period_ns = getenv("COZ_BENCH_INHERITED_EVENT")) {
    SampleBySignal(strtoull(period_ns, nullptr, 10));
  }
  if (const char* period_ns = getenv("COZ_BENCH_RING_EVENT")) {
    SampleIntoRings(strtoull(period_ns, nullptr, 10));
  }
  const double steps_per_us = argc > 3 ? atof(argv[3]) : workload::CalibrateStepsPerUs();
  const int threads = argc > 4 ? atoi(argv[4]) : workload::ThreadsWithOwnCpu();
  const uint64_t count = strtoull(argv[2], nullptr, 10);
  for (const auto& entry : kLoads) {
    if (strcmp(entry.mode, argv[1]) == 0) return Print(entry.load(count, steps_per_us), count);
  }
  for (const auto& entry : kWideLoads) {
    if (strcmp(entry.mode, argv[1]) != 0 || threads < 1) continue;
    return Print(entry.load(count, steps_per_us, threads), count);
  }
  fprintf(stderr, "no such load: %s\n", argv[1]);
  return 2;
}
