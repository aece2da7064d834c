#include "coz/runtime/module_map.h"

#include <cmath>
#include <cstdint>

#include "coz/shared/control_block.h"
#include "coz/testing/zeroed_control.h"
#include "gtest/gtest.h"

namespace coz::runtime {
namespace {

// A library that is unloaded before its second sample comes is loaded again as often.
TEST(ModuleMapTest, TheFirstSampleOfAKnownFileIsMapped) {
  const auto control = testing::ZeroedControl();
  ModuleMap map;
  const auto add_program = [&map, &control] {
    map.AddProgram(control.get(), [](shared::ControlBlock&, const void*, const void*) {});
  };
  add_program();
  double (*const in_library)(double, double) = &std::fmod;
  const auto address = reinterpret_cast<uint64_t>(in_library);
  uint32_t unit = 0;
  EXPECT_EQ(map.UnitAt(address, &unit), UnitLookup::kUnmapped) << "nobody has answered";
  ASSERT_EQ(control->module_count, 2u);
  control->modules[1].state = shared::ModuleState::kNotMapped;
  map.Restart();
  add_program();
  EXPECT_EQ(map.UnitAt(address, &unit), UnitLookup::kOutOfScope);
  EXPECT_EQ(control->module_count, 2u);
}

}  // namespace
}  // namespace coz::runtime
