// C++20's ways to wait, which libstdc++ builds on futexes by syscall(). The waiter gets credit, and
// the waker pays first.
#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <latch>
#include <memory>
#include <semaphore>
#include <string>
#include <thread>

#include "coz/sync/interpose/testing/fake_process.h"
#include "coz/sync/interpose/testing/wait_scenario.h"

namespace coz::interpose {
namespace {

using testing::FakeProcess;
using testing::NamedScenario;
using testing::Scenario;

// A scenario in which a thread waits on an object by `wait` until the main thread calls `wake`.
template <typename Object, typename Wait, typename Wake>
NamedScenario WaitOn(const char* name, int initial, Wait wait, Wake wake) {
  return {name, [=] {
            auto object = std::make_shared<Object>(initial);
            return Scenario(
                [=] {
                  wait(*object);
                  return true;
                },
                [=](std::thread&) { wake(*object); });
          }};
}

using Semaphore = std::counting_semaphore<8>;
using Barrier = std::barrier<>;

const NamedScenario kScenarios[] = {
    WaitOn<std::atomic<int>>(
        "atomic_int", 0, [](auto& value) { value.wait(0); },
        [](auto& value) {
          value = 1;
          value.notify_one();
        }),
    WaitOn<std::atomic<long>>(
        "atomic_long_by_proxy", 0, [](auto& value) { value.wait(0); },
        [](auto& value) {
          value = 1;
          value.notify_all();
        }),
    WaitOn<Semaphore>(
        "counting_semaphore", 0, [](auto& semaphore) { semaphore.acquire(); },
        [](auto& semaphore) { semaphore.release(); }),
    WaitOn<std::binary_semaphore>(
        "binary_semaphore", 0, [](auto& semaphore) { semaphore.acquire(); },
        [](auto& semaphore) { semaphore.release(); }),
    WaitOn<std::latch>(
        "latch", 1, [](auto& latch) { latch.wait(); }, [](auto& latch) { latch.count_down(); }),
    WaitOn<Barrier>(
        "barrier", 2, [](auto& barrier) { barrier.arrive_and_wait(); },
        [](auto& barrier) { barrier.arrive_and_wait(); }),
};

class Cxx20WaitTest : public ::testing::TestWithParam<NamedScenario> {
 protected:
  FakeProcess process_;
};
TEST_P(Cxx20WaitTest, WaiterIsCreditedAndWakerHasPaid) {
  ExpectWakerPaysAndWaiterIsCredited(process_, GetParam());
}
INSTANTIATE_TEST_SUITE_P(AllKinds, Cxx20WaitTest, ::testing::ValuesIn(kScenarios),
                         [](const auto& scenario) { return std::string(scenario.param.name); });

}  // namespace
}  // namespace coz::interpose
