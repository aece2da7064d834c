#include "coz/patch/testing/patched_self.h"

#include <signal.h>
#include <ucontext.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "coz/patch/code_patcher.h"
#include "coz/patch/patch_builder.h"
#include "coz/patch/stub_space.h"

namespace coz::patch::self {
namespace {

uint64_t g_shared[kCounters];
__thread uint64_t* t_counters __attribute__((tls_model("initial-exec"))) = g_shared;
StubSpace g_space;
void (*g_foreign)(int) = nullptr;

void OnTrap(int signal, siginfo_t* info, void* context) {
  if (TakeTrap(*info, static_cast<ucontext_t*>(context))) return;
  if (g_foreign == nullptr) abort();
  g_foreign(signal);
}

std::vector<AddressRange> Mapped() {
  std::vector<AddressRange> mapped;
  FILE* maps = fopen("/proc/self/maps", "r");
  char line[512];
  while (fgets(line, sizeof(line), maps) != nullptr) {
    unsigned long long begin = 0;
    unsigned long long end = 0;
    if (sscanf(line, "%llx-%llx", &begin, &end) == 2) mapped.push_back({begin, end});
  }
  fclose(maps);
  return mapped;
}

}  // namespace

void CountIn(uint64_t* counters) { t_counters = counters == nullptr ? g_shared : counters; }

uint64_t SharedVisits(size_t counter) { return g_shared[counter]; }

CounterPlace CounterOf(size_t counter) {
  // Volatile: gcc would subtract 32-bit halves, by an instruction that linkers cannot relax.
  volatile auto here = reinterpret_cast<uint64_t>(&t_counters);
  volatile auto thread = reinterpret_cast<uint64_t>(__builtin_thread_pointer());
  return {static_cast<int32_t>(here - thread),
          static_cast<int32_t>(counter * sizeof(uint64_t)),
          0,
          0,
          {},
          0};
}

CounterPlace CounterOfEnds(size_t ends, size_t begins, size_t without_begin) {
  CounterPlace place = CounterOf(ends);
  place.begins = CounterOf(begins).displacement;
  place.without_begin = CounterOf(without_begin).displacement;
  return place;
}

void HandleTraps(void (*foreign)(int)) {
  g_foreign = foreign;
  struct sigaction action = {};
  action.sa_sigaction = OnTrap;
  action.sa_flags = static_cast<int>(SA_SIGINFO | SA_RESTART | SA_ONSTACK);
  sigaction(SIGTRAP, &action, nullptr);
}

std::optional<CodePatch> PatchFor(const PlacePlan& plan, uint64_t address, size_t counter) {
  return PatchFor(plan, address, CounterOf(counter));
}

std::optional<CodePatch> PatchFor(const PlacePlan& plan, uint64_t address,
                                  const CounterPlace& counter, uint64_t semaphore,
                                  const CallEdge& edge) {
  g_space.SetMapped(Mapped());
  const std::optional<uint64_t> stub = TakeStub(plan, address, &g_space);
  if (!stub.has_value()) return std::nullopt;
  return BuildPatch(plan, address, *stub, counter, semaphore, edge);
}

}  // namespace coz::patch::self
