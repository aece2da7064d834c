#include "coz/points/stack_sampler.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <vector>

#include "absl/status/statusor.h"
#include "coz/testing/capabilities.h"
#include "gtest/gtest.h"

namespace coz::points {
namespace {

constexpr uint64_t kPeriodNs = 1'000'000;
constexpr size_t kTableWords = 1024;

volatile uint64_t g_sum = 0;

[[gnu::noinline]] void Spin() {
  for (;;) g_sum = g_sum + 1;
}

// As compressors do, it has a table on its stack.
[[gnu::noinline]] void SpinBelowATable() {
  volatile uint64_t table[kTableWords] = {};
  Spin();
  g_sum = g_sum + table[1];
}

[[gnu::noinline]] void Outermost() {
  SpinBelowATable();
  g_sum = g_sum + 1;
}

[[gnu::noinline]] void SpinElsewhere() {
  for (;;) g_sum = g_sum + 2;
}

pid_t RunInChild(void (*function)()) {
  const pid_t child = fork();
  if (child != 0) return child;
  function();
  _exit(1);
}

// All of them share the rings.
TEST(StackSamplerTest, SeveralProcessesAreSampled) {
  COZ_REQUIRE_CAPABILITY(testing::MissingPerfEvents());
  void (*const functions[])() = {Spin, SpinElsewhere};
  pid_t children[2];
  for (size_t i = 0; i < 2; ++i) children[i] = RunInChild(functions[i]);
  absl::StatusOr<StackSampler> sampler = StackSampler::Start(children[0], kPeriodNs);
  EXPECT_TRUE(sampler.ok()) << sampler.status();
  if (sampler.ok()) {
    EXPECT_TRUE(sampler->Add(children[1]).ok());
    EXPECT_EQ(sampler->Add(1 << 30).code(), absl::StatusCode::kNotFound);
  }
  uint64_t samples[2] = {};
  while (sampler.ok() && (samples[0] == 0 || samples[1] == 0)) {
    sampler->Drain([&](uint64_t ip, const std::vector<uint64_t>&) {
      for (size_t i = 0; i < 2; ++i) {
        const auto begin = reinterpret_cast<uint64_t>(functions[i]);
        samples[i] += ip >= begin && ip < begin + 64 ? 1 : 0;
      }
    });
    constexpr timespec kLook = {0, 1'000'000};
    nanosleep(&kLook, nullptr);
  }
  for (const pid_t child : children) {
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  }
}

// The child has the functions where this process has them.
TEST(StackSamplerTest, CallersAboveATableAreFound) {
  COZ_REQUIRE_CAPABILITY(testing::MissingPerfEvents());
  const pid_t child = RunInChild(Outermost);
  absl::StatusOr<StackSampler> sampler = StackSampler::Start(child, kPeriodNs);
  EXPECT_TRUE(sampler.ok()) << sampler.status();
  // It ends with the test where no such word comes.
  const auto begin = reinterpret_cast<uint64_t>(&Outermost);
  constexpr uint64_t kMostBytes = 64;  // of so small a function
  bool is_found = false;
  while (sampler.ok() && !is_found) {
    sampler->Drain([&](uint64_t, const std::vector<uint64_t>& stack) {
      is_found |= std::any_of(stack.begin(), stack.end(), [begin](uint64_t word) {
        return word > begin && word < begin + kMostBytes;
      });
    });
    constexpr timespec kLook = {0, 1'000'000};
    nanosleep(&kLook, nullptr);
  }
  EXPECT_TRUE(is_found);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

}  // namespace
}  // namespace coz::points
