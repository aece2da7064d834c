// Samples itself, and prints how many sampling periods went to each of two functions. Both spend
// their time in a third one, so only the callchain of a sample tells them apart.
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <string>

#include "coz/sampler/sampler.h"
#include "coz/sampler/sampler_status.h"
#include "coz/sampler/unwind/unwinder.h"

namespace {

volatile uint64_t sink = 0;

__attribute__((noinline)) void Spin() {
  for (int i = 0; i < 10000; ++i) sink = sink + 1;
}

// Each in a section of its own, so that the linker names its ends.
__attribute__((noinline, section("seldom_code"))) void Seldom() {
  for (int i = 0; i < 2; ++i) Spin();
  sink = 0;  // else the last call may be a jump, and Spin's caller be unknown
}

__attribute__((noinline, section("often_code"))) void Often() {
  for (int i = 0; i < 6; ++i) Spin();
  sink = 0;
}

extern "C" const char __start_seldom_code[], __stop_seldom_code[];
extern "C" const char __start_often_code[], __stop_often_code[];

enum Place { kSeldom, kOften, kElsewhere, kPlaces };

bool IsWithin(uint64_t address, const char* begin, const char* end) {
  return address >= reinterpret_cast<uint64_t>(begin) && address < reinterpret_cast<uint64_t>(end);
}

bool FindPlace(uint64_t lookup_address, void* place) {
  Place found = kElsewhere;
  if (IsWithin(lookup_address, __start_seldom_code, __stop_seldom_code)) found = kSeldom;
  if (IsWithin(lookup_address, __start_often_code, __stop_often_code)) found = kOften;
  *static_cast<Place*>(place) = found;
  return found != kElsewhere;
}

std::atomic<uint64_t> periods_in[kPlaces];
static_assert(std::atomic<uint64_t>::is_always_lock_free);

// In the signal handler, so no heap and no lock. A sample of a CPU timer may stand for several
// periods.
void Count(const coz::sampler::Sample& sample) {
  Place place = kElsewhere;
  uint64_t lookup_address = 0;
  coz::sampler::FindFirstInScope(sample.context, FindPlace, &place, &lookup_address);
  periods_in[place].fetch_add(sample.weight, std::memory_order_relaxed);
}

void WorkForHalfASecondOfCpuTime() {
  const clock_t end = clock() + CLOCKS_PER_SEC / 2;
  while (clock() < end) {
    Seldom();
    Often();
  }
}

void Print(const char* name, Place place) {
  printf("%s: %llu periods\n", name, static_cast<unsigned long long>(periods_in[place].load()));
}

}  // namespace

int main() {
  if (coz::sampler::InitUnwinder() == coz::sampler::UnwinderKind::kNone) {
    fprintf(stderr, "no callchains: they need glibc 2.35 or libunwind.so.8\n");
    return 1;
  }
  coz::sampler::PrepareThreadForUnwinding();
  coz::sampler::SamplerOptions options;  // the best source that the system allows, each millisecond
  options.callback = Count;
  const coz::sampler::SamplerStatus status = coz::sampler::StartSampler(options);
  const std::string refused = coz::sampler::ExplainSamplerStatus(status);
  if (!refused.empty()) fprintf(stderr, "%s\n", refused.c_str());
  if (status.source == coz::sampler::SamplingSource::kNone) return 1;
  WorkForHalfASecondOfCpuTime();
  coz::sampler::StopSampler();
  Print("Seldom", kSeldom);
  Print("Often", kOften);
  Print("elsewhere", kElsewhere);
  return 0;
}
