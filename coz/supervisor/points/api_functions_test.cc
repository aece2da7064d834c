#include "coz/supervisor/points/api_functions.h"

#include <memory>
#include <string>
#include <vector>

#include "coz/shared/control_block.h"
#include "gtest/gtest.h"

namespace coz::supervisor {
namespace {

constexpr char kLibrary[] = "/lib/x86_64-linux-gnu/libz.so.1";

class ApiFunctionsTest : public ::testing::Test {
 protected:
  std::vector<ApiFunctions::Place> LookFor(const std::string& pattern) {
    EXPECT_TRUE(functions_.Prepare({pattern}, {}, /*times=*/false).ok());
    return functions_.LookInFile(control_.get(), kLibrary);
  }

  std::unique_ptr<shared::ControlBlock> control_ = std::make_unique<shared::ControlBlock>();
  ApiFunctions functions_;
};

TEST_F(ApiFunctionsTest, NumbersFunctionsItself) {
  // What the target writes there is no place of the table.
  control_->api.count = 0x7fffffff;
  ASSERT_EQ(LookFor("libz.so.1:deflate").size(), 1u);
  EXPECT_EQ(control_->api.count, 1u);
  EXPECT_STREQ(control_->api.functions[0].name, "libz.so.1!deflate");
}

}  // namespace
}  // namespace coz::supervisor
